"""Documents that are missing, no text, broken, or with the wrong flags."""

from damage import makes
from damage import writes
from rows import accepted
from rows import row

IN, OUT = "{box}/in.html", "{box}/out.html"
LINES = "kt-decoder --output_dir={run} "
DOCUMENT = "kt-decoder --output_dir={run} --document "
TRANSLATE = DOCUMENT + f"--decode_from_file={IN} --decode_to_file={OUT} "
WRITES = {"writes": "out.html", "apart": True, "cpu_seconds": 60}
ROWS = [
    row(TRANSLATE, says="in.html"),
    row(TRANSLATE, makes(IN), says="directory"),
    row(TRANSLATE, writes(IN, b"<p>a\n\xff</p>"), says="line 2"),
    row(TRANSLATE, writes(IN, "a b".encode("utf-16")), says="UTF-8"),
    row(TRANSLATE, writes(IN, b"a\0b"), says="0x00"),
    row(TRANSLATE, writes(IN, b"a"), makes(OUT), says="out.html"),
    row(
        DOCUMENT + "--decode_from_file={box}/a.rst",
        writes("{box}/a.rst", b"A dog.\n"),
        says="pandoc",
    ),
    row(
        DOCUMENT + "--decode_from_file={box}/a.srt",
        writes("{box}/a.srt", b"A dog."),
        says="00:00:01,000 -->",
    ),
    row(DOCUMENT + "--resume", says="--resume"),
    row(DOCUMENT + "--write_scores", says="--write_scores"),
    row(DOCUMENT + "--write_alignments", says="--write_alignments"),
    row(DOCUMENT + "--tokenized", says="--tokenized"),
    row(DOCUMENT + "--decode_interactive", says="--decode_interactive"),
    row(DOCUMENT + "--prefix_file=a", says="--prefix_file"),
    row(DOCUMENT + "--score_file=a", says="--score_file"),
    row(DOCUMENT + "--split_long", says="--split_long"),
    row(DOCUMENT + "--format=jsonl", says="--format=jsonl"),
    row(LINES + "--format=jsonl --write_scores", says="--write_scores"),
    row(LINES + "--format=jsonl --score_file=a", says="--score_file"),
    row(LINES + "--format=jsonl --decode_interactive", says="interactive"),
    row(LINES + "--split_long --prefix_file=a", says="--prefix_file"),
    row(LINES + "--split_long --score_file=a", says="--score_file"),
    row(LINES + "--split_long --tokenized", says="--tokenized"),
    row(LINES + "--split_long --decode_interactive", says="interactive"),
    row(
        DOCUMENT + "--decode_hparams=num_hypotheses=2",
        says="num_hypotheses=2",
    ),
    row(LINES + "--document_format=html", says="--document"),
    row(LINES + "--max_sentence_tokens=9", says="--split_long"),
    accepted(TRANSLATE, writes(IN, b""), **WRITES),
    accepted(TRANSLATE, writes(IN, b"<<p <!-- <![CDATA[ &#x; </"), **WRITES),
]
