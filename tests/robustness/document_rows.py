"""Documents that are missing, no text, broken, or with the wrong flags."""

from damage import makes
from damage import writes
from rows import accepted
from rows import row

IN, OUT = "{box}/in.html", "{box}/out.html"
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
    row(DOCUMENT + "--resume", says="--resume"),
    row(DOCUMENT + "--write_scores", says="--write_scores"),
    row(DOCUMENT + "--tokenized", says="--tokenized"),
    row(DOCUMENT + "--decode_interactive", says="--decode_interactive"),
    row(DOCUMENT + "--prefix_file=a", says="--prefix_file"),
    row(DOCUMENT + "--score_file=a", says="--score_file"),
    row(
        DOCUMENT + "--decode_hparams=num_hypotheses=2",
        says="num_hypotheses=2",
    ),
    row(
        "kt-decoder --output_dir={run} --document_format=html",
        says="--document",
    ),
    row(
        "kt-decoder --output_dir={run} --max_sentence_tokens=9",
        says="--document",
    ),
    accepted(TRANSLATE, writes(IN, b""), **WRITES),
    accepted(TRANSLATE, writes(IN, b"<<p <!-- <![CDATA[ &#x; </"), **WRITES),
]
