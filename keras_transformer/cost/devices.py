"""How many operations a second devices sustain, for the paper's formula.

The figures of K80, K40, M40 and P100 are the paper's (footnote in section 6.1).
Its P100 sustains nine tenths of the 10.6 TFLOP/s that NVIDIA's data sheet names
as the peak in single precision. The later devices get the same share of their
data sheets' peaks, without tensor cores, as SXM modules where there are several
kinds.
"""

import re

from keras_transformer import fields

SHARE_OF_PEAK = 0.9
PEAK = {"T4": 8.1e12, "V100": 15.7e12, "A100": 19.5e12, "H100": 67e12}
SUSTAINED = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}
SUSTAINED.update((name, SHARE_OF_PEAK * peak) for name, peak in PEAK.items())


def flops_per_second(device):
    """Returns the operations a second that a device sustains.

    Args:
        device: Name in `SUSTAINED`, or a number of operations as text.

    Raises:
        ValueError: If it is neither.

    Example:

    >>> flops_per_second("P100")
    9500000000000.0
    >>> flops_per_second("2.4e11")
    240000000000.0
    """
    if device in SUSTAINED:
        return SUSTAINED[device]
    try:
        number = fields.parse_number(device)
    except ValueError:
        number = 0.0  # leads to the error below
    if not 0 < number < float("inf"):
        raise ValueError(
            "`--device` must be a known device or its sustained FLOP/s. "
            f"Received: --device={device}. Use a number such as 9.5e12, or one "
            f"of {', '.join(SUSTAINED)}."
        )
    return number


def recognise(name):
    """Returns the operations a second of the device that a driver names.

    Args:
        name: Text such as "Tesla P100-SXM2-16GB".

    Returns:
        A float, or None if the device is not in `SUSTAINED`.

    Example:

    >>> recognise("Tesla P100-SXM2-16GB")
    9500000000000.0
    """
    words = re.findall("[A-Za-z0-9]+", name)
    return next((SUSTAINED[word] for word in words if word in SUSTAINED), None)


def cost_by_time(seconds, num_devices, flops):
    """Returns the cost of a training by the formula of the paper's Table 2.

    Args:
        seconds: Duration of the training.
        num_devices: Number of devices.
        flops: Operations a second that a device sustains.

    Example:

    The base model took 12 hours on 8 P100s, and the paper says 3.3e18.

    >>> f"{cost_by_time(12 * 3600, 8, SUSTAINED['P100']):.1e}"
    '3.3e+18'
    """
    return seconds * num_devices * flops
