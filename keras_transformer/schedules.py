"""The learning-rate schedules: the paper's, and a cosine."""

import keras
from keras import ops

from keras_transformer.serialization import serializable


@serializable
class InverseSquareRootSchedule(
    keras.optimizers.schedules.LearningRateSchedule
):
    """Warms up linearly, then decays with the square root of the step.

    The learning rate is
    `factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)`, equation
    3 in section 5.3 of Vaswani et al. (2017), where the factor is 1. Steps
    count from 1 as in the paper. Keras counts updates from 0, so update number
    n uses step n + 1.

    Args:
        d_model: Width of the model, an integer.
        warmup_steps: Updates until the peak, at least 1. Defaults to 4,000.
        factor: Float that multiplies the whole schedule. Defaults to 1.

    Raises:
        ValueError: If `warmup_steps` is less than 1.

    Example:

    >>> schedule = InverseSquareRootSchedule(d_model=512)
    >>> round(schedule.peak, 6)
    0.000699
    """

    def __init__(self, d_model, warmup_steps=4000, factor=1.0):
        if warmup_steps < 1:
            raise ValueError(
                "`warmup_steps` must be at least 1. Received: "
                f"warmup_steps={warmup_steps}. Use 1 for no warm-up."
            )
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.factor = factor

    def __call__(self, step):
        # Step 0 would have the learning rate 0, and waste the first update.
        step = ops.cast(step, "float32") + 1.0
        rising = step * self.warmup_steps**-1.5
        falling = ops.rsqrt(step)
        return self.factor * self.d_model**-0.5 * ops.minimum(rising, falling)

    @property
    def peak(self):
        """The maximum learning rate, reached at the end of the warm-up."""
        return self.factor * (self.d_model * self.warmup_steps) ** -0.5

    def get_config(self):
        return dict(vars(self))


@serializable
class CosineSchedule(keras.optimizers.schedules.CosineDecay):
    """Computes Keras' cosine with a warm-up, for steps that count from 1.

    Keras begins at step 0, where the learning rate is 0, so the first update
    would change nothing. The arguments are as for `CosineDecay`.
    """

    def __call__(self, step):
        return super().__call__(step + 1)
