"""Translations that a model finds for a batch, and scores of existing ones."""

import keras
from keras import ops

from keras_transformer.search.beam_search import beam_search
from keras_transformer.search.beam_search import length_penalty
from keras_transformer.search.beams import JointState
from keras_transformer.search.beams import make_sampler
from keras_transformer.search.lexical_constraint import constrain_to_terms
from keras_transformer.token_ids import NEVER_WRITTEN
from keras_transformer.token_ids import PAD_ID

# Number of positions whose logits are scored at once. TensorFlow may hold up to
# ten such chunks, the default of its loops.
CHUNK_ROWS = 256


def find_hypotheses(
    model,
    options,
    inputs,
    limits,
    prefixes=None,
    seeds=None,
    terms=None,
    fixed_length=None,
    *,
    vocabulary=None,
    constraint=None,
    observe=None,
    neighbours=None,
):
    """Finds the translations of a batch of encoded sentences.

    This is a function of tensors, to be compiled or exported by its caller. The
    model is a built `Transformer` or an `Ensemble`, the options a
    `DecodeOptions`, and `inputs` are source ids, int32 of shape `(batch,
    input_len)`, padded with 0. Samples need `seeds`, int32 of shape `(batch,)`.
    `terms` are as in `LexicalConstraint`, and need the `vocabulary` of the
    targets. A `TreeConstraint` raises limits that are too small for a tree, but
    not `fixed_length`, and it takes no prefixes. The `Neighbours` of a single
    model are consulted at each step. Everything else is as in `beam_search`,
    also the `Finished` that is returned.
    """
    # A constraint excludes these ids itself, and may give one a meaning.
    forbidden = () if constraint else NEVER_WRITTEN
    beam_size = options.num_beams
    sampler = options.temperature and make_sampler(options, seeds, forbidden)
    lexical = terms is not None and constrain_to_terms(terms, vocabulary)
    encoded, padding_mask = model.encode(inputs)
    with _cast_weights_once(model):
        step = model.decode_step
        state = model.init_cache(encoded, padding_mask, beam_size, fixed_length)
        if constraint:
            limits = constraint.raise_limits(limits, inputs)
            trees = constraint.begin(inputs, limits, beam_size)
            step, state = _constrain_step(step, state, constraint, trees)
        elif neighbours:
            step, state = _consult_neighbours(step, state, neighbours)
        hypotheses = beam_search(
            step,
            state,
            beam_size,
            limits,
            options.alpha,
            num_hypotheses=options.num_hypotheses,
            min_length=options.min_length,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            prefixes=prefixes,
            sampler=sampler,
            forbidden=forbidden,
            fixed_length=fixed_length,
            lexical=lexical,
            observe=observe,
        )
    if not constraint:
        return hypotheses
    sequences = constraint.insert_pieces(hypotheses.sequences, inputs)
    return hypotheses._replace(sequences=sequences)


def score_targets(model, inputs, targets, alpha):
    """Scores existing translations as the search would have scored them.

    `inputs`, `(batch, input_len)`, and `targets` with their end ids, `(batch,
    target_len)`, are int32 and padded with 0. A 0 before another id of
    `targets` counts as an id. Returns float32 of shape `(batch,)`: the
    log-probability divided by `((5 + length) / 6) ** alpha`.
    """
    states = model.decode({"inputs": inputs, "targets": targets})
    with _cast_weights_once(model):
        log_probs = _compute_log_probs(model, states, targets)
    real = ops.cast(ops.not_equal(targets, PAD_ID), "int32")
    # A hypothesis may hold a 0 as an ordinary id. A 0 is padding only if no
    # other id follows it.
    # The number of real ids from each position to the end.
    remaining = ops.flip(ops.cumsum(ops.flip(real, -1), axis=-1), -1)
    is_real = ops.cast(remaining > 0, "float32")  # (batch, target_len)
    penalty = length_penalty(ops.sum(is_real, axis=-1), alpha)
    return ops.sum(log_probs * is_real, axis=-1) / penalty


def _compute_log_probs(model, states, ids):
    """Computes the log-probability of the id at each position."""
    # The positions are computed in chunks, so that the logits of all of them
    # are never in memory at once. The result has the shape of `ids`.
    shape = ops.shape(ids)
    num_positions = shape[0] * shape[1]
    num_chunks = num_positions // CHUNK_ROWS + 1
    missing = -num_positions % num_chunks

    def split(x):
        x = ops.reshape(x, (num_positions, *x.shape[2:]))
        widths = [[0, missing]] + [[0, 0]] * (len(x.shape) - 1)
        x = ops.pad(x, widths)  # (num_chunks x rows, ...)
        # One row for each chunk: (num_chunks, 1, rows, ...)
        return ops.reshape(x, (num_chunks, 1, -1, *x.shape[1:]))

    def compute_chunk(chunk):
        states, ids = chunk
        logits = ops.cast(model.logits(states), "float32")
        selected = ops.take_along_axis(
            logits, ids[:, :, None], axis=-1
        )  # (1, rows, 1)
        return selected[:, :, 0] - ops.logsumexp(logits, axis=-1)

    chunks = keras.tree.map_structure(split, (states, ids))
    log_probs = ops.map(compute_chunk, chunks)  # (num_chunks, 1, rows)
    return ops.reshape(ops.ravel(log_probs)[:num_positions], shape)


def _constrain_step(step, state, constraint, trees):
    """Returns the step function and the state that have a `TreeState`, too."""

    def step_within_trees(ids, position, state):
        cache, tree_state = state.parts
        # The model reads the pieces of the words, the constraint only symbols.
        pieces = constraint.insert_next_piece(ids, tree_state)
        logits, cache = step(pieces, position, cache, constraint.num_logits)
        tree_state = constraint.advance(tree_state, ids)
        logits = constraint.exclude_illegal(logits, tree_state)
        return logits, JointState((cache, tree_state))

    return step_within_trees, JointState((state, trees))


def _consult_neighbours(step, state, neighbours):
    """Returns the step function and the state that have `Neighbours`, too."""

    def step_near(ids, position, state):
        cache, neighbours = state.parts
        logits, cache = step(ids, position, cache, adjust=neighbours.add_to)
        return logits, JointState((cache, neighbours))

    return step_near, JointState((state, neighbours))


def _cast_weights_once(model):
    """Returns a scope where matrices have the precision of their products."""
    # Keras casts weights in `__call__` only, and steps run outside it. Without
    # this scope, each step would cast all matrices again.
    scope = keras.StatelessScope()
    for variable in model.variables:
        value = variable.value
        # Vectors are too small to matter, and stay as they are.
        if len(value.shape) == 2:
            value = ops.cast(value, model.compute_dtype)
        # A mapping given to the scope's constructor would be cast back to the
        # variable's precision.
        scope.add_update((variable, value))
    return scope
