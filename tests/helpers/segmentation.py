"""BPE-dropout by enumeration, to compare samples with."""

import collections

from sentencepiece import sentencepiece_model_pb2

WORDS = "low lower lowest new newer newest wide wider widest".split()


def segmentation_probabilities(vocabulary, word, dropout):
    """Returns the probability of each segmentation of a word.

    It follows Algorithm 1 of Provilkov et al. (2020) through all states.

    Returns:
        Dictionary of tuple of pieces to probability.
    """
    model = sentencepiece_model_pb2.ModelProto.FromString(
        vocabulary.model_bytes
    )
    scores = {p.piece: p.score for p in model.pieces if p.type == p.NORMAL}
    probabilities = collections.Counter()

    def visit(pieces, probability):
        merges = [
            (-scores[left + right], number)
            for number, (left, right) in enumerate(zip(pieces, pieces[1:]))
            if left + right in scores
        ]
        for _, number in sorted(merges):
            merged = "".join(pieces[number : number + 2])
            visit(
                (*pieces[:number], merged, *pieces[number + 2 :]),
                probability * (1 - dropout),
            )
            probability *= dropout
        probabilities[pieces] += probability

    visit(tuple("\N{LOWER ONE EIGHTH BLOCK}" + word), 1.0)
    return probabilities
