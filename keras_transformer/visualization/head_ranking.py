"""Scores the heads of a run over the sentences of a split or a file."""

import itertools

from keras_transformer.data.generation.token_arrays import text_path
from keras_transformer.data.text import text_files
from keras_transformer.errors import UserError
from keras_transformer.files.progress import Progress
from keras_transformer.parsing.tree import find_smallest_constituents
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.visualization.head_scores import HeadScorer

SPLITS = ("dev", "test")
NUM_SENTENCES = 200
EXAMPLE_WORDS = range(8, 17)  # so that a picture is neither empty nor crowded


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

    `attention` yields pairs, the words of a sentence and the array of the
    attention between them. The pair to show is of medium length, or the first.
    """
    scorer, example = HeadScorer(), None
    with Progress("sentences", len(constituents)) as progress:
        for (words, weights), spans in zip(attention, constituents):
            scorer.add(weights, spans)
            progress.add(1)
            if example is None or (
                len(words) in EXAMPLE_WORDS
                and len(example[0]) not in EXAMPLE_WORDS
            ):
                example = words, weights
    return scorer.scores(), example
