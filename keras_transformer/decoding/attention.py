"""The attention weights that a model uses for a pair of sentences."""

from typing import NamedTuple

import numpy as np

from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

START = "(start)"
END = "(end)"


class Attention(NamedTuple):
    """All attention weights of one sentence and its translation.

    Each array holds, for every layer and head, a row for each query, the
    position that attends, and a column for each key, the position that is
    attended to; a row sums to 1.

    The queries of `decoder` and `cross` are the positions that predict the
    `target_tokens`. The decoder reads its targets shifted right by one, a zero
    vector first: what predicts a token has not seen it. So the keys of
    `decoder` are `decoder_keys`: "(start)", then all target tokens but the
    last.
    """

    source_tokens: list  # of str, "(end)" last
    target_tokens: list  # of str, "(end)" last if the translation ended
    encoder: np.ndarray  # (num_layers, num_heads, source_len, source_len)
    decoder: np.ndarray  # (num_layers, num_heads, target_len, target_len)
    cross: np.ndarray  # (num_layers, num_heads, target_len, source_len)

    @property
    def decoder_keys(self):
        """What the decoder reads, position by position."""
        return [START, *self.target_tokens[:-1]]

    def of(self, kind):
        """Returns the labels of queries and keys, and the weights.

        Args:
            kind: "encoder", "decoder" or "cross".

        Returns:
            two lists of str, and the array
            `(num_layers, num_heads, query_len, key_len)`.
        """
        return {
            "encoder": (self.source_tokens, self.source_tokens, self.encoder),
            "decoder": (self.target_tokens, self.decoder_keys, self.decoder),
            "cross": (self.target_tokens, self.source_tokens, self.cross),
        }[kind]


def attention_of(model, vocabulary, source_ids, target_ids):
    """Runs a model on a pair of sentences and returns its attention weights.

    The target is forced: the model predicts each of its tokens from those
    before it, whether or not it would have chosen them.

    Args:
        model: a `Transformer`.
        vocabulary: its `Subwords`.
        source_ids, target_ids: lists of ids, with the end id; zeros after it
            are left out.

    Returns:
        an `Attention`.

    Raises:
        ValueError: if one of the two is empty.
    """
    from keras import ops

    pair = [_without_padding(ids) for ids in (source_ids, target_ids)]
    for name, ids in zip(("source_ids", "target_ids"), pair):
        if not ids:
            raise ValueError(
                f"`{name}` must hold a token. Received: an empty list. Encode "
                "the text with `Subwords.encode`, which adds the end."
            )
    inputs, targets = (np.array([ids], "int32") for ids in pair)
    _, weights = model(
        {"inputs": inputs, "targets": targets},
        return_weights=True,
        training=False,
    )
    arrays = {
        kind: np.stack([ops.convert_to_numpy(layer)[0] for layer in layers])
        for kind, layers in weights.items()
    }
    tokens = [_labels(vocabulary, ids) for ids in pair]
    return Attention(*tokens, **arrays)


def _without_padding(ids):
    ids = [int(id_) for id_ in ids]
    while ids and ids[-1] == PAD_ID:
        ids.pop()
    return ids


def _labels(vocabulary, ids):
    return [
        END if id_ == END_ID else piece
        for id_, piece in zip(ids, vocabulary.pieces(ids))
    ]
