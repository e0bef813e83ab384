"""Glossaries that are missing, malformed, or at odds with the model."""

from damage import has
from damage import writes
from rows import accepted
from rows import row

FILE = "{box}/terms.tsv"
GLOSSARY = f" --glossary={FILE}"
RUN = "kt-decoder --output_dir={run}"
TERMS = writes(FILE, b"a\tb\nc\n")
QUERY = "kt-query --protocol=rest --server=localhost:1 --text=a" + GLOSSARY


def malformed(content, says):
    return row(RUN + GLOSSARY, writes(FILE, content), says=says)


MEMORY = " --memory={texts}/dev.en"
ROWS = [
    row(RUN + " --memory=missing", says="missing, which is no file"),
    row(RUN + MEMORY, says=("dev.en", "not a database")),
    row(
        RUN + MEMORY + " --score_file={texts}/dev.en",
        says="cannot be combined with `--memory`",
    ),
    row(RUN + GLOSSARY, says="terms.tsv"),
    malformed(b"a\tb\tc\n", "line 1, 'a\\tb\\tc'"),
    malformed(b"a\tb\n\tb\n", "line 2, '\\tb'"),
    malformed(b"a\t\n", "line 1, 'a\\t'"),
    malformed(b"a\tb\n\nc\td\n", "line 2, ''"),
    malformed(b"a\tb\na\tc\n", "one translation for each term"),
    malformed(b"\xff\xfe\tb\n", "UTF-8"),
    malformed("a\tb\n".encode("utf-16"), "terms.tsv"),
    row(
        RUN + GLOSSARY + " --score_file={texts}/dev.en",
        TERMS,
        says="cannot be combined with `--glossary`",
    ),
    row(RUN + GLOSSARY + " --beam_size=1", TERMS, says="beam_size=1"),
    row(
        RUN + GLOSSARY + f" --decode_to_file={FILE}",
        TERMS,
        says="must differ",
    ),
    row(
        RUN + GLOSSARY + " --decode_hparams=temperature=1",
        TERMS,
        says="needs beam search",
    ),
    row(
        RUN + GLOSSARY + " --decode_hparams=mbr_samples=4",
        TERMS,
        says="needs beam search",
    ),
    row("kt-decoder --output_dir={parser}" + GLOSSARY, TERMS, says="parses"),
    row(
        "kt-decoder --output_dir={ctranslate2}" + GLOSSARY,
        TERMS,
        says="does not support `--glossary`",
    ),
    row(QUERY, says="terms.tsv"),
    row(QUERY, writes(FILE, b"a\tb\tc\n"), says="line 1, 'a\\tb\\tc'"),
    row(QUERY, TERMS, says="No answer from localhost:1"),
    accepted(
        RUN + GLOSSARY + " --decode_to_file={box}/out.txt",
        writes(FILE, b"a\n" * 3 + b"b\tc  \r\n"),
        has("{run}"),
        stdin=b"a b\n\n",
        writes="out.txt",
        apart=True,
        cpu_seconds=60,
    ),
]
