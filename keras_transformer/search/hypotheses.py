"""What a model finds for a batch of sources: by beam search or by sampling.

Functions of tensors on `keras.ops`, for `compiled_search` and for exports.
"""

import keras
from keras import ops

from keras_transformer.search.beam_search import beam_search
from keras_transformer.search.beam_search import gather_beams
from keras_transformer.search.sampling import make_sampler
from keras_transformer.token_ids import END_ID


def find_hypotheses(
    model,
    inputs,
    limits,
    options,
    prefixes=None,
    keys=None,
    num_steps=None,
    constraint=None,
):
    """Finds the translations of a batch of encoded sentences.

    Args:
        model: a built `Transformer`.
        inputs: source ids, int32 `(batch, input_len)`, filled up with 0.
        limits: greatest lengths of the translations with their ends, int32
            `(batch,)`.
        options: a `DecodeOptions`.
        prefixes: ids that the translations begin with, int32 `(batch,
            prefix_len)`, filled up with 0; shorter than the limits.
        keys: a random number for each sentence, int32 `(batch,)`, where the
            options ask for samples.
        num_steps: the length of the result. By default it is the largest
            limit, caches grow with each step and sentences that are done leave
            the batch; `jax.jit`, whose shapes are fixed, needs a number.
        constraint: a `TreeConstraint` where only trees over the words of the
            sentences may be found, without `prefixes`. Limits are raised to
            what a tree takes at least, `num_steps` is not.

    Returns:
        `Finished`: ids `(batch, num_hypotheses, length)`, int32, each ending in
        the end id and filled up with 0, and scores `(batch, num_hypotheses)`,
        best first.
    """
    sampling = options.temperature > 0
    beam_size = options.num_hypotheses if sampling else options.beam_size
    growing = num_steps is None
    sampler = make_sampler(options, keys) if sampling else None
    encoded, padding_mask = model.encode(inputs)
    with _weights_cast_once(model):
        num_logits = constraint.num_logits if constraint else None

        def step(ids, position, cache):
            return model.decode_step(ids, position, cache, growing, num_logits)

        reorder = model.reorder_cache
        state = model.init_cache(encoded, padding_mask, beam_size, num_steps)
        if constraint:
            limits = constraint.raised_limits(limits, inputs)
            state = state, constraint.begin(inputs, limits, beam_size)
            step, reorder = _constrained(step, reorder, constraint)
        found = beam_search(
            step,
            state,
            beam_size,
            limits,
            options.alpha,
            END_ID,
            num_hypotheses=options.num_hypotheses,
            max_length=num_steps,
            min_length=options.min_length,
            prefixes=prefixes,
            sampler=sampler,
            reorder=reorder,
            shrinking=growing,
        )
    if constraint:
        sequences = constraint.spelled_out(found.sequences, inputs)
        found = found._replace(sequences=sequences)
    return found


def _constrained(step, reorder, constraint):
    """Both functions for a state that is a pair, the model's and a `Begun`."""

    def constrained_step(ids, position, state):
        cache, begun = state
        logits, cache = step(constraint.spelled(ids, begun), position, cache)
        begun = constraint.advance(begun, ids)
        return constraint.legal_alone(logits, begun), (cache, begun)

    def constrained_reorder(state, beams):
        cache, begun = state
        return reorder(cache, beams), gather_beams(begun, beams)

    return constrained_step, constrained_reorder


def score_targets(model, inputs, targets, alpha):
    """Scores given translations as the search would have scored them.

    Args:
        model: a built `Transformer`.
        inputs: source ids, int32 `(batch, input_len)`, filled up with 0.
        targets: ids with their end ids, int32 `(batch, target_len)`, filled up
            with 0.
        alpha: exponent of the length penalty.

    Returns:
        float32 tensor of shape `(batch,)`, the log-probability divided by
        `((5 + length) / 6) ** alpha`.
    """
    logits = model({"inputs": inputs, "targets": targets})
    logits = ops.cast(logits, "float32")
    chosen = ops.take_along_axis(logits, targets[:, :, None], axis=-1)[:, :, 0]
    log_probs = chosen - ops.logsumexp(logits, axis=-1)
    is_real = ops.cast(ops.not_equal(targets, 0), "float32")
    penalty = (5.0 + ops.sum(is_real, axis=-1)) / 6.0
    return ops.sum(log_probs * is_real, axis=-1) / ops.power(penalty, alpha)


def _weights_cast_once(model):
    """Makes the steps find matrices in the precision they multiply them in.

    Else each step would cast them anew.
    """
    values = [ops.convert_to_tensor(variable) for variable in model.variables]
    return keras.StatelessScope(
        state_mapping=[
            (
                variable,
                ops.cast(value, model.compute_dtype)
                if len(value.shape) == 2
                else value,
            )
            for variable, value in zip(model.variables, values)
        ]
    )
