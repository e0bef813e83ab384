"""Trees for tests: random ones, and the Penn Treebank's sample if present."""

import functools
import gzip
import pathlib
import random

import pytest
from hypothesis import strategies as st

from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import walk
from keras_transformer.parsing.treebank import read_treebank

SAMPLE = pathlib.Path(__file__).parents[2] / "../shared/data/wsj_sample"
needs_sample = pytest.mark.skipif(
    not SAMPLE.is_dir(), reason="needs the sample of the Penn Treebank"
)
LABELS = ["S", "NP", "VP", "PP", "PRN", "X"]
TAGGED_WORDS = [
    ("DT", "the"),
    ("NN", "dog"),
    ("NN", "1\\/2"),
    ("VBD", "saw"),
    ("PRP$", "its"),
    ("POS", "'s"),
    ("JJ", "élan-vital"),
    (",", ","),
    ("-LRB-", "-LRB-"),
    ("-RRB-", "-RRB-"),
    ("``", "``"),
    (":", "--"),
]

INDENTED = """
( (S
    (NP-SBJ
      (NP (NNP Ada) (NNP Weber) )
      (, ,)
      (ADJP
        (NP (CD nine) (NNS weeks) )
        (JJ old) ))
    (VP (MD can)
      (VP (VB smile) ))
    (. .) ))"""


def random_tree(
    rng, labels=LABELS, tagged_words=TAGGED_WORDS, numbers=(1, 1, 2, 3)
):
    """Returns a tree as `clean` makes them: TOP over one or two trees.

    Args:
        rng: A `random.Random`.
        labels: List of the constituents' labels to choose from.
        tagged_words: List of (tag, word) to choose from.
        numbers: Tuple of the numbers of children to choose from.
    """
    number = 1 if rng.random() < 0.8 else 2
    pieces = labels, tagged_words, numbers
    return Tree("TOP", random_children(rng, number, pieces))


def random_children(rng, number, pieces, depth=0):
    labels, tagged_words, numbers = pieces
    children = []
    for _ in range(number):
        if rng.random() < 0.3 + 0.1 * depth:
            tag, word = rng.choice(tagged_words)
            children.append(Tree(tag, (word,)))
            continue
        below = random_children(rng, rng.choice(numbers), pieces, depth + 1)
        children.append(Tree(rng.choice(labels), below))
    return tuple(children)


def random_trees(number=300, seed=1, **pieces):
    rng = random.Random(seed)
    return [random_tree(rng, **pieces) for _ in range(number)]


ANY_TREE = st.randoms(use_true_random=False).map(random_tree)


def deep_tree(depth=5000):
    tree = Tree("NN", ("word",))
    for place in range(depth):
        tree = Tree("NP" if place % 2 else "S", (tree, Tree(".", (".",))))
    return Tree("TOP", (tree,))


@functools.cache
def sample():
    return list(read_treebank([str(SAMPLE)]))


def constituents(tree):
    """Returns the list of (label, first word, end) of all constituents."""
    spans, starts, place = [], [], 0
    for step, label, _ in walk(tree):
        if step == "open":
            starts.append(place)
        elif step == "close":
            spans.append((label, starts.pop(), place))
        else:
            place += 1
    return spans


def on_one_line(tree):
    return f"{tree}\n"


def without_root(tree):
    return on_one_line(tree).replace("(TOP", "(")


def indented(tree, step=2, depth=0):
    """Returns a tree as pretty printers write it, one constituent a line."""
    if tree.is_preterminal:
        return str(tree)
    inner = "\n" + " " * step * (depth + 1)
    below = (indented(child, step, depth + 1) for child in tree.children)
    end = "\n" if not depth else ""
    return f"({tree.label}{inner}{inner.join(below)}){end}"


def as_in_the_treebank(tree):
    """Returns a tree with `( (S` on its first line and with a trace."""
    text = indented(tree, 4).replace("(TOP\n    ", "( ", 1)
    return text.removesuffix(")\n") + " (NP-SBJ-1 (-NONE- *T*)))\n"


LAYOUTS = [on_one_line, without_root, indented, as_in_the_treebank]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text if isinstance(text, bytes) else text.encode()
    compressed = gzip.compress(content) if path.suffix == ".gz" else content
    path.write_bytes(compressed)
    return str(path)
