"""The options that a caller gives to `train` and to a `Trainer`."""

import dataclasses
import functools
import numbers

from keras_transformer import errors
from keras_transformer.errors import UserError
from keras_transformer.training.backends.cost import parse_flops


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """Says how a training run is evaluated, saved and stopped.

    No option changes an update. kt-trainer has a flag of each option's name.
    """

    eval_frequency: int = 1000  # updates between two evaluations
    eval_steps: int | None = None  # batches of each; None = all, 0 = no metrics
    timed_checkpoint_minutes: float = 0.0  # between timed ones; 0 = none
    keep_checkpoint_max: int = 20  # evaluated, and timed, checkpoints to keep
    keep_checkpoint_every_n_hours: float = 0.0  # kept for ever; 0 = none
    save_checkpoints_secs: float = 600.0  # between saves to resume from
    # "none", "measure" (what decides the best checkpoint), "loss" or a score.
    early_stopping_metric: str = "none"
    early_stopping_patience: int = 10  # evaluations without an improvement
    device: str = ""  # device or its sustained FLOP/s; "" = by its name
    profile_steps: tuple = ()  # first and last update to profile
    warm_start_from: str = ""  # directory of the run with the initial weights

    def __post_init__(self):
        values = {n: v for n, v in vars(self).items() if v is not None}
        errors.check_ranges(type(self), values, _RULES)
        if self.device:
            parse_flops(self.device)
        if self.eval_steps == 0 and self.early_stopping_metric != "none":
            raise UserError(
                "`early_stopping_metric` must be none for a run without "
                "evaluations. Received: early_stopping_metric="
                f"{self.early_stopping_metric}, eval_steps=0. Leave one out."
            )


@dataclasses.dataclass(frozen=True)
class StartOptions(TrainingOptions):
    """Says what `train` begins with, besides problem and hyper-parameters.

    kt-trainer has a flag of each option's name, except for `overrides`, which
    are its --hparams. A run that exists keeps what it recorded where an option
    is None.
    """

    overrides: str = ""  # changes to the hyper-parameters, "dropout=0.3,d_ff=8"
    train_steps: int | None = None  # of all updates; None = the hparams' number
    train_minutes: float | None = None  # of training, instead of train_steps
    data_dir: str | None = None  # directory of the data; None = the problem's
    tmp_dir: str | None = None  # of raw text to generate the data from first
    batch_tokens: int | str | None = None  # instead of the hparam, or "auto"
    effective_batch_tokens: int | None = None  # instead of the hparam
    random_seed: int | None = None  # None = 0 for a new run
    measure: str | None = None  # that decides which checkpoint is best
    precision: str = "auto"  # "auto" = what is fast here, or what the run has
    worker_gpu: int = 0  # number of devices; 0 = all
    xla: str = "auto"  # or "on", "off"

    def __post_init__(self):
        super().__post_init__()
        if self.random_seed is not None:
            # JSON cannot hold an integer of NumPy.
            object.__setattr__(self, "random_seed", int(self.random_seed))


def parse_profile_steps(text):
    """Returns the first and the last update in a text such as "10,20".

    Without a text, which means no profile, it returns ().
    """
    if not text:
        return ()
    try:
        first, last = map(errors.parse_integer, text.split(","))
    except ValueError:
        first, last = 0, 0  # leads to the error below
    if not 1 <= first <= last:
        raise UserError(
            "`--profile_steps` must be the first and the last update to "
            f"profile. Received: --profile_steps={text}. Write, for example, "
            "--profile_steps=10,20."
        )
    return first, last


_integers = functools.partial(errors.between, kind=numbers.Integral)
_RULES = (
    _integers(
        1,
        errors.LARGEST,
        "train_steps",
        "eval_frequency",
        "keep_checkpoint_max",
        "early_stopping_patience",
    ),
    _integers(0, errors.LARGEST, "eval_steps"),
    errors.between(
        0,
        errors.LARGEST,
        "timed_checkpoint_minutes",
        "keep_checkpoint_every_n_hours",
        "save_checkpoints_secs",
    ),
    errors.between(0.001, errors.LARGEST, "train_minutes"),
    _integers(0, errors.LARGEST_SEED, "random_seed"),
    _integers(0, 1_000, "worker_gpu"),
    errors.one_of(("auto", "on", "off"), "xla"),
    (
        "two numbers of updates, such as (10, 20)",
        lambda value: len(value) in (0, 2) and not isinstance(value, str),
        ("profile_steps",),
    ),
)
