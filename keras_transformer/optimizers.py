"""The optimizers of training, each with the paper's schedule."""

import keras
from keras import ops

from keras_transformer.schedules import InverseSquareRootSchedule
from keras_transformer.serialization import serializable

# What weight decay leaves alone, by parts of the names of variables: biases,
# and the scales and offsets of layer normalisation.
WITHOUT_DECAY = ("bias", "gamma", "beta")


def make_schedule(hparams):
    """Makes the learning-rate schedule of an `HParams`.

    Adafactor's is without the factor d_model^-0.5, since its steps are relative
    to the size of the weights, which is about that.
    """
    is_relative = hparams.optimizer == "adafactor"
    return InverseSquareRootSchedule(
        1 if is_relative else hparams.d_model,
        hparams.warmup_steps,
        hparams.learning_rate,
    )


def make_optimizer(hparams):
    """Makes the optimizer of an `HParams`, its variables not yet built.

    By default Adam as in section 5.3 of Vaswani et al. (2017). A moving average
    of the weights is kept beside them and never written over them.

    Args:
        hparams: an `HParams`.

    Returns:
        a Keras optimizer.

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
    """Adam without momentum, whose state is a row and a column for a matrix.

    Shazeer and Stern (2018), algorithms 4 and 5. Choose it where the memory for
    Adam's two moments of each weight is lacking. The step of a weight matrix is
    the learning rate times the root mean square of the matrix itself.

    `keras.optimizers.Adafactor` makes the same updates, but keeps the second
    moments in full besides, and gives the rows and columns of all matrices the
    same names, by which a checkpoint could not tell them apart. It also caps
    the learning rate at step^-0.5.

    Args:
        learning_rate: a float or a schedule.
        beta_2_decay: c in the decay 1 - step^c of the second moments.
        epsilon_1: added to squared gradients.
        epsilon_2: least size of a matrix that a step is relative to.
        clip_threshold: greatest root mean square of an update, before the
            learning rate.
        **kwargs: those of `keras.optimizers.Optimizer`.
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
            kinds = {"velocity": shape}
            if len(shape) > 1:
                columns = shape[:-2] + shape[-1:]
                kinds = {"rows": shape[:-1], "columns": columns}
            place = variable.path.replace("/", "_")
            self._moments.append(
                [
                    self.add_variable(kinds[kind], name=f"{place}_{kind}")
                    for kind in kinds
                ]
            )

    def update_step(self, gradient, variable, learning_rate):
        moments = self._moments[self._get_variable_index(variable)]
        step = ops.cast(self.iterations + 1, "float32")
        decay = 1 - ops.power(step, self.beta_2_decay)
        squares = ops.square(gradient) + self.epsilon_1
        if len(moments) == 1:
            (velocity,) = self._averaged(moments, [squares], decay)
            update = gradient * ops.rsqrt(velocity)
        else:
            means = [ops.mean(squares, axis=axis) for axis in (-1, -2)]
            rows, columns = self._averaged(moments, means, decay)
            rows = rows / ops.mean(rows, axis=-1, keepdims=True)
            # Not their product first: it can be too small for a float32.
            update = gradient * ops.rsqrt(rows)[..., :, None]
            update = update * ops.rsqrt(columns)[..., None, :]
        excess = _root_mean_square(update) / self.clip_threshold
        size = ops.maximum(_root_mean_square(variable), self.epsilon_2)
        factor = learning_rate * size / ops.maximum(excess, 1)
        self.assign_sub(variable, factor * update)

    def _averaged(self, moments, values, decay):
        """Updates moving averages, and returns their new values."""
        new = [m + (1 - decay) * (v - m) for m, v in zip(moments, values)]
        for moment, value in zip(moments, new):
            self.assign(moment, value)
        return new

    def get_config(self):
        return {
            **super().get_config(),
            "beta_2_decay": self.beta_2_decay,
            "epsilon_1": self.epsilon_1,
            "epsilon_2": self.epsilon_2,
            "clip_threshold": self.clip_threshold,
        }


def _root_mean_square(values):
    return ops.sqrt(ops.mean(ops.square(values)))
