"""Functions that search or score, compiled as a whole by the backend."""

import functools

import keras
import numpy as np
from keras import ops

from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.hypotheses import score_targets
from keras_transformer.search.lexical_constraint import LexicalConstraint
from keras_transformer.search.lexical_constraint import find_word_boundaries
from keras_transformer.search.tree_constraint import make_constraint

# JAX compiles a program for each shape, which takes seconds. Lengths are
# therefore rounded up to multiples of this number.
LENGTH_STEP = 16
TERM_STEP = 4  # the same for the lengths of terms


def compile_search(model, options, vocabulary=None, source_vocabulary=None):
    """Makes a function that translates batches with a model.

    The function reads the current weights of the model, so it can follow a
    model through its training. TensorFlow compiles it once for all shapes. JAX
    compiles it for each shape, so batches are padded to a few shapes there,
    which changes no result.

    Args:
        model: A built `Transformer` or an `Ensemble`.
        options: A `DecodeOptions`.
        vocabulary: The `Subwords` of the targets. If it has the symbols of
            trees, the search is constrained to trees; see `make_constraint`.
            Defaults to None.
        source_vocabulary: The `Subwords` of the sources. Defaults to None,
            which means `vocabulary`.

    Returns:
        A function of NumPy arrays:
        - `inputs`, the source ids, int32 of shape `(batch, input_len)`;
        - `limits`, the greatest lengths of the translations, int32 of shape
          `(batch,)`;
        - optionally `prefixes`, the ids that the translations begin with,
          int32 of shape `(batch, prefix_len)`, padded with 0;
        - optionally `seeds`, the seeds of the sampler, int32 of shape
          `(batch,)`;
        - optionally `terms`, the ids of terms that the translations must hold,
          int32 of shape `(batch, num_terms, term_len)`, padded with 0.

        It returns the ids of the translations, an array of shape
        `(batch, num_hypotheses, length)` padded with 0, and their scores, an
        array of shape `(batch, num_hypotheses)`.
    """
    constraint = make_constraint(options, vocabulary, source_vocabulary)

    def search(inputs, limits, prefixes, seeds, terms=None, fixed_length=None):
        lexical = None
        if terms is not None:
            lexical = LexicalConstraint(
                terms, *find_word_boundaries(vocabulary)
            )
        return find_hypotheses(
            model,
            inputs,
            limits,
            options,
            prefixes,
            seeds,
            fixed_length,
            constraint,
            lexical,
        )

    backend = keras.backend.backend()
    search_with_terms = search
    if backend == "tensorflow":
        # The ranks of inputs, limits, prefixes, seeds and terms.
        search_with_terms = _compiled_by_tensorflow(search, [2, 1, 2, 1, 3])
        search = _compiled_by_tensorflow(search, [2, 1, 2, 1])
    elif backend == "jax":
        search_with_terms = search = _compiled_by_jax(search, model)

    def search_arrays(inputs, limits, prefixes=None, seeds=None, terms=None):
        batch = len(inputs)
        if prefixes is not None and constraint:
            raise ValueError(
                "`prefixes` must be None if the output is a tree. Received: "
                "prefixes. Leave them out, or use constrained=false."
            )
        # With these stand-ins, one compiled function serves all calls.
        if prefixes is None:
            prefixes = np.zeros((batch, 0), "int32")
        if seeds is None:
            seeds = np.zeros(batch, "int32")
        arrays = (inputs, limits, prefixes, seeds)
        if terms is None:
            finished = search(*arrays)
        else:
            finished = search_with_terms(*arrays, terms)
        return tuple(map(ops.convert_to_numpy, finished))

    return search_arrays


def compile_scoring(model, alpha):
    """Makes a function that scores batches of translations.

    Args:
        model: A built `Transformer` or an `Ensemble`.
        alpha: Float, exponent of the length penalty.

    Returns:
        A function of the source ids, int32 of shape `(batch, input_len)`, and
        the ids of the translations with the end id, int32 of shape
        `(batch, target_len)`. It returns the scores that the search would give
        them, a NumPy array of shape `(batch,)`.
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
    """Returns how many rows to decode together if at most `rows` fit."""
    if keras.backend.backend() != "jax":
        return max(1, rows)
    # On JAX a batch is padded to a power of 2, so any other size wastes rows.
    return 1 << max(1, rows).bit_length() - 1  # greatest power of 2


def _compiled_by_tensorflow(function, ranks):
    import tensorflow as tf

    # Without sizes in the signature, one trace serves all shapes.
    signature = [tf.TensorSpec([None] * rank, tf.int32) for rank in ranks]
    return tf.function(function, input_signature=signature, autograph=False)


def _compiled_by_jax(search, model):
    run = _jitted(search, model)

    def search_padded(inputs, limits, prefixes, seeds, terms=None):
        batch, input_len = inputs.shape
        missing = _missing_rows(batch)
        positions = _rounded_up(input_len)
        # The tree constraint raises limits that are too small for a tree.
        limit = max(int(limits.max()), input_len + 2)
        sequences, scores = run(
            _pad(inputs, missing, positions),
            # A limit of 1 ends the rows of padding at the first step.
            np.pad(limits, (0, missing), constant_values=1),
            _pad(prefixes, missing, _rounded_up(prefixes.shape[1])),
            np.pad(seeds, (0, missing)),
            None if terms is None else _pad_terms(terms, missing),
            fixed_length=_rounded_up(positions + limit - input_len),
        )
        # (batch, num_hypotheses, length), (batch, num_hypotheses)
        return sequences[:batch], scores[:batch]

    return search_padded


def _scoring_compiled_by_jax(score, model):
    run = _jitted(score, model)

    def score_padded(*pair):
        batch = len(pair[0])
        missing = _missing_rows(batch)
        return run(
            *(_pad(ids, missing, _rounded_up(ids.shape[1])) for ids in pair)
        )[:batch]

    return score_padded


def _jitted(function, model):
    """Compiles a function that takes the model's weights at each call."""
    import jax

    # The weights are arguments, because jax.jit would make constants of the
    # variables that a function reads. A length must be known when JAX compiles.
    @functools.partial(jax.jit, static_argnames="fixed_length")
    def run(values, *arrays, **static):
        mapping = list(zip(model.variables, values))
        with keras.StatelessScope(state_mapping=mapping):
            return function(*arrays, **static)

    return lambda *arrays, **static: run(
        [variable.value for variable in model.variables], *arrays, **static
    )


def _missing_rows(batch):
    """Returns how many rows fill a batch up to the next power of two.

    Batches then have few sizes, and JAX compiles few programs.
    """
    return (1 << (batch - 1).bit_length()) - batch


def _pad(ids, missing, length):
    return np.pad(ids, [(0, missing), (0, length - ids.shape[1])])


def _pad_terms(terms, missing):
    _, num_terms, term_len = terms.shape
    missing_ids = _rounded_up(term_len, TERM_STEP) - term_len
    widths = (missing, _missing_rows(num_terms), missing_ids)
    return np.pad(terms, [(0, width) for width in widths])


def _rounded_up(length, step=LENGTH_STEP):
    return -(-length // step) * step
