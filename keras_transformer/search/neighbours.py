"""Translations of similar sentences, which a search consults at each step.

The search is at a state of the decoder, and so is each token of a translation
that exists. The more alike two states are, the likelier is the token that
followed one of them to follow the other. This is the nearest-neighbour machine
translation of Khandelwal et al. (2021), but the tokens share no fixed weight:
where all states are far away, the model alone decides.

On documents of software text, these values were the best of six. Translations
that were three times as far away as here gave worse text than none.
"""

import typing

from keras import ops

from keras_transformer.token_ids import PAD_ID

# The squared distance at which a weight falls to 1 / e, as a share of the mean
# squared length of the states.
TEMPERATURE = 0.05
WEIGHT = 20.0  # of a token at the very state; the model has the weight 1
_MIN_PROBABILITY = 1e-30  # has a logarithm


class Neighbours(typing.NamedTuple):
    """States of existing translations, and the token after each.

    They are a part of the state of a search, in which all beams share them.
    """

    keys: typing.Any  # float32 (batch, number, d_model)
    ids: typing.Any  # int32 (batch, number), padded with 0

    def reorder(self, beams):
        return self

    def add_to(self, logits, states):
        """Returns logits that favour the tokens after similar states.

        `states`, `(batch, beam, d_model)`, are what the model projected to
        `logits`, `(batch, beam, vocab_size)`.
        """
        states = ops.cast(states, "float32")
        is_real = ops.cast(ops.not_equal(self.ids, PAD_ID), "float32")
        squares = ops.sum(ops.square(self.keys), axis=-1)  # (batch, number)
        mean = ops.sum(squares * is_real, axis=-1) / ops.maximum(
            ops.sum(is_real, axis=-1), 1.0
        )  # (batch,)
        distances = (
            ops.sum(ops.square(states), axis=-1)[:, :, None]
            - 2.0 * ops.matmul(states, ops.swapaxes(self.keys, 1, 2))
            + squares[:, None]
        )  # (batch, beam, number)
        scale = TEMPERATURE * ops.maximum(mean, 1.0)[:, None, None]
        weights = ops.exp(-ops.maximum(distances, 0.0) / scale)
        weights = WEIGHT * weights * is_real[:, None]
        batch, beam, vocab_size = ops.shape(logits)
        rows = ops.reshape(
            ops.arange(batch * beam, dtype="int32"), (batch, beam, 1)
        )
        ids = ops.cast(self.ids, "int32")[:, None]
        # Each id of each row is a place of the flat logits.
        places = ops.cast(rows, "int32") * vocab_size + ids
        added = ops.segment_sum(
            ops.reshape(weights, (-1,)),
            ops.reshape(places, (-1,)),
            batch * beam * vocab_size,
        )
        probabilities = ops.softmax(ops.cast(logits, "float32"), axis=-1)
        probabilities += ops.reshape(added, ops.shape(logits))
        return ops.log(ops.maximum(probabilities, _MIN_PROBABILITY))
