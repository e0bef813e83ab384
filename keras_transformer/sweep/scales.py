"""Scales that make the models of a sweep small enough for a small machine."""

import dataclasses

SCALES = ("none", "tiny")

_DIVISORS = dict.fromkeys(("d_model", "d_ff", "d_k", "d_v", "warmup_steps"), 4)
_DIVISORS["effective_batch_tokens"] = 40


def scaled(hparams, scale):
    """Returns smaller hyper-parameters that keep all ratios of widths.

    The scale "tiny" divides `d_model`, `d_ff`, `d_k`, `d_v` and `warmup_steps`
    by 4, `effective_batch_tokens` by 40 and `learning_rate` by 2. Base becomes
    a model of d_model 128 and d_ff 512 with 8 heads of 16, a warm-up of 1,000
    and updates of 625 tokens. Its learning rate peaks at twice the paper's, as
    the schedule demands of a quarter of the width. Without the division the
    shorter warm-up would double it once more. The numbers of layers and heads
    stay, so the row of Table 3 with 32 heads has heads of 4.

    Args:
        hparams: The `HParams` to scale.
        scale: One of `SCALES`. "none" changes nothing.

    Raises:
        ValueError: If a value is not divisible.
    """
    if scale == "none":
        return hparams
    changes = {"learning_rate": hparams.learning_rate / 2}
    for name, divisor in _DIVISORS.items():
        value = getattr(hparams, name)
        if value % divisor:
            raise ValueError(
                f"`{name}` must be divisible by {divisor} to be scaled. "
                f"Received: {name}={value} with --scale={scale}. Choose "
                "another hparams set, or --scale=none."
            )
        changes[name] = value // divisor
    return dataclasses.replace(hparams, **changes)
