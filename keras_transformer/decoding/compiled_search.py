"""Beam search with a model, compiled as a whole on TensorFlow and on JAX."""

import functools

import keras
import numpy as np
from keras import ops

from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.hypotheses import score_targets
from keras_transformer.search.tree_constraint import make_constraint

LENGTH_STEP = 16  # lengths on JAX are rounded up to multiples of it


def compile_search(model, options, vocabulary=None):
    """Makes a function that translates batches with a model.

    It follows the model's weights: a model in training can be translated with
    again and again. TensorFlow compiles it once for all shapes. JAX compiles it
    for each shape; there batches are filled up to few shapes, with positions
    and rows of padding, which changes no result.

    Args:
        model: a built `Transformer`.
        options: a `DecodeOptions`.
        vocabulary: the model's `Subwords`; one of trees has only trees found,
            see `make_constraint`.

    Returns:
        function of the source ids, int32 `(batch, input_len)`, the greatest
        lengths of the translations, int32 `(batch,)`, and where given the ids
        that they begin with, int32 `(batch, prefix_len)`, filled up with 0, and
        a random number for each to draw samples with, int32 `(batch,)`. It
        returns the ids of the translations, `(batch, num_hypotheses, length)`,
        filled up with 0, and their scores `(batch, num_hypotheses)`, NumPy
        arrays.
    """
    constraint = make_constraint(options, vocabulary)

    def search(inputs, limits, prefixes, seeds, fixed_length=None):
        return find_hypotheses(
            model,
            inputs,
            limits,
            options,
            prefixes,
            seeds,
            fixed_length,
            constraint,
        )

    backend = keras.backend.backend()
    if backend == "tensorflow":
        search = _compiled_by_tensorflow(search, [2, 1, 2, 1])
    elif backend == "jax":
        search = _compiled_by_jax(search, model)

    def to_arrays(inputs, limits, prefixes=None, seeds=None):
        batch = len(inputs)
        if prefixes is not None and constraint:
            raise ValueError(
                "`prefixes` must not be given where the output is a tree. "
                "Received: some. Leave them out, or use constrained=false."
            )
        if prefixes is None:
            prefixes = np.zeros((batch, 0), "int32")
        if seeds is None:
            seeds = np.zeros(batch, "int32")
        found = search(inputs, limits, prefixes, seeds)
        return tuple(map(ops.convert_to_numpy, found))

    return to_arrays


def compile_scoring(model, alpha):
    """Makes a function that scores batches of given translations.

    Args:
        model: a built `Transformer`.
        alpha: exponent of the length penalty.

    Returns:
        function of the source ids, int32 `(batch, input_len)`, and those of the
        translations with their ends, int32 `(batch, target_len)`. It returns
        the scores that the search gives them, a NumPy array `(batch,)`.
    """

    def score(inputs, targets):
        return score_targets(model, inputs, targets, alpha)

    backend = keras.backend.backend()
    if backend == "tensorflow":
        score = _compiled_by_tensorflow(score, [2, 2])
    elif backend == "jax":
        score = _scoring_compiled_by_jax(score, model)
    return lambda *pair: ops.convert_to_numpy(score(*pair))


def fitting_rows(rows):
    """How many rows to decode together where at most `rows` fit."""
    if keras.backend.backend() != "jax":
        return max(1, rows)
    return 1 << max(1, rows).bit_length() - 1  # a power of two


def _compiled_by_tensorflow(function, ranks):
    import tensorflow as tf

    signature = [tf.TensorSpec([None] * rank, tf.int32) for rank in ranks]
    return tf.function(function, input_signature=signature, autograph=False)


def _compiled_by_jax(search, model):
    run = _jitted(search, model)

    def search_filled_up(inputs, limits, prefixes, seeds):
        batch, input_len = inputs.shape
        missing = _missing_rows(batch)
        positions = _rounded(input_len)
        limit = max(int(limits.max()), input_len + 2)  # as trees may need
        sequences, scores = run(
            _filled_up(inputs, missing, positions),
            np.pad(limits, (0, missing), constant_values=1),
            _filled_up(prefixes, missing, _rounded(prefixes.shape[1])),
            np.pad(seeds, (0, missing)),
            fixed_length=_rounded(positions + limit - input_len),
        )
        return sequences[:batch], scores[:batch]

    return search_filled_up


def _scoring_compiled_by_jax(score, model):
    run = _jitted(score, model)

    def score_filled_up(*pair):
        batch = len(pair[0])
        missing = _missing_rows(batch)
        return run(
            *(_filled_up(ids, missing, _rounded(ids.shape[1])) for ids in pair)
        )[:batch]

    return score_filled_up


def _jitted(function, model):
    """Compiles a function that reads the model's weights, which may change."""
    import jax

    @functools.partial(jax.jit, static_argnames="fixed_length")
    def run(values, *arrays, **static):
        mapping = list(zip(model.variables, values))
        with keras.StatelessScope(state_mapping=mapping):
            return function(*arrays, **static)

    return lambda *arrays, **static: run(
        [variable.value for variable in model.variables], *arrays, **static
    )


def _missing_rows(batch):
    """What a batch lacks to a power of two."""
    return (1 << (batch - 1).bit_length()) - batch


def _filled_up(ids, missing, length):
    return np.pad(ids, [(0, missing), (0, length - ids.shape[1])])


def _rounded(length):
    return -(-length // LENGTH_STEP) * LENGTH_STEP
