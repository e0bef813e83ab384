"""The adapters of a run that is trained by low-rank adaptation (LoRA).

Its checkpoints hold the adapters, their optimizer and `ALPHA`. The weights that
never change are stored once, in `BASE_FILE` beside them. `checkpoints` reads
both as one, and decoding gets merged weights. `ADAPTER_FILE` in the run's
directory has only the adapters, for users who have the base.
"""

import zlib

import numpy as np

from keras_transformer.model_config import ADAPTER_SUFFIXES

ALPHA = "lora/alpha"
BASE = "lora/base"  # a checksum of the weights that the adapters belong to
BASE_FILE = "base.npz"
ADAPTER_FILE = "adapter.npz"


def is_adapter(name):
    """Returns whether an array of a checkpoint is part of an adapter.

    >>> is_adapter("model/encoder/layer_0/feed_forward/inner_lora_a")
    True
    """
    return name.endswith(ADAPTER_SUFFIXES)


def merge_adapters(weights, adapters, alpha):
    """Adds to each weight `alpha / rank * A B`, if there is an adapter for it.

    Both are dictionaries of arrays by name. Changes `weights`.
    """
    for name in weights:
        pair = [adapters.get(name + suffix) for suffix in ADAPTER_SUFFIXES]
        if pair[0] is not None:
            a, b = pair
            weights[name] = weights[name] + float(alpha) / a.shape[1] * (a @ b)


def compute_checksum(weights):
    """Returns the CRC-32 of the weights of a model without adapters."""
    checksum = 0
    for name in sorted(weights):
        checksum = zlib.crc32(np.ascontiguousarray(weights[name]), checksum)
    return np.int64(checksum)
