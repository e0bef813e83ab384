"""The optimizers of training, all with the schedule of the paper."""

import math

import keras
from keras import ops

from keras_transformer.schedules import CosineSchedule
from keras_transformer.schedules import InverseSquareRootSchedule
from keras_transformer.serialization import serializable

# Weight decay skips the variables whose names contain these: biases, and the
# scales and offsets of layer normalisation.
WITHOUT_DECAY = ("bias", "gamma", "beta")


def make_schedule(hparams, first_step=1):
    """Makes the learning-rate schedule of a set of hyperparameters.

    The peak is `peak_learning_rate`, whatever the warm-up. By default it is the
    paper's peak times `learning_rate`. Adafactor's schedule lacks the factor
    d_model^-0.5, because its steps are relative to the size of the weights,
    which is about d_model^-0.5 already. If `decay_steps` is set, the rate rises
    to the same peak and then falls along half a cosine, which would reach 0 one
    update after the last one.

    The `first_step` of a cosine is 1, or 0 in an earlier run, which began with
    a learning rate of 0. Returns an `InverseSquareRootSchedule`, or a cosine.
    """
    warmup_steps = hparams.warmup_steps
    if not hparams.decay_steps:
        return _make_paper_schedule(hparams)
    cosines = keras.optimizers.schedules.CosineDecay, CosineSchedule
    return cosines[first_step](
        0.0,
        hparams.decay_steps + first_step - warmup_steps,
        warmup_target=find_peak(hparams),
        warmup_steps=warmup_steps,
    )


def find_timed_rate(hparams, step, seconds):
    """Returns the learning rate of a run with `train_minutes`.

    It rises as in the other schedules, but no higher than half a cosine that
    falls by the clock and is 0 when the minutes are over, however long an
    update takes. `step` counts from 1, and `seconds` is the time before it.
    """
    share = min(1.0, seconds / (60 * hparams.train_minutes))
    cosine = (1 + math.cos(math.pi * share)) / 2
    return find_peak(hparams) * min(step / hparams.warmup_steps, cosine)


def find_peak(hparams):
    """Returns the highest learning rate of the schedule."""
    return _make_paper_schedule(hparams).peak


def _make_paper_schedule(hparams):
    is_relative = hparams.optimizer == "adafactor"
    width = 1 if is_relative else hparams.d_model
    warmup_steps, factor = hparams.warmup_steps, hparams.learning_rate
    if hparams.peak_learning_rate:
        factor = hparams.peak_learning_rate * (width * warmup_steps) ** 0.5
    return InverseSquareRootSchedule(width, warmup_steps, factor)


def make_optimizer(hparams):
    """Makes the optimizer of a set of hyperparameters, without variables yet.

    The default is Adam as in section 5.3 of Vaswani et al. (2017). If
    `ema_decay` is set, the optimizer also keeps a moving average of the
    weights, but never overwrites the weights with it.

    Args:
        hparams: An `HParams`.

    Returns:
        A Keras optimizer.

    Example:

    >>> from keras_transformer.hparam import HParams
    >>> make_optimizer(HParams(gradient_clip_norm=1.0)).global_clipnorm
    1.0
    """
    shared = {
        "global_clipnorm": hparams.gradient_clip_norm or None,
        "use_ema": hparams.ema_decay > 0,
        "ema_momentum": hparams.ema_decay,
        "name": hparams.optimizer,
    }
    adam = {
        "beta_1": hparams.adam_beta1,
        "beta_2": hparams.adam_beta2,
        "epsilon": hparams.adam_epsilon,
    }
    schedule = make_schedule(hparams)
    if hparams.optimizer == "adam":
        return keras.optimizers.Adam(schedule, **adam, **shared)
    shared["weight_decay"] = hparams.weight_decay
    if hparams.optimizer == "adamw":
        optimizer = keras.optimizers.AdamW(schedule, **adam, **shared)
    else:
        optimizer = Adafactor(schedule, **shared)
    optimizer.exclude_from_weight_decay(var_names=WITHOUT_DECAY)
    return optimizer


