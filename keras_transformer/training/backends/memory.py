"""The memory of the machine, of this process, and of a model."""

import math
import sys

import psutil

from keras_transformer.model_config import list_weights

try:
    import resource
except ModuleNotFoundError:  # on Windows
    resource = None  # type: ignore[assignment]

GROUP_LIMIT = "/sys/fs/cgroup/memory.max"  # the limit of a container


def process_peak_bytes():
    """Returns the peak resident size of this process, in bytes."""
    if resource is None:
        return psutil.Process().memory_info().peak_wset
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS reports bytes, and other systems report KiB.
    return peak if sys.platform == "darwin" else 1024 * peak


def machine_bytes():
    """Returns the memory of the machine or of the container, in bytes."""
    total = psutil.virtual_memory().total
    try:
        with open(GROUP_LIMIT, encoding="utf-8") as file:
            return min(total, int(file.read()))
    except (OSError, ValueError):  # not in a container, or one without a limit
        return total


def minimum_bytes(hparams, vocab_size, input_vocab_size=None):
    """Returns the bytes of the weights and their moments, without any batch."""
    weights = list_weights(hparams.model, vocab_size, input_vocab_size)
    # The moments of Adafactor are small, and so are those of adapters.
    has_moments = hparams.optimizer != "adafactor" and not hparams.lora_rank
    copies = 3 if has_moments else 1
    return 4 * copies * sum(map(math.prod, weights.values()))
