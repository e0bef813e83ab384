"""Vocabularies that the tests of a process train once for the same texts.

SentencePiece takes a fifth of a second for each, and many tests use the same.
"""

import functools

from keras_transformer.data import subwords


def share_vocabularies(patch):
    """Makes `train_subwords` write what it has trained before.

    Args:
        patch: A `pytest.MonkeyPatch`.
    """
    train, trained = subwords._train, {}

    @functools.wraps(train)
    def train_once(model, texts, vocab_size, symbols, user_symbols, rules):
        symbols, user_symbols = tuple(symbols), tuple(user_symbols)
        # Whether the rules are for wide punctuation follows from the texts.
        key = (tuple(texts), vocab_size, symbols, user_symbols, *rules)
        if key not in trained:
            train(model, texts, vocab_size, symbols, user_symbols, rules)
            trained[key] = model.getvalue()
        else:
            model.write(trained[key])

    patch.setattr(subwords, "_train", train_once)
