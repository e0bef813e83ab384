import json

import pytest
from growth import assert_linear

from keras_transformer.bin.kt_decoder.text_formats import _read_json
from keras_transformer.data.text import parallel_files
from keras_transformer.data.text import text_files
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.errors import UserError
from keras_transformer.files.reading import read_record
from keras_transformer.formats.tensor2tensor.vocabulary import (
    read_tensor2tensor_vocabulary,
)
from keras_transformer.parsing.brackets import split_blocks
from keras_transformer.parsing.tree import parse_tree

UNIT = (
    '<tu><tuv xml:lang="en"><seg>{}</seg></tuv>'
    '<tuv xml:lang="de"><seg>b</seg></tuv></tu>'
)
LAST = UNIT.format("a")
# Functions of a size that return the body of a TMX file.
TMX = {
    "a comment": lambda size: "<!--" + "ab\n" * (size // 3) + "-->" + LAST,
    "spaces": lambda size: UNIT.format(f"a{size * ' '}b"),
    "units in units": lambda n: "<tu>" * (n // 9) + "</tu>" * (n // 9) + LAST,
    "codes": lambda size: UNIT.format("<ph/>a" * (size // 6)),
}
TREES = [
    "(A ",
    "(A b) ",
    ")",
    "a",
    "(A b)\n",
    "%a\n",
    "<S ID=1>",
    "(\n",
    " (A\n",
]


@pytest.mark.parametrize("name", TMX)
def test_tmx_is_read_in_linear_time(name, tmp_path):
    def read(size):
        path = tmp_path / "a.tmx"
        path.write_text(f"<tmx><body>{TMX[name](size)}</body></tmx>")
        (pair,) = parallel_files.read_pairs([str(path)], ("en", "de"))
        assert pair[1] == "b"

    assert_linear(read, 100_000)


@pytest.mark.parametrize("unit", TREES)
def test_trees_are_read_in_linear_time(unit):
    def read(size):
        text = unit * (size // len(unit))
        for _, block in split_blocks(text.split("\n")):
            try:
                parse_tree(block)
            except ValueError:
                pass

    assert_linear(read, 30_000)


def quietly(function, *arguments):
    """Calls a function whose input is bad or good; only its time counts."""
    try:
        function(*arguments)
    except UserError:
        pass


TSV = ["a\tb\n", "\n", "\t", "a\n", "a\tb\tc\n", "\0\n", "\r", "\ufeff\n"]


@pytest.mark.parametrize("unit", TSV)
def test_tsv_and_lines_are_read_in_linear_time(unit, tmp_path):
    def read(size):
        path = tmp_path / "a.tsv"
        path.write_text(unit * (size // len(unit)), encoding="utf-8")
        quietly(list, parallel_files.read_pairs([str(path)], ("en", "de")))
        quietly(list, text_files.read_lines(str(path)))

    assert_linear(read, 100_000)


JSON_LINES = {
    "brackets": lambda size: "[" * size,
    "objects": lambda size: '{"a":' * (size // 5),
    "names": lambda n: json.dumps(
        {"text": "a", **dict.fromkeys(range(n // 9))}
    ),
    "same names": lambda n: "{" + '"text":"a",' * (n // 11) + '"text":"a"}',
    "escapes": lambda size: '"' + "\\u0061" * (size // 6) + '"',
    "open text": lambda size: '"' + "\\\\" * (size // 2),
    "digits": lambda size: "1" * size,
    "spaces": lambda size: " " * size,
}


@pytest.mark.parametrize("name", JSON_LINES)
def test_json_is_read_in_linear_time(name, tmp_path):
    def read(size):
        text = JSON_LINES[name](size)
        quietly(_read_json, text, "line 1")
        path = tmp_path / "a.json"
        path.write_text(text)
        quietly(read_record, str(path), {"text": str})

    assert_linear(read, 100_000)


VOCABULARIES = {
    "subtokens": lambda n: "".join(f"'{i:x}_'\n" for i in range(n // 9)),
    "one subtoken": lambda size: "'" + size * "a" + "'\n",
    "equal ones": lambda size: "'a'\n" * (size // 4),
    "empty ones": lambda size: "\n" * size,
    "quotes": lambda size: "'" * size,
}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies_are_read_in_linear_time(name, tmp_path):
    def read(size):
        text = "'<pad>_'\n'<EOS>_'\n" + VOCABULARIES[name](size)
        path = tmp_path / "vocab"
        path.write_text(text)
        quietly(read_tensor2tensor_vocabulary, str(path))
        # The same bytes are no model of SentencePiece.
        quietly(Subwords.from_bytes, text.encode(), "vocab")

    assert_linear(read, 50_000)


TERMS = {
    "terms": lambda n: "".join(f"a{i:x}\tb\n" for i in range(n // 9)),
    "patterns": lambda n: "".join(f"a{i:x}+\n" for i in range(n // 9)),
    "empty lines": lambda size: "\n" * size,
    "one line": lambda size: "a " * (size // 2),
}


@pytest.mark.parametrize("name", TERMS)
def test_glossaries_and_patterns_are_read_in_linear_time(name, tmp_path):
    def read(size):
        path = tmp_path / "terms.txt"
        path.write_text(TERMS[name](size))
        quietly(Glossary.read, str(path))
        quietly(Placeholders.read, str(path))

    assert_linear(read, 10_000)


@pytest.mark.parametrize("unit", ["\n", "a\n"])
def test_a_much_longer_file_of_the_same_text_is_not_read_to_its_end(
    unit, tmp_path, monkeypatch
):
    monkeypatch.setattr(text_files, "_MAX_COUNTED", 1000)
    long, short = str(tmp_path / "long"), str(tmp_path / "short")
    for path, count in ((long, 9_000), (short, 2)):
        with open(path, "w") as file:
            file.write(unit * count)
    for paths in ((long, short), (short, long), (short, short, long)):
        with pytest.raises(UserError, match="more than 1,00. lines"):
            list(text_files.read_rows(*paths))
