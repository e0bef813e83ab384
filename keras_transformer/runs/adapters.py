"""The adapters of a run that is trained by low-rank adaptation (LoRA).

Its checkpoints hold the adapters, their optimizer and `ALPHA`. The weights that
never change are in `BASE_FILE` beside them, once. `checkpoints` reads both as
one, and whoever reads weights for decoding gets them merged.
"""

from keras_transformer.model_config import ADAPTER_SUFFIXES

ALPHA = "lora/alpha"
BASE_FILE = "base.npz"


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
