"""The cost of training in floating-point operations, as in Table 2.

`count_training_flops` counts the operations, and `compute_cost` is the paper's
formula. `SUSTAINED` has the operations a second that each device sustains.
The figures of K80, K40, M40 and P100 are the paper's (footnote in section 6.1).
Its P100 sustains nine tenths of the 10.6 TFLOP/s that NVIDIA's data sheet names
as the peak in single precision. For later devices we assume the same share of
the data sheet's peak without tensor cores, for the SXM module if there is one.
"""

import functools
import math
import re

import numpy as np

from keras_transformer import errors
from keras_transformer.errors import UserError
from keras_transformer.model_config import list_weights

# Kernels of the decoder that multiply source tokens.
SOURCE_KERNELS = ("cross_attention/key", "cross_attention/value")


def count_training_flops(config, vocab_size, lengths, num_passes=1):
    """Counts the operations of the matrix products of a training run.

    A product of a matrix with a vector takes two operations for each entry, and
    the backward pass takes twice as many as the forward pass. Attention counts
    every pair of a query and a key, including pairs that the causal mask hides,
    but only pairs within `neighbourhood_size` if that is set. With relative
    positions, a pair counts three times. The embedding is a lookup. It does not
    count, and neither do biases, normalisation, softmax and the optimizer.

    The lengths `(pairs, 2)` are of the source and the target. An update runs
    the model `num_passes` times on each pair.
    """
    # In float, because int32 overflows.
    source, target = np.asarray(lengths, float).reshape(-1, 2).T  # (pairs,)
    per_source, per_target = _entries_per_token(config, vocab_size)
    products = per_source * source.sum() + per_target * target.sum()
    size = config.neighbourhood_size
    compared = config.num_layers * _num_pairs(source, source, size)
    compared += config.decoder_depth * _num_pairs(target, target, size)
    if config.max_relative_position:
        compared *= 3
    compared += config.decoder_depth * _num_pairs(target, source)
    # A query is multiplied with a key, and the weight with a value.
    products += config.num_heads * sum(config.head_widths) * compared
    return 3 * 2 * num_passes * float(products)


@functools.cache
def _entries_per_token(config, vocab_size):
    """Counts the matrix entries that multiply a source and a target token."""
    weights = list_weights(config, vocab_size)
    # The logits are products with this matrix or with one of the same shape.
    entries = {
        "source": 0,
        "target": math.prod(weights["model/embedding/embeddings"]),
    }
    for name, shape in weights.items():
        _, stack, *place = name.split("/")
        kernel = "/".join(place[1:])
        is_stack = stack in ("encoder", "decoder")
        if len(shape) < 2 or not is_stack or "/relative_" in kernel:
            continue
        reads_source = stack == "encoder" or kernel in SOURCE_KERNELS
        side = "source" if reads_source else "target"
        entries[side] += math.prod(shape)
    return entries["source"], entries["target"]


def _num_pairs(queries, keys, neighbourhood_size=0):
    """Returns how many pairs of a query and a key attention compares."""
    if neighbourhood_size:
        keys = np.minimum(keys, neighbourhood_size)
    return (queries * keys).sum()


SHARE_OF_PEAK = 0.9
PEAK = {"T4": 8.1e12, "V100": 15.7e12, "A100": 19.5e12, "H100": 67e12}
SUSTAINED = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}
SUSTAINED.update((name, SHARE_OF_PEAK * peak) for name, peak in PEAK.items())
# Peaks of dense matrix products from the data sheets, to compute the MFU.
# From the A100 on, TensorFlow and JAX multiply float32 matrices as TF32.
MATRIX_PEAK = {
    "P100": {"float32": 10.6e12, "float16": 21.2e12},
    "T4": {"float32": 8.1e12, "float16": 65e12},
    "V100": {"float32": 15.7e12, "float16": 125e12},
    "A100": {"float32": 156e12, "float16": 312e12, "bfloat16": 312e12},
    "H100": {"float32": 494e12, "float16": 989e12, "bfloat16": 989e12},
}


def parse_flops(device):
    """Returns the operations a second that `--device` names or states.

    >>> parse_flops("P100")
    9500000000000.0
    >>> parse_flops("2.4e11")
    240000000000.0
    """
    if device in SUSTAINED:
        return SUSTAINED[device]
    try:
        number = errors.parse_number(str(device))
    except UserError:
        number = 0.0  # leads to the error below
    if not 0 < number < float("inf"):
        raise UserError(
            "`--device` must be a known device or its sustained FLOP/s. "
            f"Received: --device={device}. Use a number such as 9.5e12, or one "
            f"of {', '.join(SUSTAINED)}."
        )
    return number


def recognise_flops(name):
    """Returns the operations a second of a device by its driver's name for it.

    It is None if the device is not in `SUSTAINED`.

    >>> recognise_flops("Tesla P100-SXM2-16GB")
    9500000000000.0
    """
    return _entry(SUSTAINED, name)


def find_matrix_peak(name, precision):
    """Returns the peak of matrix products of a device by its driver's name.

    It is None if the device is unknown or not fast in this precision.

    >>> find_matrix_peak("NVIDIA A100-SXM4-40GB", "bfloat16")
    312000000000000.0
    """
    return (_entry(MATRIX_PEAK, name) or {}).get(precision)


def _entry(table, name):
    """Returns the entry of the first word of a driver's name that has one."""
    words = re.findall("[A-Za-z0-9]+", name)
    return next((table[word] for word in words if word in table), None)


def compute_cost(seconds, num_devices, flops):
    """Returns the cost of training by the formula of the paper's Table 2.

    The base model took 12 hours on 8 P100s, and the paper says 3.3e18.

    >>> f"{compute_cost(12 * 3600, 8, SUSTAINED['P100']):.1e}"
    '3.3e+18'
    """
    return seconds * num_devices * flops
