"""The training cost of a run, in words."""

import datetime

UNKNOWN_DEVICE = (
    "unknown by the paper's formula, because the device is not in its table; "
    "`--device` of kt-trainer names it"
)


def cost_rows(training):
    """Describes what a training has cost.

    Args:
        training: Dictionary as `RunDirectory.training_until` returns it.

    Returns:
        A list of (title, text), which is empty for a run of an earlier version.

    Example:

    >>> hours = 12 * 3600
    >>> costs = {"device_flops": hours * 7.6e13, "token_flops": 9.4e17}
    >>> for row in cost_rows({"seconds": hours, **costs}):
    ...     print(*row, sep=": ")
    Training cost: 3.3e18 FLOP, 12:00:00 at 76 TFLOP/s sustained by the devices
    Arithmetic: 9.4e17 FLOP for the tokens
    """
    arithmetic = [
        f"{_short(training[name])} FLOP {words}"
        for name, words in (
            ("token_flops", "for the tokens"),
            ("position_flops", "with the padding"),
        )
        if name in training
    ]
    if not arithmetic:
        return []
    cost = UNKNOWN_DEVICE
    if "device_flops" in training:
        rate = training["device_flops"] / training["seconds"] / 1e12
        time = datetime.timedelta(seconds=round(training["seconds"]))
        cost = (
            f"{_short(training['device_flops'])} FLOP, {time} at {rate:.3g} "
            "TFLOP/s sustained by the devices"
        )
    return [("Training cost", cost), ("Arithmetic", ", ".join(arithmetic))]


def _short(number):
    digits, exponent = f"{number:.1e}".split("e")
    return f"{digits}e{int(exponent)}"
