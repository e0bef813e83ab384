"""A small treebank of toy sentences, as splits and as files."""

import gzip
import itertools

from toy_text.trees import TreeWriter


def make_trees(count):
    """Returns distinct trees; the whole treebank would take seconds."""
    # With this seed, training has all labels of dev and test.
    writer, trees = TreeWriter(seed=1), {}
    while len(trees) < count:
        tree = writer.write()
        trees[str(tree)] = tree
    return list(trees.values())


TREES = make_trees(300)
SIZES = {"train": 90, "dev": 8, "test": 6}


def split_of(split):
    first = list(SIZES).index(split) * 100
    return TREES[first : first + SIZES[split]]


def as_distributed(tree):
    """Returns a tree as a `.mrg` file of the treebank holds it."""
    (sentence,) = tree.children
    text = str(sentence).replace(" (VP", "\n    (VP").replace("(NP ", "(NP-1 ")
    return f"( {text} )\n"


def write_trees(path, trees):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{tree}\n" for tree in trees)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return str(path)


def write_sections(directory, sizes):
    """Writes folders of `.mrg` files and returns the trees by folder."""
    trees = iter(TREES)
    written = {}
    for section, size in sizes.items():
        written[section] = list(itertools.islice(trees, size))
        for number, tree in enumerate(written[section]):
            path = directory / section / f"wsj_{section}{number:02}.mrg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n" + as_distributed(tree), encoding="utf-8")
    return written
