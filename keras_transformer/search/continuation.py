"""Text generation with a decoder-only model."""

import typing
from collections.abc import Callable

import keras
import numpy as np
from keras import ops
from numpy.typing import ArrayLike

from keras_transformer import errors
from keras_transformer.search.beam_search import beam_search
from keras_transformer.search.beams import NEVER
from keras_transformer.search.beams import make_sampler
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

OPTIONS = ("beam_size", "alpha", "num_hypotheses", "extra_length")
OPTIONS += ("temperature", "top_k", "top_p")


class PromptedCache(typing.NamedTuple):
    """The cache of a model, and the first id and the limit of each prompt."""

    first_ids: typing.Any  # int32 (batch, 1)
    limits: typing.Any  # positions of the search, int32 (batch, 1)
    cache: typing.Any

    def reorder(self, beams):
        return self._replace(cache=self.cache.reorder(beams))


def generate(
    step: Callable,
    init_cache: Callable,
    prompts: ArrayLike,
    seed: int = 0,
    **options: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Continues prompts with a decoder-only model, one id after another.

    With `beam_size=1` it searches greedily, with a larger beam it keeps several
    hypotheses, and with a `temperature` it draws `num_hypotheses` samples. A
    sequence ends when the model predicts the end id 1, or when it has
    `extra_length` new ids. Ending at that length does not lower its
    probability. The id 0 is padding and is never written.

    Args:
        step: Function `(ids, position, cache) -> (logits, cache)`. The ids, of
            shape `(batch, beam)`, stand at `position`, a scalar. The logits of
            the ids after them have the shape `(batch, beam, vocab_size)`.
        init_cache: Function `(batch, beam_size, fixed_length) -> cache`, such
            as `Encoder.init_cache`. A cache is a named tuple of nested tensors
            with the first axis `batch`, and has a `reorder` as `DecoderCache`.
        prompts: Integer ids of shape `(batch, prompt_len)`, padded with 0 at
            their ends, each with at least one id.
        seed: Integer seed of the samples, at least 0. Defaults to 0.
        **options: Fields of `DecodeOptions`: beam_size, alpha, num_hypotheses,
            extra_length, temperature, top_k and top_p, with its defaults.

    Returns:
        Int32 sequences of shape `(batch, num_hypotheses, length)`, which start
        with their prompts and are padded with 0, best first. The length is the
        longest prompt's plus `extra_length`. Their scores of shape `(batch,
        num_hypotheses)`: the log-probability of all ids after the first,
        divided by `((5 + length) / 6) ** alpha`.

    Example: see the language model of `docs/layers.md`.
    """
    if unknown := options.keys() - set(OPTIONS):
        raise ValueError(
            f"`options` must be some of {', '.join(OPTIONS)}. Received: "
            f"{', '.join(sorted(unknown))}. Leave them out."
        )
    options = DecodeOptions().replace(**options)
    prompts = np.asarray(prompts)
    lengths = _count_ids(prompts)
    prompts = prompts[:, : lengths.max()]  # a prefix must fit into the limits
    # The search writes the ids after the first one of a prompt. At the last
    # position of its limit a sequence ends, without another id.
    limits = (lengths + options.extra_length).astype("int32")
    batch, num_beams = len(prompts), options.num_beams
    # Only TensorFlow's loops can change the shapes of their tensors.
    grows = keras.backend.backend() == "tensorflow"
    fixed_length = None if grows else int(limits.max())
    # The search starts without an id, but this model needs the first id of a
    # prompt. So the step inserts the first id, and the rest is a prefix.
    hypotheses = beam_search(
        _step_from_prompts(step),
        PromptedCache(
            ops.convert_to_tensor(prompts[:, :1], dtype="int32"),
            ops.convert_to_tensor(limits[:, None]),
            init_cache(batch, num_beams, fixed_length),
        ),
        num_beams,
        limits,
        options.alpha,
        num_hypotheses=options.num_hypotheses,
        prefixes=prompts[:, 1:],
        sampler=_make_sampler(options, seed, batch),
        forbidden=(PAD_ID,),
        fixed_length=fixed_length,
    )
    written = ops.convert_to_numpy(hypotheses.sequences)
    first = np.repeat(prompts[:, None, :1], written.shape[1], axis=1)
    sequences = np.concatenate([first, written], axis=2)[:, :, :-1]
    is_cut = np.arange(sequences.shape[2]) >= limits[:, None, None]
    sequences = np.where(is_cut, PAD_ID, sequences).astype("int32")
    return sequences, ops.convert_to_numpy(hypotheses.scores)


def _make_sampler(options, seed, num_rows):
    errors.check_seed(seed)
    if not options.temperature:
        return None
    # The seed of a row does not depend on the number of rows.
    generator = np.random.default_rng(seed)
    seeds = generator.integers(2**31, size=num_rows, dtype="int32")
    return make_sampler(options, seeds, (PAD_ID,))


def _count_ids(prompts):
    """Returns the number of ids of each prompt, `(batch,)`."""
    is_id = prompts != PAD_ID
    lengths = is_id.sum(axis=-1)
    is_prompts = prompts.ndim == 2 and prompts.dtype.kind in "iu"
    if (
        not (is_prompts and prompts.size and lengths.min())
        or (is_id[:, 1:] & ~is_id[:, :-1]).any()
        or (prompts == END_ID).any()
    ):
        raise ValueError(
            "`prompts` must be integers of shape (batch, prompt_len), each "
            "with an id, without the end id 1, and padded with 0 at its end. "
            f"Received: {prompts.dtype} of shape {prompts.shape}, "
            f"prompts={prompts.tolist()!r:.60}. Begin for example with the id "
            "of a word."
        )
    return lengths


def _step_from_prompts(step):
    """Returns the step function whose state is a `PromptedCache`."""

    def step_from_prompts(ids, position, state):
        ids = ops.where(position > 0, ids, state.first_ids)
        logits, cache = step(ids, position, state.cache)
        logits = ops.cast(logits, "float32")
        # At the limit the end has probability 1: the model did not choose it.
        is_last = ops.expand_dims(ops.equal(position, state.limits - 1), 2)
        is_end = ops.equal(ops.arange(logits.shape[-1], dtype="int32"), END_ID)
        logits = ops.where(is_last & ~is_end, NEVER, logits)
        return logits, state._replace(cache=cache)

    return step_from_prompts
