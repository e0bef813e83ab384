"""The largest batch that fits into the memory of a device."""

import dataclasses
import gc
import os

import numpy as np

from keras_transformer.data.batches.batch_plan import plan_batches
from keras_transformer.data.batches.update_batches import UpdateBatches
from keras_transformer.data.generation.token_arrays import TokenPairs
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.errors import UserError
from keras_transformer.training.backends.backend import ModelTooLarge
from keras_transformer.training.backends.backend import OutOfMemory
from keras_transformer.training.backends.make_backend import make_backend

SMALL, LARGE = 1024, 3072  # sizes of the batches that are measured
# Share of the memory to use. The rest is for an estimate that is too low.
USED_SHARE = 0.85
STEP = 256  # the result is a multiple of this


def largest_batch_tokens(
    hparams, vocab_sizes, precision, max_tokens, xla="auto"
):
    """Estimates how many positions per side fit into the memory of a device.

    The function makes an update with a small batch of the longest sentences and
    one with a larger batch, and extrapolates their use of memory linearly. A
    run checks the estimate at once, since its first batch is its largest. The
    result is at most `max_tokens`, and otherwise at least `max_length`. The
    `batch_tokens` of the `HParams` are ignored.
    """
    if os.environ.get("TF_CONFIG"):
        raise UserError(
            "On several machines `batch_tokens` must be a number. Received: "
            "batch_tokens=auto and TF_CONFIG. Use batch_tokens=auto on one "
            "machine, and pass the number that it finds to all of them."
        )
    longest = hparams.max_length
    # Whole rows of the maximum length, since the sizes must be exact.
    sizes = [max(1, tokens // longest) * longest for tokens in (SMALL, LARGE)]
    # The small batch comes first, because a peak never falls again.
    needed, backend = [], None
    try:
        for size in sizes:
            # A run computes its logits in chunks that depend on its batch size.
            changes = {"batch_tokens": size, "effective_batch_tokens": 0}
            changed = dataclasses.replace(hparams, **changes)
            backend = None
            gc.collect()  # the earlier model must leave before the next one
            backend = make_backend(changed, precision, 1, xla)
            backend.build(*vocab_sizes)
            (batch,) = backend.feed(
                _one_batch(size // longest, longest, backend)
            )
            backend.update(batch)
            needed.append(backend.peak_bytes())
    except OutOfMemory as error:
        # The batch is small already, so a smaller one would not help.
        raise ModelTooLarge(hparams) from error
    # One sentence fills either batch, so there is no slope.
    if sizes[0] == sizes[1]:
        return min(longest, max_tokens)
    # The peak remains the same if memory was left from an earlier task. A
    # position then counts as one byte.
    slope = max(1.0, (needed[1] - needed[0]) / (sizes[1] - sizes[0]))
    room = USED_SHARE * backend.memory_bytes() - needed[1]
    fitting = sizes[1] + int(room / slope)
    return min(max_tokens, max(longest, fitting - fitting % STEP))


def _one_batch(num_rows, length, backend):
    """Returns `UpdateBatches` of a single batch of sentences of one length."""
    sentences = TokenSequences.from_lists([[2] * length] * num_rows)
    lengths = sentences.lengths
    plan = plan_batches(lengths, lengths, num_rows * length)
    pairs = TokenPairs(sentences, sentences)
    guidance = _AnyGuidance() if "guidance" in backend.parts else None
    return UpdateBatches(pairs, plan, guidance=guidance)


class _AnyGuidance:
    """Has the size of the largest guidance, to measure the memory."""

    def read(self, token_pairs, rows, shape):
        _, input_len, target_len = shape
        return np.zeros((len(rows), target_len, input_len), np.int32)
