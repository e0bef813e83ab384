"""Joins several parses of a sentence into one tree."""

import collections
import itertools
import math
import typing

import numpy as np

from keras_transformer.parsing.linearization import LEAF
from keras_transformer.parsing.parseval import DELETED
from keras_transformer.parsing.parseval import parseval
from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import build_trees
from keras_transformer.parsing.tree import find_spans

# A bracket raises the F1 of a treebank if its probability of being right is
# above half of that F1. At an F1 of 80 %, that is 0.4.
THRESHOLD = 0.4


class LabelledSpan(typing.NamedTuple):
    """A constituent that a parse may have, with its probability."""

    label: str
    first: int  # number of words before it
    end: int  # number of words before its end
    share: float


class Bracket(typing.NamedTuple):
    """A constituent below the root, whatever punctuation it holds.

    If several brackets have the same label over the same words, such as NP over
    NP, the copy counts the brackets inside.
    """

    start: int  # number of words before it, without punctuation
    stop: int  # number of words before its end
    label: str
    copy: int


def find_consensus(trees, weights, chart=()):
    """Returns the tree that agrees best with several parses of a sentence.

    The share of a bracket is the part of the total weight that belongs to the
    parses with this bracket. The result has the set of brackets that do not
    cross and whose shares beyond `THRESHOLD` have the largest sum.
    Each word gets the tag with the largest weight, or XX if no parse has
    another tag. A chart, a list of `LabelledSpan`, counts as much as all parses
    together. As in `parseval`, brackets that differ in their punctuation
    alone are the same. Root and punctuation are as in the parse with the
    largest weight.

    If the parses are samples of a model, a share estimates the probability that
    a bracket is right. The most probable parse can be worse, because the
    brackets that only it has count as much as those that it shares with
    others. Goodman (1996), Henderson and Brill (1999).

    The trees, one or more, have the same words. There is a weight for each of
    them; none is negative, and one is positive.

    >>> from keras_transformer.parsing.tree import parse_tree
    >>> parses = [
    ...     "(S (NP (XX I)) (VP (XX saw) (NP (XX her)) (ADVP (XX up))))",
    ...     "(S (NP (XX I)) (VP (XX saw) (NP (XX her) (XX up))))",
    ...     "(S (NP (XX I) (XX saw)) (NP (XX her)) (ADVP (XX up)))",
    ... ]
    >>> find_consensus(list(map(parse_tree, parses)), [0.4, 0.3, 0.3])
    parse_tree('(S (NP (XX I)) (VP (XX saw) (NP (XX her)) (ADVP (XX up))))')
    """
    weight_of = collections.Counter()
    for tree, weight in zip(trees, weights, strict=True):
        weight_of[tree] += weight
    ranked = weight_of.most_common()
    likeliest = ranked[0][0]
    is_counted = [tag not in DELETED for tag in likeliest.tags()]
    if likeliest.is_preterminal or not any(is_counted):
        return likeliest
    # The chart has half of the votes, and the parses have the other half.
    shares, heights = _share_chart(chart, is_counted, 0.5), {}
    total = sum(weight for _, weight in ranked) * (2 if chart else 1)
    for tree, weight in ranked:
        for bracket, height, _ in _brackets(tree, is_counted):
            shares[bracket] += weight / total
            # That in the likeliest parse that has the bracket.
            heights.setdefault(bracket, height)
    brackets = _select_brackets(shares, sum(is_counted))
    for bracket in brackets:
        heights.setdefault(bracket, 0)  # if only the chart has it
    brackets.sort(key=lambda one: (one.start, -one.stop, -heights[one]))
    homes = _find_homes(likeliest, is_counted)
    constituents = [
        (one.label, *_find_places(one, heights[one], homes)) for one in brackets
    ]
    leaves = zip(_select_tags(trees, weights), likeliest.words())
    children = build_trees(_walk_constituents(constituents, leaves))
    return Tree(likeliest.label, tuple(children))


def estimate_f1(tree, trees, weights, chart=()):
    """Returns the mean F1, 0 to 100, of a tree with parses as gold trees.

    With a chart, it is the mean of this F1 and of the F1 with the chart, where
    each constituent counts by its probability.
    """
    total = sum(
        weight * parseval([gold], [tree]).f1
        for gold, weight in zip(trees, weights, strict=True)
    )
    mean = total / sum(weights)
    is_counted = [tag not in DELETED for tag in tree.tags()]
    shares = _share_chart(chart, is_counted)
    if not shares:  # no chart, or one of punctuation alone
        return mean
    brackets = [bracket for bracket, *_ in _brackets(tree, is_counted)]
    matched = sum(shares[bracket] for bracket in brackets)
    of_chart = 200 * matched / (len(brackets) + sum(shares.values()))
    return (mean + of_chart) / 2


