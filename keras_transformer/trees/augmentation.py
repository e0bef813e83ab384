"""More trees from few: constituents put in the place of others like them."""

import collections
import random

from keras_transformer.trees.tree import ROOT
from keras_transformer.trees.tree import steps
from keras_transformer.trees.tree import trees_of

MAX_WORDS = 70  # of a tree that grows
MOST_REPLACED = 3  # constituents of a tree that are replaced, at least 1
WORD_SHARE = 0.15  # of the words of open classes, replaced by another
OPEN_CLASSES = frozenset(
    "NN NNS NNP NNPS VB VBD VBZ VBP VBN VBG JJ RB CD".split()
)
NUM_PARTS = 3  # constituents of a made tree that become trees of their own
PART_WORDS = range(2, 26)


def augment(trees, num_rounds, seed=0):
    """Yields the trees again and again, with others that are made of them.

    In a round each tree comes once, then one that is made of it, then some of
    that one's constituents, each by itself. To make a tree, some constituents
    give way to others of the same label, and some words to others of the same
    tag, from anywhere in the treebank (Shi et al., 2021, "Substructure
    Substitution"). The result may read oddly, but its brackets are as good as
    any, and a parser of a few thousand sentences learns from it how brackets
    go with words, whatever the words; from short ones it learns first.

    Args:
        trees: iterable of `Tree`.
        num_rounds: how many rounds; 0 gives each tree once and no other.
        seed: of the random choices; the same gives the same.

    Example:

    >>> from keras_transformer.trees.tree import parse_tree
    >>> texts = ["(S (NP (NNP Ann)) (VP (VBZ is)))", "(S (NP (NNP Bob)))"]
    >>> len(list(augment(map(parse_tree, texts), num_rounds=2)))
    8
    """
    trees = [list(steps(tree)) for tree in trees]
    if not num_rounds:
        for tree in trees:
            yield from trees_of(tree)
    maker = _TreeMaker(trees, seed)
    for _ in range(num_rounds):
        for tree in trees:
            made = maker.made_of(tree)
            for each in (tree, made, *maker.parts(made)):
                yield from trees_of(each)


class _TreeMaker:
    """Makes trees, as lists of their steps, by random choices."""

    def __init__(self, trees, seed):
        # Of the generator's methods, Python promises to keep only this one.
        self._random = random.Random(seed).random
        self._constituents = collections.defaultdict(list)
        self._words = collections.defaultdict(list)
        for tree in trees:
            for first, last in _inner_constituents(tree):
                self._constituents[tree[first][1]].append(tree[first:last])
            for step, label, word in tree:
                if step == "leaf":
                    self._words[label].append(word)

    def made_of(self, tree):
        """A tree with constituents and words of others in it."""
        for _ in range(1 + int(self._random() * MOST_REPLACED)):
            inner = _inner_constituents(tree)
            if not inner:
                break
            first, last = self._choose(inner)
            other = self._choose(self._constituents[tree[first][1]])
            changed = tree[:first] + other + tree[last:]
            if _num_words(changed) <= max(MAX_WORDS, _num_words(tree)):
                tree = changed
        return [
            (step, label, self._choose(self._words[label]))
            if label in OPEN_CLASSES
            and step == "leaf"
            and self._random() < WORD_SHARE
            else (step, label, word)
            for step, label, word in tree
        ]

    def parts(self, tree):
        """Some constituents of a tree, each as a tree; fewer if it is small."""
        parts = [tree[first:last] for first, last in _inner_constituents(tree)]
        parts = [part for part in parts if _num_words(part) in PART_WORDS]
        chosen = []
        while parts and len(chosen) < NUM_PARTS:
            part = parts.pop(int(self._random() * len(parts)))
            root = [(step, ROOT, None) for step in ("open", "close")]
            chosen.append([root[0], *part, root[1]])
        return chosen

    def _choose(self, options):
        return options[int(self._random() * len(options))]


def _inner_constituents(tree):
    """Where constituents begin and end, but for the sentence and the root."""
    found, begun = [], []
    for number, (step, _, _) in enumerate(tree):
        if step == "open":
            begun.append(number)
        elif step == "close":
            first = begun.pop()
            if len(begun) > 1:
                found.append((first, number + 1))
    return found


def _num_words(tree):
    return sum(step == "leaf" for step, _, _ in tree)
