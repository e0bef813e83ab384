"""Patterns to protect that are missing, malformed, or at odds."""

from damage import has
from damage import writes
from rows import row

FILE = "{box}/patterns.txt"
PATTERNS = f" --protected_patterns={FILE}"
RUN = "kt-decoder --output_dir={run}"
DIGITS = writes(FILE, b"\\d+\n")


def malformed(content, says):
    return row(RUN + PATTERNS, writes(FILE, content), says=says)


ROWS = [
    row(RUN + " --protect=some", says="true or false"),
    row(RUN + PATTERNS, says="patterns.txt"),
    row(
        RUN + PATTERNS + f" --decode_to_file={FILE}",
        DIGITS,
        says="must differ",
    ),
    malformed(b"a\n(b\n", "line 2, '(b'"),
    malformed(b"a\n\n", "line 2, ''. Correct it"),
    malformed(b"x*\n", "must not match the empty text"),
    malformed(b"\xff\n", "UTF-8"),
    row("kt-decoder --output_dir={parser} --protect", says="parses"),
    row("kt-decoder --output_dir={parser}" + PATTERNS, DIGITS, says="parses"),
    row(
        "kt-decoder --output_dir={saved_model} --protect",
        says="does not support `--protect`",
    ),
    row(
        "kt-decoder --output_dir={saved_model} --unknown=copy",
        says="does not support `--unknown`",
    ),
    row(
        RUN + " --unknown=omit --split_long",
        says="cannot be combined with `--split_long`",
    ),
    row(
        RUN + " --protect --score_file={texts}/dev.en",
        says="cannot be combined with `--score_file`",
    ),
    row(
        RUN + " --protect --prefix_file={texts}/dev.en",
        says="cannot be combined with `--prefix_file`",
    ),
    row(
        RUN + " --protect --rerank_by={run}",
        says="cannot be combined with `--rerank_by`",
    ),
    row(
        RUN + " --protect --split_long",
        says="cannot be combined with `--split_long`",
    ),
    row(
        RUN + PATTERNS + " --decode_to_file={box}/out.txt",
        writes(FILE, b"\\d+\n<keep>\n"),
        has("{run}"),
        stdin=b"a <b>2</b> <keep>\n\n<br/>\n",
        writes="out.txt",
        status=3,  # it doubts a translation
        apart=True,
        cpu_seconds=60,
    ),
]
