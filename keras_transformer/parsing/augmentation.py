"""Makes more trees from few by exchanging constituents and words."""

import collections
import random

from keras_transformer.parsing.tree import ROOT
from keras_transformer.parsing.tree import build_trees
from keras_transformer.parsing.tree import walk

MAX_WORDS = 70  # no exchange makes a tree longer than this
MAX_REPLACED = 3  # constituents replaced in a tree, at least 1
WORD_SHARE = 0.15  # of the words of open classes are replaced
OPEN_CLASSES = frozenset(
    "NN NNS NNP NNPS VB VBD VBZ VBP VBN VBG JJ RB CD".split()
)
NUM_PARTS = 3  # constituents of a new tree that become trees, too
PART_WORDS = range(2, 26)  # numbers of words that such a constituent may have


def augment(trees, num_rounds, seed=0):
    """Yields trees several times over, together with new trees made from them.

    In each of the rounds every tree comes once, followed by a new tree made
    from it and by some constituents of the new tree, each as a separate tree.
    A new tree has some constituents replaced by others of the same label from
    anywhere in the treebank, and some words by others of the same tag
    ("Substructure Substitution", Shi et al., 2021). A parser learns from these
    odd sentences how brackets depend on words in general.

    Without rounds the trees pass through one at a time. Otherwise they are all
    held in memory, because each may give its parts to any other.

    >>> from keras_transformer.parsing.tree import parse_tree
    >>> texts = ["(S (NP (NNP Ann)) (VP (VBZ is)))", "(S (NP (NNP Bob)))"]
    >>> len(list(augment(map(parse_tree, texts), num_rounds=2)))
    8
    """
    if not num_rounds:
        yield from trees
        return
    # A constituent is a slice of the steps, so an exchange is a concatenation.
    trees = [list(walk(tree)) for tree in trees]
    maker = _TreeMaker(trees, seed)
    for _ in range(num_rounds):
        for tree in trees:
            new_tree = maker.exchange(tree)
            for each in (tree, new_tree, *maker.cut_parts(new_tree)):
                yield from build_trees(each)


class _TreeMaker:
    """Makes trees by random choices; each tree is a list of steps."""

    def __init__(self, trees, seed):
        # Python promises to keep the sequence of this method only.
        self._random = random.Random(seed).random
        self._constituents = collections.defaultdict(list)
        self._words = collections.defaultdict(list)
        for tree in trees:
            # Copies of nested constituents would take the square of the depth.
            for first, last in _find_inner_constituents(tree):
                places = self._constituents[tree[first][1]]
                places.append((tree, first, last))
            for step, label, word in tree:
                if step == "leaf":
                    self._words[label].append(word)

    def exchange(self, tree):
        """Returns the tree with some constituents and words of other trees."""
        for _ in range(1 + int(self._random() * MAX_REPLACED)):
            inner = _find_inner_constituents(tree)
            if not inner:
                break
            first, last = self._choose(inner)
            places = self._constituents[tree[first][1]]
            other, start, end = self._choose(places)
            changed = tree[:first] + other[start:end] + tree[last:]
            # Nested exchanges would otherwise make trees grow without limit.
            if _count_words(changed) <= max(MAX_WORDS, _count_words(tree)):
                tree = changed
        return [
            (step, label, self._choose(self._words[label]))
            if label in OPEN_CLASSES
            and step == "leaf"
            and self._random() < WORD_SHARE
            else (step, label, word)
            for step, label, word in tree
        ]

    def cut_parts(self, tree):
        """Returns up to `NUM_PARTS` constituents, each as a tree."""
        places = [
            (first, last)
            for first, last in _find_inner_constituents(tree)
            if _count_words(tree[first:last]) in PART_WORDS
        ]
        parts = []
        while places and len(parts) < NUM_PARTS:
            first, last = places.pop(int(self._random() * len(places)))
            root = [(step, ROOT, None) for step in ("open", "close")]
            parts.append([root[0], *tree[first:last], root[1]])
        return parts

    def _choose(self, options):
        return options[int(self._random() * len(options))]


def _find_inner_constituents(tree):
    """Returns (first, end) of all constituents below the sentence."""
    constituents, open_positions = [], []
    for position, (step, _, _) in enumerate(tree):
        if step == "open":
            open_positions.append(position)
        elif step == "close":
            first = open_positions.pop()
            # The root and the sentence have no other place to go.
            if len(open_positions) > 1:
                constituents.append((first, position + 1))
    return constituents


def _count_words(tree):
    return sum(step == "leaf" for step, _, _ in tree)