@serializable
class Adafactor(keras.optimizers.Optimizer):
    """Updates like Adam, but keeps only a row and a column for each matrix.

    Algorithms 4 and 5 of Shazeer and Stern (2018), without momentum. Choose it
    where memory is too small for Adam's two moments of each weight. The step of
    a weight matrix is the learning rate times its root mean square.

    `keras.optimizers.Adafactor` makes the same updates, but it also keeps the
    full second moments and caps the learning rate at step^-0.5. Besides, it
    gives the rows and columns of all matrices the same names, so that a
    checkpoint could not tell them apart.

    Args:
        learning_rate: A float or a schedule. Defaults to 0.01.
        beta_2_decay: Float c in the decay 1 - step^c of the second moments.
            Defaults to -0.8.
        epsilon_1: Float added to squared gradients. Defaults to 1e-30.
        epsilon_2: Minimum size of a matrix to which a step is relative.
            Defaults to 1e-3.
        clip_threshold: Maximum root mean square of an update, before the
            learning rate. Defaults to 1.
        **kwargs: Arguments of `keras.optimizers.Optimizer`.
    """

    def __init__(
        self,
        learning_rate=0.01,
        beta_2_decay=-0.8,
        epsilon_1=1e-30,
        epsilon_2=1e-3,
        clip_threshold=1.0,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta_2_decay = beta_2_decay
        self.epsilon_1 = epsilon_1
        self.epsilon_2 = epsilon_2
        self.clip_threshold = clip_threshold

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._moments = []
        for variable in variables:
            shape = tuple(variable.shape)
            shapes = {"velocity": shape}
            if len(shape) > 1:
                columns = shape[:-2] + shape[-1:]
                shapes = {"rows": shape[:-1], "columns": columns}
            # Unique names, by which a checkpoint tells the moments apart.
            place = variable.path.replace("/", "_")
            self._moments.append(
                [
                    self.add_variable(shape, name=f"{place}_{kind}")
                    for kind, shape in shapes.items()
                ]
            )

    def update_step(self, gradient, variable, learning_rate):
        moments = self._moments[self._get_variable_index(variable)]
        dtype = moments[0].dtype
        # On TensorFlow the gradient of an embedding can be sparse and hold a
        # row twice. Keras makes it dense when a number is subtracted.
        gradient = ops.subtract(ops.cast(gradient, dtype), 0)
        step = ops.cast(self.iterations + 1, dtype)
        decay = 1 - ops.power(step, self.beta_2_decay)
        squares = ops.square(gradient) + self.epsilon_1
        if len(moments) == 1:
            (velocity,) = self._update_averages(moments, [squares], decay)
            update = gradient * ops.rsqrt(velocity)
        else:
            means = [ops.mean(squares, axis=axis) for axis in (-1, -2)]
            rows, columns = self._update_averages(moments, means, decay)
            # The second moments of a matrix are approximately the product of
            # its rows and columns, equation 4 of Shazeer and Stern (2018).
            rows = rows / ops.mean(rows, axis=-1, keepdims=True)
            # One factor after the other, since their product can underflow.
            update = gradient * ops.rsqrt(rows)[..., :, None]
            update = update * ops.rsqrt(columns)[..., None, :]
        excess = _root_mean_square(update) / self.clip_threshold
        values = ops.cast(variable, dtype)
        size = ops.maximum(_root_mean_square(values), self.epsilon_2)
        rate = ops.cast(learning_rate, dtype)
        factor = rate * size / ops.maximum(excess, 1)
        self.assign_sub(variable, factor * update)

    def _update_averages(self, moments, values, decay):
        """Updates moving averages and returns their new values."""
        averages = [m + (1 - decay) * (v - m) for m, v in zip(moments, values)]
        for moment, average in zip(moments, averages):
            self.assign(moment, average)
        return averages

    def get_config(self):
        names = "beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold"
        own = {name: getattr(self, name) for name in names}
        return {**super().get_config(), **own}


def _root_mean_square(values):
    return ops.sqrt(ops.mean(ops.square(values)))
