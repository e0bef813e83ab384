"""Text that is missing, in another encoding, uneven, blank or too long."""

from damage import copies
from damage import links
from damage import makes
from damage import pipes
from damage import removes
from damage import writes
from rows import accepted
from rows import row

IN, OUT = "{box}/in.txt", "{box}/out.txt"
DECODE = f"kt-decoder --output_dir={{run}} --decode_from_file={IN} "
DECODE += f"--decode_to_file={OUT} "
PREFIX = "--prefix_file={box}/prefixes.txt"
SCORE = f"kt-decoder --output_dir={{run}} --score_file={IN}"
STDIN = "kt-decoder --output_dir={run}"
BLEU = f"kt-evaluate --hypotheses={IN} --references={{texts}}/dev.de"
GENERATE = (
    "kt-datagen --problem=translate_files --data_dir={box}/d --vocab_size=400 "
    "--train_source={texts}/train.en --train_target={texts}/train.de "
    "--dev_source={texts}/dev.en --dev_target={texts}/dev.de "
)
CLEAN = f"kt-clean --source={IN} --target={{texts}}/dev.en "
CLEAN += "--clean_source={box}/a --clean_target={box}/b "
CLEANS = {"writes": ("[ab]",), "prints": "kept", "apart": True}
LATIN = "Grüße\n".encode("latin-1")
UTF16 = "a b c\n".encode("utf-16")
UTF32 = "a b c\n".encode("utf-32")
LONG = "a " * 5000 + "\n"
DECODES = {"apart": True, "cpu_seconds": 60}
WRITES = {"writes": "out.txt", **DECODES}
TOO_LONG = {"status": 3, **WRITES}
JSON = "--format=jsonl"
LOADS = {"apart": True, "cpu_seconds": 30}
ROWS = [
    # The output of kt-decoder.
    row(
        STDIN + " --decode_to_file={run}/run.json",
        says=("must not be a file of the model", "Name another file"),
    ),
    row(
        STDIN + " --decode_to_file={run}/checkpoints/ckpt-3000.npz",
        says="must not be a file of the model",
    ),
    # The outputs of other commands.
    row(
        "kt-attention --output_dir={run} --text=a --html={run}/run.json",
        says="must not be a file of the model",
    ),
    row(
        f"kt-attention --output_dir={{run}} --find={IN} --picture={IN}.png "
        f"--html={IN}",
        writes(IN, b"a b c\n"),
        says="must differ",
    ),
    row(
        f"kt-evaluate --hypotheses={IN} --references={IN} --compare={IN} "
        f"--html={IN}",
        writes(IN, b"a b c\n"),
        says="must differ",
    ),
    # The input of kt-decoder.
    row(DECODE, says="in.txt"),
    row(DECODE, makes(IN), says="directory"),
    row(DECODE, links(IN, IN), says="in.txt"),
    row(DECODE, links(IN, "{box}/gone"), says="in.txt"),
    row(DECODE, writes(IN, LATIN), says=("line 1", "0xfc", "iconv")),
    row(DECODE, writes(IN, b"a\n" + LATIN), says="line 2"),
    row(DECODE, writes(IN, UTF16), says="UTF-8"),
    row(DECODE, writes(IN, UTF32), says="UTF-8"),
    row(DECODE, writes(IN, b"\xed\xa0\x80\n"), says="0xed"),
    row(DECODE, writes(IN, b"\xc0\xafa\n"), says="0xc0"),
    row(DECODE, writes(IN, b"\xf4\x90\x80\x80\n"), says="line 1"),
    row(DECODE, writes(IN, b"a b\xe2\x82"), says="line 1"),
    row(DECODE, writes(IN, bytes(range(256)) * 9), says="UTF-8"),
    row(DECODE, writes(IN, "a\n" * 5 + LONG), says="line 6", **TOO_LONG),
    row(DECODE, writes(IN, LONG), says="line 1", **TOO_LONG),
    row(DECODE, writes(IN, "x" * 100_000), says="line 1", **TOO_LONG),
    row(DECODE + JSON, writes(IN, b"a b\n"), says=("line 1", "jsonl")),
    row(DECODE + JSON, writes(IN, b'"a"\n{"txt": "a"}\n'), says="line 2"),
    row(DECODE + JSON, writes(IN, b"[" * 10**6), says="line 1"),
    row(DECODE + JSON, writes(IN, LATIN), says="UTF-8"),
    row(STDIN + " --format=jsonl", stdin=b"{}", says="input, line 1", **LOADS),
    accepted(DECODE + JSON, writes(IN, b'{"text": ""}\n""\n'), **WRITES),
    row("kt-decoder --output_dir={run} --decode_from_file=a\0b"),
    row("kt-decoder --output_dir={run} --decode_from_file=/dev/null/a"),
    row(f"kt-decoder --output_dir={{run}} --decode_from_file={'a' * 300}"),
    row(f"kt-decoder --output_dir={{run}} --decode_from_file={'a/' * 3000}b"),
    row("kt-decoder --output_dir={run} --decode_from_file='\udcff.txt'"),
    row("kt-decoder --output_dir={run} --decode_from_file='a\nb c.txt'"),
    row("kt-decoder --output_dir={run} --decode_from_file='a.txt b.txt'"),
    row("kt-decoder --output_dir={run} --decode_from_file=https://a.org/b"),
    row("kt-decoder --output_dir={run} --decode_from_file={run}"),
    accepted(DECODE, writes(IN, b""), **WRITES),
    accepted(DECODE, writes(IN, b"\n \n\t\n"), **WRITES),
    accepted(DECODE, writes(IN, b"a b\r\nc d\r\n"), **WRITES),
    accepted(DECODE, writes(IN, b"\xef\xbb\xbfa b\nc"), **WRITES),
    accepted(DECODE, writes(IN, "a\x0bb\n\u2028c\x85d\re"), **WRITES),
    row(
        DECODE,
        writes(IN, "a\nb".encode("utf-16-be")),
        says="line 1 is not UTF-8: byte 1 is 0x00",
    ),
    accepted(DECODE, writes(IN, b"a\nb\0"), **WRITES),
    accepted(DECODE, writes(IN, "\U0001f600 \u202e \ufffe"), **WRITES),
    accepted(DECODE, pipes(IN, b"a b\nc d\n"), **WRITES),
    accepted(STDIN, stdin=b"", cpu_seconds=30),
    accepted(STDIN, stdin=b"\n\n", prints="\n\n", **DECODES),
    # Standard input is read when the model is ready.
    row(STDIN, stdin=LATIN, says="standard input, line 1", cpu_seconds=30),
    row(STDIN, stdin=UTF16, says="standard input, line 1", cpu_seconds=30),
    row(STDIN, stdin=LONG.encode(), says="4,096", prints="\n", **TOO_LONG),
    # Its output.
    row(DECODE, writes(IN, b"a"), makes(OUT), says="out.txt"),
    row(DECODE + "--decode_to_file=no/such/out.txt", writes(IN, b"a")),
    row(DECODE + "--decode_to_file=/proc/out.txt", writes(IN, b"a")),
    row(DECODE + "--decode_to_file=/sys/out.txt", writes(IN, b"a")),
    row(DECODE + "--decode_to_file=/dev/null/out", writes(IN, b"a")),
    row(DECODE + "--decode_to_file={run}", writes(IN, b"a")),
    row(DECODE + "--decode_to_file={run}/run.json/a", writes(IN, b"a")),
    row(DECODE + f"--decode_to_file={'o' * 300}", writes(IN, b"a")),
    row(DECODE + f"--decode_to_file={IN}", writes(IN, b"a"), says="in.txt"),
    row(DECODE, writes(IN, b"a"), links(OUT, IN), says="out.txt"),
    # Prefixes and pairs to score.
    row(DECODE + PREFIX, writes(IN, b"a\n"), says="prefixes.txt"),
    row(
        DECODE + PREFIX,
        writes(IN, b"a\nb\n"),
        writes("{box}/prefixes.txt", b"a\n"),
        says=("each of 2 lines", "has 1."),
    ),
    row(
        DECODE + PREFIX,
        writes(IN, b"a\n"),
        writes("{box}/prefixes.txt", LATIN),
        says="prefixes.txt",
    ),
    row(
        STDIN + f" {PREFIX}",
        writes("{box}/prefixes.txt", b"a\n"),
        stdin=b"a\nb\n",
        says="`--prefix_file`",
        cpu_seconds=30,
    ),
    row(SCORE, says="in.txt"),
    row(SCORE, makes(IN), says="directory"),
    row(SCORE, writes(IN, b"a b\n"), says="0 tabs"),
    row(SCORE, writes(IN, b"a\ta\nb\tb\t-0.5\n"), says=("line 2", "2 tabs")),
    row(SCORE, writes(IN, b"a\ta\n\n"), says="line 2"),
    row(SCORE, writes(IN, LATIN), says="UTF-8"),
    row(SCORE, writes(IN, "a\t" + LONG), says="line 1"),
    row(SCORE, writes(IN, "a\ta\n" + "a " * 5000 + "\ta"), says="line 2"),
    # kt-evaluate on files.
    row(BLEU, says="in.txt"),
    row(BLEU, makes(IN), says="directory"),
    row(BLEU, writes(IN, b""), says=("0 lines", "20 lines")),
    row(BLEU, writes(IN, b"a\n" * 19), says=("19 lines", "20 lines")),
    row(BLEU, writes(IN, b"a\n" * 21), says=("21 lines", "20 lines")),
    row(BLEU, writes(IN, LATIN * 20), says="line 1"),
    row(BLEU, writes(IN, UTF16), says="UTF-8"),
    row(BLEU, writes(IN, b"a\r" * 20), says="1 lines"),
    row(BLEU, links(IN, IN), says="in.txt"),
    row(f"kt-evaluate --hypotheses={IN} --references={IN}", writes(IN, b"")),
    row("kt-evaluate --hypotheses={texts} --references={texts}"),
    accepted(BLEU, copies(IN, "{texts}/dev.de"), prints="BLEU"),
    accepted(BLEU, pipes(IN, b"a\n" * 20), prints="BLEU"),
    # The files of kt-datagen.
    row(GENERATE, removes("{texts}/train.en"), says="train.en"),
    row(GENERATE, removes("{texts}/dev.de"), says="dev.de"),
    row(GENERATE, makes("{texts}/train.de"), says="train.de"),
    row(GENERATE, writes("{texts}/train.en", b""), says="0 lines"),
    row(GENERATE, writes("{texts}/dev.de", b"a\n"), says=("1 line", "20")),
    row(GENERATE, writes("{texts}/dev.de", b"\n" * 20), says="dev.de"),
    row(GENERATE, writes("{texts}/train.de", b" \n" * 300), says="train.de"),
    row(GENERATE, writes("{texts}/train.de", LATIN * 300), says="line 1"),
    row(GENERATE, writes("{texts}/train.en", UTF16), says="UTF-8"),
    row(GENERATE, writes("{texts}/dev.en", b"\xff" * 99), says="0xff"),
    row(GENERATE, links("{texts}/dev.en", "{texts}/dev.en"), says="dev.en"),
    row(GENERATE + "--vocab_size=100000", says="vocab_size"),
    row(GENERATE + "--vocab_size=260", says="vocab_size"),
    row(GENERATE + "--dev_source=", says="dev_source"),
    row(GENERATE + "--test_source={texts}/test.en", says="test_target"),
    row(GENERATE + "--train_target={texts}/dev.de", says="300"),
    row(GENERATE + "--data_dir={texts}/dev.en", says="dev.en"),
    row(GENERATE + "--data_dir=/proc/d", says="/proc/d"),
    row(GENERATE + "--data_dir=/dev/null", says="/dev/null"),
    row(
        "kt-datagen --problem=translate_files --data_dir={text_data} "
        "--train_source={texts}/dev.en --train_target={texts}/dev.de "
        "--dev_source={texts}/dev.en --dev_target={texts}/dev.de",
        says="another --data_dir",
    ),
    row(
        "kt-datagen --problem=translate_ende_wmt14 --data_dir={box}/d "
        "--tmp_dir={texts}/dev.en",
        says="dev.en, which is a file",
    ),
    # The files of kt-clean.
    row(CLEAN, says="in.txt"),
    row(CLEAN, makes(IN), says="directory"),
    row(CLEAN, writes(IN, b"a\n"), says=("1 lines", "20 lines")),
    row(CLEAN, writes(IN, b"a\n" * 9 + LATIN), says="line 10"),
    row(CLEAN, writes(IN, UTF16), says="UTF-8"),
    row(
        CLEAN + "--held_out={box}/held",
        copies(IN, "{texts}/dev.de"),
        writes("{box}/held", LATIN),
        says="line 1",
    ),
    row(
        CLEAN + f"--held_out={IN}",
        copies(IN, "{texts}/dev.de"),
        says="must differ",
    ),
    row(CLEAN + "--held_out=", copies(IN, "{texts}/dev.de"), says="file"),
    row(CLEAN, copies(IN, "{texts}/dev.de"), makes("{box}/a"), says="/a"),
    row(CLEAN + "--clean_source=/proc/a", copies(IN, "{texts}/dev.de")),
    accepted(CLEAN, pipes(IN, b"a\n" * 20), **CLEANS),
    accepted(CLEAN, writes(IN, "\U0001f600 \u202e \x1b\n" * 20), **CLEANS),
    # The text of kt-attention.
    row(
        f"kt-attention --output_dir={{run}} --html=a.html --text='{LONG}'",
        says="256 tokens",
    ),
    row("kt-attention --output_dir={run} --html=a.html --text=' \n'"),
    row(
        "kt-attention --output_dir={run} --html=a.html --text=a "
        f"--target_text='{LONG}'",
        says="256 tokens",
    ),
    row("kt-attention --output_dir={run} --html=no/such/a.html --text=a"),
    row("kt-attention --output_dir={run} --html={run} --text=a"),
    row("kt-attention --output_dir={run} --picture=/proc/a.png --text=a"),
    row(
        "kt-attention --output_dir={run} --picture=a.jpeg --text=a", says="png"
    ),
    row("kt-query --protocol=rest --server=localhost:1", stdin=LATIN),
    row("kt-query --protocol=rest --server=localhost:1 --text=a"),
    row("kt-query --protocol=rest --server=localhost:http --text=a"),
    row("kt-query --protocol=rest --server= --text=a", says="server"),
    row("kt-query --protocol=rest --server='a b' --text=a", says="server"),
    row("kt-query --protocol=rest --server=[::1 --text=a", says="server"),
    row("kt-query --protocol=rest --server=http://localhost --text=a"),
    row("kt-query --protocol=rest --server=localhost:99999 --text=a"),
    row("kt-query --protocol=rest --server=no.such.invalid --text=a"),
    # Data that the run's own problem lacks.
    row("kt-evaluate --output_dir={run}", says="data_dir"),
]
