"""Vocabularies that the tests of a process train once for the same texts.

SentencePiece takes a fifth of a second for each, and many tests use the same.
"""

import functools

from keras_transformer.data.vocabulary import subwords


def share_vocabularies(patch):
    """Makes `train_subwords` write what it has trained before.

    Args:
        patch: A `pytest.MonkeyPatch`.
    """
    patch.setattr(subwords, "_train", functools.cache(subwords._train))
