import pytest
from growth import assert_linear

from keras_transformer.data import parallel_files
from keras_transformer.trees.brackets import split_blocks
from keras_transformer.trees.tree import parse_tree

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
