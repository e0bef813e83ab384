"""What a model finds for a batch of sources: by beam search or by sampling.

Functions of tensors on `keras.ops`, for `compiled_search` and for exports.
"""

import typing

import keras
from keras import ops

from keras_transformer.search.beam_search import beam_search
from keras_transformer.search.beam_search import gather_beams
from keras_transformer.search.sampling import make_sampler
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID


def find_hypotheses(
    model,
    inputs,
    limits,
    options,
    prefixes=None,
    seeds=None,
    fixed_length=None,
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
        seeds: a random number for each sentence, int32 `(batch,)`, where the
            options ask for samples.
        fixed_length: Length of the result, an integer, where the shapes must
            not change, as under `jax.jit`. By default the length is the largest
            limit, caches grow with each step, and sentences that are done leave
            the batch.
        constraint: a `TreeConstraint` where only trees over the words of the
            sentences may be found, without `prefixes`. Limits are raised to
            what a tree takes at least, `fixed_length` is not.

    Returns:
        `Finished`: ids `(batch, num_hypotheses, length)`, int32, each ending in
        the end id and filled up with 0, and scores `(batch, num_hypotheses)`,
        best first.
    """
    sampling = options.temperature > 0
    beam_size = options.num_hypotheses if sampling else options.beam_size
    sampler = make_sampler(options, seeds) if sampling else None
    encoded, padding_mask = model.encode(inputs)
    with _weights_cast_once(model):
        step = model.decode_step
        state = model.init_cache(encoded, padding_mask, beam_size, fixed_length)
        if constraint:
            limits = constraint.raised_limits(limits, inputs)
            tree_state = constraint.begin(inputs, limits, beam_size)
            state = ConstrainedCache(state, tree_state)
            step = _constrained_step(step, constraint)
        found = beam_search(
            step,
            state,
            beam_size,
            limits,
            options.alpha,
            END_ID,
            num_hypotheses=options.num_hypotheses,
            min_length=options.min_length,
            prefixes=prefixes,
            sampler=sampler,
        )
    if constraint:
        sequences = constraint.spelled_out(found.sequences, inputs)
        found = found._replace(sequences=sequences)
    return found


class ConstrainedCache(typing.NamedTuple):
    """The cache of a model together with the state of a constraint.

    Args:
        cache: What the model's `init_cache` returns.
        tree_state: A `TreeState`.
    """

    cache: typing.Any
    tree_state: typing.Any

    @property
    def fixed_length(self):
        """That of the cache."""
        return self.cache.fixed_length

    def reorder(self, beams):
        """Returns both with beam j continuing beam `beams[j]`."""
        return ConstrainedCache(
            self.cache.reorder(beams), gather_beams(self.tree_state, beams)
        )


def _constrained_step(step, constraint):
    def constrained_step(ids, position, state):
        cache, tree_state = state
        ids_in_source = constraint.spelled(ids, tree_state)
        logits, cache = step(
            ids_in_source, position, cache, constraint.num_logits
        )
        tree_state = constraint.advance(tree_state, ids)
        logits = constraint.legal_alone(logits, tree_state)
        return logits, ConstrainedCache(cache, tree_state)

    return constrained_step


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
    is_real = ops.cast(ops.not_equal(targets, PAD_ID), "float32")
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
