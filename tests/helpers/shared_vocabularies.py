"""Vocabularies that the tests of a process train once for the same texts.

SentencePiece takes a fifth of a second for each, and many tests use the same.
"""

import functools
import pathlib

from keras_transformer.data.vocabulary import subwords


def share_vocabularies(patch):
    """Makes `train_model` return what it has trained before.

    Args:
        patch: A `pytest.MonkeyPatch`.
    """
    train, models = subwords.train_model, {}

    @functools.wraps(train)
    def train_once(texts, vocab_size, **options):
        # The files of rules are temporary, so their contents are compared.
        contents = [
            pathlib.Path(value).read_bytes() if name.endswith("_tsv") else value
            for name, value in options.items()
        ]
        key = tuple(texts), vocab_size, repr([*options, *contents])
        if key not in models:
            models[key] = train(texts, vocab_size, **options)
        return models[key]

    patch.setattr(subwords, "train_model", train_once)
