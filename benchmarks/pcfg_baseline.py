"""Scores a probabilistic context-free grammar (PCFG) on a treebank.

    pip install nltk
    python benchmarks/pcfg_baseline.py wsj_sample:0001-0159 wsj_sample:0160-0179

NLTK makes the trees binary. The label of a constituent then names `--vertical`
of its ancestors, and that of a part of one the next `--horizontal` children
(Klein and Manning, 2003). The probability of a rule is its relative frequency.
Unknown words, and words that occur at most `--rare` times in the training
trees, are replaced by classes of similar letters. The search is exact: a parse
is the most probable derivation of its words.

The trees, their words and the score are those of kt-evaluate.
"""

import argparse
import collections
import sys
import time

import numpy as np

from keras_transformer.parsing.parseval import parseval
from keras_transformer.parsing.tree import ROOT
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.treebank import read_treebank

try:
    import nltk
except ImportError:
    sys.exit("The script must have NLTK. Run: pip install nltk")

LENGTHS = ((1, 10), (11, 20), (21, 30), (31, 40), (41, 999))


def word_classes(word, is_first):
    """Returns the classes of a word from the narrowest to the widest."""
    features = []
    if word[0].isupper():
        features.append("first" if is_first else "capital")
    if any(character.isdigit() for character in word):
        features.append("digit")
    if "-" in word:
        features.append("hyphen")
    shape = " ".join(features)
    suffix = word[-2:].lower() if word[-2:].isalpha() else ""
    return [f"<{shape} -{suffix}>", f"<{shape}>", "<>"]


class Lexicon:
    """The words of the training trees, with classes in place of rare words."""

    def __init__(self, sentences, rare):
        counts = collections.Counter(word for s in sentences for word in s)
        # A class that is rare itself says too little about its words.
        counts.update(
            name
            for words in sentences
            for place, word in enumerate(words)
            if counts[word] <= rare
            for name in word_classes(word, place == 0)
        )
        self._frequent = {name for name in counts if counts[name] > rare}

    def lookup(self, words):
        """Returns the words of a sentence, with classes in place of some."""
        return [
            self._first_frequent(word, *word_classes(word, place == 0))
            for place, word in enumerate(words)
        ]

    def _first_frequent(self, *names):
        return next((n for n in names if n in self._frequent), names[-1])


class Rules:
    """Rules of as many children each, in arrays that are sorted by parent."""

    def __init__(self, productions, ids):
        rules = sorted(
            [ids[p.lhs()], *(ids[child] for child in p.rhs()), p.logprob()]
            for p in productions
        )
        parents, *children, log2_probabilities = zip(*rules)
        self.parents = np.array(parents)
        self.children = np.array(children)
        self.scores = np.array(log2_probabilities, "float32")

    def raise_to(self, cell, scores, chosen=slice(None)):
        """Raises the scores in a cell to those of the best rules."""
        parents = self.parents[chosen]
        if not len(parents):
            return
        starts = np.flatnonzero(np.diff(parents, prepend=-1))
        best = np.maximum.reduceat(scores, starts)
        cell[parents[starts]] = np.maximum(cell[parents[starts]], best)

    def of(self, parent):
        """Returns where the rules of one parent are."""
        return slice(*np.searchsorted(self.parents, [parent, parent + 1]))


