"""The largest batch that fits into the memory of a device."""

import dataclasses
import os

import numpy as np

from keras_transformer.engines.make_engine import make_engine

SMALL, LARGE = 1024, 3072  # batches whose use of memory is measured
USED_SHARE = 0.85  # of the memory; the rest is for what the two did not show
MOST_TOKENS = 25000  # the paper's batch
STEP = 256  # the result is a multiple of this


def largest_batch_tokens(hparams, vocab_size, precision, xla="auto"):
    """Estimates how many positions per side a device can take at once.

    Makes a real update with a small and with a larger batch of the longest
    sentences, and draws a line through what they needed. What it says is put
    to the test soon: the first batch of a training is its largest one.

    Args:
        hparams: an `HParams`; its `batch_tokens` is not looked at.
        vocab_size: number of token ids.
        precision: "float32", "bfloat16" or "float16".
        xla: "auto", "on" or "off", see `TensorflowEngine`.

    Returns:
        a number of positions, at most `effective_batch_tokens`, or the paper's
        25,000 where that is 0; at least `max_length`.

    Raises:
        ValueError: if `TF_CONFIG` says that there are several machines.
    """
    if os.environ.get("TF_CONFIG"):
        raise ValueError(
            "`batch_tokens` must be a number on several machines, the same on "
            "each. Received: batch_tokens=auto and TF_CONFIG. Try auto on one "
            "machine, and give that number to all."
        )
    longest = hparams.max_length
    most = hparams.effective_batch_tokens or MOST_TOKENS
    hparams = dataclasses.replace(
        hparams, batch_tokens=most, effective_batch_tokens=most
    )
    engine = make_engine(hparams, precision, 1, xla)
    engine.build(vocab_size)
    sizes = [max(1, tokens // longest) * longest for tokens in (SMALL, LARGE)]
    needed = []
    for size in sizes:
        engine.update(_batch(size // longest, longest))
        needed.append(engine.peak_bytes())
    if sizes[0] == sizes[1]:
        return min(longest, most)
    slope = max(1.0, (needed[1] - needed[0]) / (sizes[1] - sizes[0]))
    room = USED_SHARE * engine.memory_bytes() - needed[1]
    fitting = sizes[1] + int(room / slope)
    fitting = min(most, max(longest, fitting - fitting % STEP))
    return fitting


def _batch(rows, length):
    ids = np.full((1, 1, rows, length), 2, np.int32)
    return {
        "inputs": ids,
        "targets": ids,
        "seeds": np.zeros((1, 1, rows), np.int32),
        "num_tokens": np.float32(rows * length),
    }
