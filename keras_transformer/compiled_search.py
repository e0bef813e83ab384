"""Beam search with a model, compiled as a whole on TensorFlow and on JAX."""

import functools

import keras
import numpy as np
from keras import ops

from keras_transformer.beam_search import beam_search
from keras_transformer.data.subwords import END_ID

LENGTH_STEP = 16  # lengths on JAX are rounded up to multiples of it


def compile_search(model, beam_size, alpha):
    """Makes a function that translates batches with a model.

    It follows the model's weights: a model in training can be translated with
    again and again. TensorFlow compiles it once for all shapes. JAX compiles it
    for each shape; there batches are filled up to few shapes, with positions
    and rows of padding, which changes no result.

    Args:
        model: a built `Transformer`.
        beam_size: hypotheses kept.
        alpha: exponent of the length penalty.

    Returns:
        function of the source ids, int32 `(batch, input_len)`, and the greatest
        lengths of the translations, int32 `(batch,)`. It returns the ids of
        the best translations, `(batch, length)`, filled up with 0, and their
        scores `(batch,)`, both NumPy arrays.
    """

    def search(inputs, limits, num_steps=None):
        return _best_hypotheses(
            model, inputs, limits, num_steps, beam_size, alpha
        )

    backend = keras.backend.backend()
    if backend == "tensorflow":
        search = _compiled_by_tensorflow(search)
    elif backend == "jax":
        search = _compiled_by_jax(search, model)

    def to_arrays(inputs, limits):
        return tuple(map(ops.convert_to_numpy, search(inputs, limits)))

    return to_arrays


def fitting_rows(rows):
    """How many rows to decode together where at most `rows` fit."""
    if keras.backend.backend() != "jax":
        return max(1, rows)
    return 1 << max(1, rows).bit_length() - 1  # a power of two


def _best_hypotheses(model, inputs, limits, num_steps, beam_size, alpha):
    if num_steps is None:
        num_steps = ops.max(limits)
    encoded, padding_mask = model.encode(inputs)
    cache = model.init_cache(encoded, padding_mask, beam_size, num_steps)

    def step(ids, position, own):
        logits, updated = model.decode_step(
            ids, position, {**cache, "self": own}
        )
        return logits, updated["self"]

    sequences, scores = beam_search(
        step,
        cache["self"],
        beam_size,
        limits,
        alpha,
        END_ID,
        num_hypotheses=1,
        max_length=num_steps,
    )
    return sequences[:, 0], scores[:, 0]  # (batch, length), (batch,)


def _compiled_by_tensorflow(search):
    import tensorflow as tf

    signature = [
        tf.TensorSpec([None, None], tf.int32),
        tf.TensorSpec([None], tf.int32),
    ]
    return tf.function(search, input_signature=signature, autograph=False)


def _compiled_by_jax(search, model):
    import jax

    @functools.partial(jax.jit, static_argnames="num_steps")
    def run(values, inputs, limits, num_steps):
        mapping = list(zip(model.variables, values))
        with keras.StatelessScope(state_mapping=mapping):
            return search(inputs, limits, num_steps)

    def search_filled_up(inputs, limits):
        batch, input_len = inputs.shape
        rows = 1 << (batch - 1).bit_length()  # a power of two
        positions = _rounded(input_len)
        num_steps = _rounded(positions + int(limits.max()) - input_len)
        widths = [(0, rows - batch), (0, positions - input_len)]
        values = [variable.value for variable in model.variables]
        sequences, scores = run(
            values,
            np.pad(inputs, widths),
            np.pad(limits, widths[0], constant_values=1),
            num_steps,
        )
        return sequences[:batch], scores[:batch]

    return search_filled_up


def _rounded(length):
    return -(-length // LENGTH_STEP) * LENGTH_STEP
