"""The check that a training has not diverged."""

import math


def check_finite(figures, at, precision, run):
    """Checks the figures of an update before its weights reach a checkpoint.

    With float16 a gradient that is not finite is expected now and then, and the
    optimizer skips its update.

    Args:
        figures: Dictionary as the `update` of an engine returns it.
        at: Dictionary with the `step`, `epoch` and `batch` before the update.
        precision: Precision of the engine, such as "float32".
        run: The `RunDirectory`.

    Raises:
        ValueError: If the loss or the gradient is not finite.
    """
    names = ["loss_sum"]
    if precision != "float16":
        names.append("gradient_norm")
    for name in names:
        if not math.isfinite(figures[name]):
            raise ValueError(
                "Loss and gradient must be finite. Received: "
                f"{name}={figures[name]} at step {at['step'] + 1}, epoch "
                f"{at['epoch']}, batch {at['batch']}. {_way_out(run)}"
            )


def _way_out(run):
    change = (
        "with a lower learning_rate, more warmup_steps or gradient_clip_norm"
    )
    # The recipe of a run can change until it has a checkpoint.
    if not run.checkpoints.steps:
        return f"Give the command again {change}."
    return (
        f"Start another --output_dir {change}; --warm_start_from keeps the "
        "weights of this run."
    )
