"""Scores of attention heads: how diagonal, local, sharp and bracket-like.

Each score compares a head with uniform attention, which gives every word of a
sentence the same weight. Uniform attention scores 0 and a perfect head 1. A
score below 0 is possible: a head that attends to distant words alone is less
local than uniform attention.
"""

import itertools
import typing

import numpy as np

from keras_transformer.data.generation.token_arrays import text_path
from keras_transformer.data.text import text_files
from keras_transformer.errors import UserError
from keras_transformer.files.progress import Progress
from keras_transformer.parsing.tree import find_smallest_constituents
from keras_transformer.parsing.tree import parse_tree

NEIGHBOURS = ("previous", "itself", "next")  # the word before comes first
TINY = 1e-12
SPLITS = ("dev", "test")
NUM_SENTENCES = 200
EXAMPLE_WORDS = range(8, 17)  # so that a picture is neither empty nor crowded


class HeadScores(typing.NamedTuple):
    """Scores of all heads by their names, and the number of words behind them.

    The scores are arrays of shape `(num_layers, num_heads)`. So are the notes
    on some of them, which hold the best neighbour and the mean distance.
    """

    values: dict
    notes: dict
    num_sentences: int
    num_words: int


def read_sentences(source, problem=None):
    """Returns the first sentences to score heads over, and their constituents.

    The `source` is one of the `SPLITS` of a problem, or the path of a text
    file. Both lists have at most `NUM_SENTENCES` items. Constituents are those
    of `find_smallest_constituents`, or empty tuples if there are no trees.
    """
    if problem:
        pairs = _read_split(problem, source)
    else:
        pairs = ((text, ()) for text in text_files.read_lines(source))
    pairs = (pair for pair in pairs if pair[0].strip())
    pairs = list(itertools.islice(pairs, NUM_SENTENCES))
    if not pairs:
        raise UserError(
            f"{source} has no sentences. Name a split, or a file with one "
            "sentence per line."
        )
    return tuple(map(list, zip(*pairs)))


def _read_split(problem, split):
    sources, references = problem.text_split(split)
    if problem.measure != "f1":
        return ((source, ()) for source in sources)
    path = text_path(problem.directory, split, "target")
    return (
        (source, find_smallest_constituents(parse_tree(tree, path, number)))
        for number, (source, tree) in enumerate(zip(sources, references), 1)
    )


def score_heads(attention, constituents):
    """Returns the `HeadScores` over sentences, and a pair to show.

    In a sentence of n words, `A[i, j]` is the weight from word i to word j. For
    uniform attention it is 1 / n. Each quantity q below is a mean over all
    words i of all sentences, and u is its value for uniform attention.

    - diagonal: `(q - u) / (1 - u)` with `q = A[i, i + offset]`, where that word
      exists, for the offset in -1, 0 and 1 with the highest score.
    - local: `1 - q / u` with `q = sum over j of A[i, j] * |i - j|`, the
      distance in words.
    - sharp: `1 - q / u` with `q = -sum over j of A[i, j] * ln A[i, j]`, the
      entropy in nats.
    - brackets: `(q - u) / (1 - u)`, where q is the share of the weights to
      other words that stays within the smallest constituent around word i that
      has two words or more. The end of a sentence is no word here. Neighbours
      often share a constituent, so a diagonal head scores above 0, too.

    A sentence of a single word counts for nothing.

    Args:
        attention: Iterable of pairs: the words of a sentence, and the attention
            between them, `(num_layers, num_heads, num_words, num_words)`. The
            pair to show is the first of medium length, or the first.
        constituents: For each sentence, the spans `(start, stop)` of the
            smallest constituent of two words or more around each word except
            the end of the sentence; empty without a tree.
    """
    sums, example = 0, None
    num_sentences = num_words = 0
    with Progress("sentences", len(constituents)) as progress:
        for (words, weights), spans in zip(attention, constituents):
            progress.add(1)
            length = len(words)
            if example is None or (
                length in EXAMPLE_WORDS and len(example[0]) not in EXAMPLE_WORDS
            ):
                example = words, weights
            if length > 1:
                num_sentences += 1
                num_words += length
                heads = weights.astype("float64").reshape(-1, length, length)
                # The last head is uniform attention.
                evenly = np.full((1, length, length), 1 / length)
                sums = sums + _sums(np.concatenate([heads, evenly]), spans)
    if not num_sentences:
        raise UserError(
            "There is no sentence of two words or more to score heads on. "
            "Use other sentences."
        )
    *neighbours, distances, entropies, inside, others = sums
    # Words that have the neighbour
    ends = num_words - num_sentences
    diagonals = np.stack(
        [
            (q - q[-1]) / (possible - q[-1])
            for q, possible in zip(neighbours, (ends, num_words, ends))
        ]
    )  # (neighbour, head)
    values = {
        "diagonal": diagonals.max(axis=0),
        "local": 1 - distances / distances[-1],
        "sharp": 1 - entropies / entropies[-1],
    }
    if inside[-1] < others[-1]:
        # A head that attends to no other word has no share.
        share = inside / np.maximum(others, TINY)
        values["brackets"] = (share - share[-1]) / (1 - share[-1])
    notes = {
        "diagonal": np.take(NEIGHBOURS, diagonals.argmax(axis=0)),
        "local": np.array([f"{d / num_words:.1f} words" for d in distances]),
    }
    values, notes = (
        {name: x[:-1].reshape(weights.shape[:2]) for name, x in each.items()}
        for each in (values, notes)
    )
    return HeadScores(values, notes, num_sentences, num_words), example


def entropy(weights):
    """Returns the entropy of each row of `(..., queries, keys)`, in nats."""
    # 0 * ln 0 counts as 0.
    logarithms = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    return -(weights * logarithms).sum(axis=-1)


def _sums(weights, constituents):
    """Returns the sums of all quantities of heads over a sentence, by rows."""
    places = np.arange(weights.shape[-1])
    distances = np.abs(places[:, None] - places)
    is_inside = np.zeros(distances.shape, bool)
    for word, (start, stop) in enumerate(constituents):
        is_inside[word, start:stop] = True
    # The end of the sentence, which no constituent holds, is not counted.
    is_word = places < len(constituents)
    is_counted = is_word & is_word[:, None] & (distances > 0)
    factors = [
        *(places == places[:, None] + offset for offset in (-1, 0, 1)),
        distances,
        is_inside & is_counted,
        is_counted,
    ]
    sums = [(weights * factor).sum(axis=(-2, -1)) for factor in factors]
    sums.insert(-2, entropy(weights).sum(axis=-1))
    return np.stack(sums)