def _brackets(tree, is_counted):
    """Yields the brackets below the root of a tree, inner ones first."""
    # Each `Bracket` comes with its height, the number of brackets over the same
    # words within it, and its (first, end) among all leaves. Constituents of
    # leaves that are not `is_counted`, the punctuation, are left out.
    num_before = [0, *itertools.accumulate(is_counted)]
    heights, copies = collections.Counter(), collections.Counter()
    for label, *places in list(find_spans(tree))[:-1]:  # the root is last
        start, stop = (num_before[each] for each in places)
        if start < stop:
            copy = copies[start, stop, label]
            height = heights[start, stop]
            yield Bracket(start, stop, label, copy), height, places
            copies[start, stop, label] += 1
            heights[start, stop] += 1


def _share_chart(chart, is_counted, factor=1.0):
    """Returns the share of each bracket in a chart, times a factor."""
    shares = collections.Counter()
    num_before = [0, *itertools.accumulate(is_counted)]
    for label, first, end, share in chart:
        start, stop = num_before[first], num_before[end]
        if start < stop:
            # Spans that differ only in their punctuation cannot be in one tree,
            # but the model may give them more than 1 together.
            bracket = Bracket(start, stop, label, 0)
            shares[bracket] = min(factor, shares[bracket] + factor * share)
    return shares


def _select_brackets(shares, num_words):
    """Returns brackets that do not cross, with the largest total gain."""
    # The gain of a bracket is its share beyond `THRESHOLD`. As in the algorithm
    # of Cocke, Younger and Kasami, the best brackets of a span are the best of
    # two parts of it, and brackets of the whole span.
    brackets_by_span = collections.defaultdict(list)
    for bracket, share in shares.items():
        if share > THRESHOLD:
            brackets_by_span[bracket.start, bracket.stop].append(bracket)
    # `best[start, stop]` is the largest gain within a span. Short spans come
    # first, so both parts of a longer one are known wherever it is divided.
    best, middles = np.zeros((num_words + 1, num_words + 1)), {}
    for width in range(1, num_words + 1):
        for start in range(num_words - width + 1):
            stop = start + width
            best[start, stop] = sum(
                shares[bracket] - THRESHOLD
                for bracket in brackets_by_span.get((start, stop), ())
            )
            if width > 1:
                inner = slice(start + 1, stop)
                gains = best[start, inner] + best[inner, stop]
                middles[start, stop] = start + 1 + int(np.argmax(gains))
                best[start, stop] += np.max(gains)
    # The table holds only gains. Tracing the divisions of spans back finds the
    # brackets behind them.
    selected, spans = [], [(0, num_words)]
    while spans:
        start, stop = spans.pop()
        selected += brackets_by_span.get((start, stop), ())
        if middle := middles.get((start, stop)):
            spans += [(start, middle), (middle, stop)]
    return selected


def _find_homes(tree, is_counted):
    """Returns each leaf's home: the start, stop and height of a bracket."""
    # The home of punctuation is the smallest bracket around it, or the root,
    # which is higher than all. Other words belong in all brackets around them.
    number = itertools.count()
    homes = [
        (start := next(number), start + 1, 0) if counts else None
        for counts in is_counted
    ]
    for bracket, height, (first, end) in _brackets(tree, is_counted):
        home = bracket.start, bracket.stop, height
        homes[first:end] = [one or home for one in homes[first:end]]
    root = 0, sum(is_counted), math.inf
    return [one or root for one in homes]


def _find_places(bracket, height, homes):
    """Returns the first place and the end of a bracket among all leaves."""
    within = [
        place
        for place, (start, stop, height_of_home) in enumerate(homes)
        if bracket.start <= start
        and stop <= bracket.stop
        and (
            stop - start < bracket.stop - bracket.start
            or height_of_home <= height
        )
    ]
    return within[0], within[-1] + 1


def _select_tags(trees, weights):
    """Returns the tag of each word that has the largest weight."""
    votes = [collections.Counter() for _ in trees[0].words()]
    for tree, weight in zip(trees, weights):
        for vote, tag in zip(votes, tree.tags()):
            if tag != LEAF:  # which a parser without tags writes
                vote[tag] += weight
    return [max(vote, key=vote.get, default=LEAF) for vote in votes]


def _walk_constituents(constituents, leaves):
    """Yields the steps through constituents, outer ones first, and leaves."""
    waiting, opened = constituents[::-1], []
    for place, (tag, word) in enumerate(leaves):
        while waiting and waiting[-1][1] == place:
            opened.append(waiting.pop())
            yield "open", opened[-1][0], None
        yield "leaf", tag, word
        while opened and opened[-1][2] == place + 1:
            yield "close", opened.pop()[0], None
