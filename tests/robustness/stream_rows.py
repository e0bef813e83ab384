"""Standard streams that are closed or full, and readers that leave."""

from damage import makes
from damage import pipes
from damage import writes
from rows import accepted
from rows import row

DECODE = "kt-decoder --output_dir={run}"
BLEU = "kt-evaluate --hypotheses={texts}/dev.de --references={texts}/dev.de"
TEXT = b"a b\nc d\n" * 20
CLOSED = {"shell": ">&-", "says": "Standard output"}
FULL = {"shell": ">/dev/full", "says": "Cannot write to standard output"}
# `head` may end before all is written, so the status may be 0 or 1.
HEAD = {"shell": "| head -1; true", "status": 0}
MODEL = {"stdin": TEXT, "cpu_seconds": 60}
ROWS = [
    row(BLEU, **CLOSED),
    row("kt-trainer --help", **CLOSED),
    row("kt-trainer --registry_help", **CLOSED),
    row(DECODE, **CLOSED),
    row("kt-avg-checkpoints --output_dir={run}", **CLOSED),
    row("kt-query --text=a --protocol=rest", **CLOSED),
    row("kt-decoder --beam_size=x", **CLOSED),
    row(BLEU, **FULL),
    row("kt-trainer --help", **FULL),
    row("kt-trainer --registry_help", **FULL),
    row(DECODE, before="sentences", **FULL, **MODEL),
    row(BLEU, status=1, shell="| true", silent=True),
    row("kt-trainer --help", **HEAD, prints="Trains"),
    row("kt-trainer --registry_help", **HEAD, prints="-"),
    row(BLEU, shell="2>&-", status=0, prints="BLEU"),
    row(BLEU, shell="2>/dev/full", status=0, prints="BLEU"),
    row("kt-decoder --beam_size=x", shell="2>&-", silent=True),
    row("kt-decoder --beam_size=x", shell="2>/dev/full", silent=True),
    row("kt-decoder --beam_size=x", shell=">&- 2>&-", silent=True),
    row("kt-decoder --beam_size=x", shell="<&- >&- 2>&-", silent=True),
    row("kt-decoder --beam_size=x", shell="<&-", says="--beam_size=x"),
    row("kt-decoder --beam_size=x", shell=">/dev/full", says="beam_size=x"),
    row(DECODE, shell="<&-", says="Standard input"),
    row(DECODE + " --decode_interactive", shell="<&-", says="input"),
    row("kt-query --protocol=rest", shell="<&-", says="Standard input"),
    row(BLEU, shell="<&-", status=0, prints="BLEU"),
    accepted(DECODE, shell="2>&-", prints="a b", **MODEL),
    row(DECODE, shell="| true", status=1, **MODEL),
    row(
        DECODE + " --decode_to_file=/dev/full",
        says="/dev/full",
        **MODEL,
    ),
    row(
        "kt-decoder --output_dir={run} --decode_from_file={box}/in "
        "--decode_to_file={box}/out",
        writes("{box}/in", b"a\n"),
        makes("{box}/out"),
        says="out",
        apart=True,
    ),
    accepted(
        "kt-evaluate --hypotheses={box}/in --references={texts}/dev.de",
        pipes("{box}/in", b"a\n" * 20),
        prints="BLEU",
        apart=True,
    ),
    accepted(
        "kt-evaluate --hypotheses=/dev/fd/0 --references={texts}/dev.de",
        stdin=b"a\n" * 20,
        prints="BLEU",
        apart=True,
    ),
]
