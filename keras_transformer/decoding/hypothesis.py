"""Hypotheses: translations with their scores and ids."""

import typing

from keras_transformer.token_ids import END_ID


class Hypothesis(typing.NamedTuple):
    """A translation with its score and, if known, its ids with the end id.

    The score is None where `unscored_hypotheses` saved the time.
    """

    text: str
    score: float
    ids: list = ()


def with_texts(rows, vocabulary):
    """Returns hypotheses with the texts of their ids.

    Args:
        rows: List of lists of `Hypothesis`.
        vocabulary: The `Subwords` of the targets.
    """
    # One call for all, because each call starts threads of its own.
    texts = iter(vocabulary.decode([one.ids for row in rows for one in row]))
    # A model can spell a line feed in bytes, but a translation must remain one
    # line.
    return [
        [one._replace(text=next(texts).replace("\n", " ")) for one in row]
        for row in rows
    ]


def hypotheses_of(sequences, scores):
    """Returns the hypotheses of each sentence of a batch, without texts.

    Args:
        sequences: Ids of shape `(batch, num_hypotheses, length)`.
        scores: Array of shape `(batch, num_hypotheses)`.

    Returns:
        List of lists of `Hypothesis`.
    """
    # A score of -inf fills the place of a hypothesis that does not exist.
    return [
        [
            Hypothesis("", score, _until_end(sequence))
            for sequence, score in zip(*row)
            if score > float("-inf")
        ]
        for row in zip(sequences, scores.tolist())
    ]


def _until_end(sequence):
    ids = sequence.tolist()
    return ids[: ids.index(END_ID) + 1] if END_ID in ids else ids