class Grammar:
    """Rules of binary trees, and the search for the best derivation.

    Scores are logarithms of probabilities to the base 2, as NLTK computes them.
    """

    def __init__(self, trees):
        productions = [rule for tree in trees for rule in tree.productions()]
        grammar = nltk.induce_pcfg(nltk.Nonterminal(ROOT), productions)
        groups = collections.defaultdict(list)
        for rule in grammar.productions():
            groups["word" if rule.is_lexical() else len(rule)].append(rule)
        self.symbols = sorted({rule.lhs() for rule in grammar.productions()})
        ids = {symbol: id_ for id_, symbol in enumerate(self.symbols)}
        self.root = ids[nltk.Nonterminal(ROOT)]
        self.unary = Rules(groups[1], ids)
        self.binary = Rules(groups[2], ids)
        self.tags = collections.defaultdict(list)
        for rule in groups["word"]:
            tag = ids[rule.lhs()], rule.logprob()
            self.tags[rule.rhs()[0]].append(tag)

    def parse(self, words, names):
        """Returns the best tree over words that the grammar calls by names.

        It is None if the grammar has no derivation of them.
        """
        chart = self._chart(names)
        if np.isneginf(chart[0, len(words), self.root]):
            return None
        return self._tree(chart, 0, len(words), self.root, words)

    def _chart(self, names):
        """Returns the best scores, `(num_words, num_words + 1, num_symbols)`.

        The entry `[start, end, symbol]` is that of the words from start to end.
        """
        num_words = len(names)
        shape = num_words, num_words + 1, len(self.symbols)
        chart = np.full(shape, -np.inf, "float32")
        for length in range(1, num_words + 1):
            for start in range(num_words - length + 1):
                cell = chart[start, start + length]
                if length == 1:
                    for tag, score in self.tags[names[start]]:
                        cell[tag] = score
                else:
                    self._combine(chart, start, start + length)
                self._add_unary(cell)
        return chart

    def _combine(self, chart, start, end):
        """Applies the binary rules whose children are in the chart."""
        left, right = _parts(chart, start, end)
        is_left, is_right = (np.isfinite(p).any(0) for p in (left, right))
        left_child, right_child = self.binary.children
        (chosen,) = np.nonzero(is_left[left_child] & is_right[right_child])
        scores = left[:, left_child[chosen]] + right[:, right_child[chosen]]
        scores = scores.max(0) + self.binary.scores[chosen]
        self.binary.raise_to(chart[start, end], scores, chosen)

    def _add_unary(self, cell):
        """Applies unary rules until no chain of them raises a score."""
        before = None
        while before is None or (before != cell).any():
            before = cell.copy()
            scores = cell[self.unary.children[0]] + self.unary.scores
            self.unary.raise_to(cell, scores)

    def _tree(self, chart, start, end, symbol, words):
        """Returns the tree of an entry of the chart, found by its score."""
        label = self.symbols[symbol].symbol()
        score = chart[start, end, symbol]
        rules = self.unary.of(symbol)
        children = self.unary.children[0][rules]
        scores = chart[start, end, children] + self.unary.scores[rules]
        if score in scores:
            child = children[scores.argmax()]
            return nltk.Tree(
                label, [self._tree(chart, start, end, child, words)]
            )
        if end == start + 1:
            return nltk.Tree(label, [words[start]])
        left, right = _parts(chart, start, end)
        rules = self.binary.of(symbol)
        first, second = self.binary.children[:, rules]
        scores = left[:, first] + right[:, second] + self.binary.scores[rules]
        place, rule = np.unravel_index(scores.argmax(), scores.shape)
        middle = start + 1 + place
        return nltk.Tree(
            label,
            [
                self._tree(chart, start, middle, first[rule], words),
                self._tree(chart, middle, end, second[rule], words),
            ],
        )


def _parts(chart, start, end):
    """Returns the cells on the left and on the right of each division."""
    return chart[start, start + 1 : end], chart[start + 1 : end, end]


def train(gold, vertical, horizontal, rare):
    """Returns a grammar and a lexicon of the gold trees."""
    lexicon = Lexicon([tree.words() for tree in gold], rare)
    trees = [nltk.Tree.fromstring(str(tree)) for tree in gold]
    for tree in trees:
        for place, name in enumerate(lexicon.lookup(tree.leaves())):
            tree[tree.leaf_treeposition(place)] = name
        tree.chomsky_normal_form(vertMarkov=vertical, horzMarkov=horizontal)
    return Grammar(trees), lexicon


def parse(words, grammar, lexicon):
    tree = grammar.parse(words, lexicon.lookup(words))
    if tree is None:
        return None
    tree.un_chomsky_normal_form()
    return parse_tree(" ".join(str(tree).split()))


def main():
    flags = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    flags.add_argument("train", help="trees as in --train_trees")
    flags.add_argument("dev", help="trees as in --dev_trees")
    flags.add_argument("--vertical", type=int, default=2)
    flags.add_argument("--horizontal", type=int, default=1)
    flags.add_argument("--rare", type=int, default=2)
    args = flags.parse_args()
    start = time.time()
    training_trees = list(read_treebank([args.train]))
    grammar, lexicon = train(
        training_trees, args.vertical, args.horizontal, args.rare
    )
    num_rules = len(grammar.binary.parents) + len(grammar.unary.parents)
    print(f"{num_rules:,} rules after {time.time() - start:.0f} s")
    start = time.time()
    gold = list(read_treebank([args.dev]))
    parses = [parse(tree.words(), grammar, lexicon) for tree in gold]
    print(f"{len(parses)} sentences parsed in {time.time() - start:.0f} s")
    print(parseval(gold, parses).text)
    print_by_length(gold, parses)


def print_by_length(gold, parses):
    for shortest, longest in LENGTHS:
        pairs = [
            pair
            for pair in zip(gold, parses)
            if shortest <= len(pair[0].words()) <= longest
        ]
        if pairs:
            f1 = parseval(*zip(*pairs)).f1
            print(f"{shortest}-{longest} words: {len(pairs)}, F1 {f1:.2f}")


if __name__ == "__main__":
    main()
