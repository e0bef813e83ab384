"""The options that a caller gives to a `Trainer`."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """Says how a training run is evaluated, saved and stopped.

    No option changes an update. kt-trainer has a flag of each option's name.
    """

    eval_frequency: int = 1000  # updates between two evaluations
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
