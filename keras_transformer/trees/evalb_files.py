"""The files of gold trees and parses that the program EVALB reads."""

import re

from keras_transformer.trees.parseval import DELETED
from keras_transformer.trees.parseval import check_pairs
from keras_transformer.trees.parseval import get_leaves
from keras_transformer.trees.parseval import is_failed
from keras_transformer.trees.tree import ROOT
from keras_transformer.trees.tree import TRACE
from keras_transformer.trees.tree import Tree
from keras_transformer.trees.tree import replace_tags

# Sizes of the arrays in EVALB as distributed, which it does not check.
EVALB_MAX_WORDS = 200
EVALB_MAX_BRACKETS = 200
EVALB_MAX_WORD = 99  # bytes
EVALB_MAX_LINE = 4998  # bytes
WRONG = "*"  # suffix of tags in EVALB's files that must count as wrong


def write_evalb(gold_path, test_path, gold, test):
    """Writes the two files that EVALB reads, with one tree a line.

    EVALB with COLLINS.prm then gives the scores of `parseval`. Two changes of
    the parses are needed because EVALB drops what it cannot compare:

    - A failed sentence becomes its words right below TOP, all tagged "*": it
      has no brackets and no right tag. EVALB would skip `(())`.
    - Where gold tree and parse disagree on whether a word is punctuation, the
      parse gets the gold tag, or its own tag followed by "*".

    Two differences remain. EVALB always skips sentences that are all
    punctuation, and it calls a failed sentence an exact match if its gold tree
    has no brackets.

    Returns the line numbers, from 1, of trees that exceed the limits of EVALB
    as distributed. It may crash or count wrongly if compiled with them.
    """
    check_pairs(gold, test)
    too_large = []
    with (
        open(gold_path, "w", encoding="utf-8", newline="\n") as gold_file,
        open(test_path, "w", encoding="utf-8", newline="\n") as test_file,
    ):
        for number, (gold_tree, test_tree) in enumerate(zip(gold, test), 1):
            gold_line = _write_line(gold_tree)
            test_line = _write_line(_make_comparable(gold_tree, test_tree))
            gold_file.write(gold_line + "\n")
            test_file.write(test_line + "\n")
            if not (_fits_evalb(gold_line) and _fits_evalb(test_line)):
                too_large.append(number)
    return too_large


def _make_comparable(gold, test):
    """Returns a parse that EVALB compares with `gold` as `parseval` does."""
    leaves, parsed = get_leaves(gold), get_leaves(test)
    # EVALB skips an empty tree, so a failed parse becomes a flat one.
    if is_failed(leaves, parsed):
        parsed = [(word, WRONG) for word, _ in leaves]
        test = Tree(ROOT, tuple(Tree(WRONG, (word,)) for word, _ in leaves))
    tags = []
    for (_, gold_tag), (_, tag) in zip(leaves, parsed):
        if gold_tag in DELETED and tag not in DELETED:
            tag = gold_tag
        elif tag in DELETED and gold_tag not in DELETED:
            tag += WRONG
        tags.append(tag)
    # Traces, which are no words, stay as they are.
    remaining = iter(tags)
    return replace_tags(
        test, [tag if tag == TRACE else next(remaining) for tag in test.tags()]
    )


def _write_line(tree):
    # EVALB expects TOP at the root of every tree.
    if tree.is_preterminal or tree.label not in ("", ROOT):
        tree = Tree(ROOT, (tree,))
    return str(tree._replace(label=ROOT))


def _fits_evalb(line):
    leaves = re.findall(r"\(([^ ()]+) ([^ ()]+)\)", line)
    return (
        sum(tag not in DELETED for tag, _ in leaves) <= EVALB_MAX_WORDS
        and line.count("(") - len(leaves) <= EVALB_MAX_BRACKETS
        and max(len(word.encode()) for _, word in leaves) <= EVALB_MAX_WORD
        and len(line.encode()) <= EVALB_MAX_LINE
    )
