"""Hyper-parameters: frozen dataclasses with strict overrides, and JSON."""

import dataclasses
import functools
import math
import typing

from keras_transformer import errors
from keras_transformer.errors import UserError
from keras_transformer.model_config import MAX_FRACTION
from keras_transformer.model_config import ModelConfig


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """Describes the training of a model. Values are checked at construction."""

    subword_dropout: float = 0.0  # share of BPE merges left out (p); 0 = none
    source_noise: float = 0.0  # share of sources with typos and the like
    label_smoothing: float = 0.1  # share spread over the vocabulary (eps_ls)
    consistency: str = "none"  # or "simcut", "r_drop"
    consistency_weight: float = 3.0  # weight of the divergence (alpha)
    token_cutoff: float = 0.05  # share of tokens that simcut cuts (p_cut)
    guided_alignment: float = 0.0  # weight of word alignments; 0 = none
    batch_tokens: int = 4096  # positions per side a device takes at once
    effective_batch_tokens: int = 0  # real tokens of an update; 0 = one batch
    optimizer: str = "adam"  # or "adamw", "adafactor"
    adam_beta1: float = 0.9  # decay of the mean of gradients (beta_1)
    adam_beta2: float = 0.98  # decay of the mean of their squares (beta_2)
    adam_epsilon: float = 1e-9  # added to the denominator (epsilon)
    weight_decay: float = 0.0  # of adamw and adafactor; 0 = none
    gradient_clip_norm: float = 0.0  # largest norm of the gradients; 0 = any
    ema_decay: float = 0.0  # decay of the average of the weights; 0 = none
    learning_rate: float = 1.0  # factor on the paper's schedule
    peak_learning_rate: float = 0.0  # peak of the schedule; 0 = by the factor
    warmup_steps: int = 4000  # number of steps of linear increase
    decay_steps: int = 0  # last step of a cosine; 0 = the paper's schedule
    train_steps: int = 100000  # total number of updates
    train_minutes: float = 0.0  # instead of these two, by the clock; 0 = none
    lora_rank: int = 0  # rank of adapters, all that is trained; 0 = none
    lora_alpha: float = 0.0  # their factor is lora_alpha / rank; 0 = rank

    def __post_init__(self):
        errors.check(self, _TRAINING_RULES)
        if self.weight_decay and self.optimizer == "adam":
            raise UserError(
                "`weight_decay` must be 0 with an optimizer without weight "
                f"decay. Received: weight_decay={self.weight_decay}, "
                f"optimizer={self.optimizer!r}. Use optimizer=adamw."
            )
        if 0 < self.decay_steps <= self.warmup_steps:
            raise UserError(
                "`decay_steps` must be 0 or more than `warmup_steps`. "
                f"Received: decay_steps={self.decay_steps}, "
                f"warmup_steps={self.warmup_steps}. Use the total number of "
                "updates."
            )
        if self.lora_alpha and not self.lora_rank:
            raise UserError(
                "`lora_alpha` must be 0 without adapters. Received: lora_alpha="
                f"{self.lora_alpha}, lora_rank=0. Set lora_rank to a small "
                "number such as 4."
            )

    def without_lora(self) -> typing.Self:
        """Returns a copy without adapters, for weights that include them."""
        return dataclasses.replace(self, lora_rank=0, lora_alpha=0.0)

    @property
    def passes_per_update(self) -> int:
        """How many times an update runs the model on each sentence pair."""
        return 1 if self.consistency == "none" else 2


@dataclasses.dataclass(frozen=True)
class DecodingConfig:
    """Describes the search. Values are checked at construction."""

    beam_size: int = 4  # number of hypotheses kept while decoding
    alpha: float = 0.6  # length penalty ((5 + length) / 6) ** alpha
    extra_length: int = 50  # tokens that an output may exceed its input by

    def __post_init__(self):
        errors.check(self, _DECODING_RULES)


# The fields stand in the order of the base classes from the last to the first.
@dataclasses.dataclass(frozen=True)
class HParams(DecodingConfig, TrainingConfig, ModelConfig):
    """Describes a model, its training and its decoding by one set of names.

    The defaults are the base model of Vaswani et al. (2017), with a batch size
    for one small device. A registered hparams set states only its differences,
    with `dataclasses.replace`. Code that needs only one part takes `model`,
    `training` or `decoding`.

    A user's subclass adds fields, which become arguments of its `model_class`,
    a subclass of `Transformer`. The subclass reads runs that have these fields.

    Raises:
        UserError: If a value has the wrong type or is out of range.

    Example:

    >>> HParams(d_model=256, num_heads=4).d_ff
    2048
    """

    # Ends the error about an unknown field.
    advice: typing.ClassVar[str] = (
        " For a field of your own pass its --usr_dir; see docs/problems.md."
    )
    subclasses: typing.ClassVar[list] = []

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        HParams.subclasses.append(cls)

    def __post_init__(self):
        for part in (ModelConfig, TrainingConfig, DecodingConfig):
            part.__post_init__(self)
        if self.lora_rank > self.d_model:
            raise UserError(
                "`lora_rank` must be at most `d_model`. Received: lora_rank="
                f"{self.lora_rank}, d_model={self.d_model}. Use a small number "
                "such as 4."
            )
        for name, neutral in (
            ("packed", False),
            ("subword_dropout", 0),
            ("source_noise", 0),
            ("consistency", "none"),
            ("guided_alignment", 0),
        ):
            value = getattr(self, name)
            for guide in ("guided_alignment", "span_labels"):
                is_set = guide != name and getattr(self, guide)
                if is_set and value != neutral:
                    raise UserError(
                        f"`{guide}` must be 0 with `{name}`. Received: "
                        f"{guide}={getattr(self, guide)}, {name}={value}. "
                        "Leave one of them out."
                    )
        rates = self.dropout, self.attention_dropout, self.activation_dropout
        if self.consistency == "r_drop" and not any(rates):
            raise UserError(
                "`consistency` must not be 'r_drop' without dropout, because "
                "both passes would be the same. Received: "
                f"consistency='r_drop', dropout={self.dropout}. Set dropout to "
                "a rate such as 0.1, or use consistency=simcut."
            )

    @property
    def model(self) -> ModelConfig:
        """The `ModelConfig` alone."""
        # mypy does not find the hash of a dataclass that is an argument.
        return self._part(_find_model_config(type(self)))  # type: ignore[arg-type]

    @property
    def training(self) -> TrainingConfig:
        """The `TrainingConfig` alone."""
        return self._part(TrainingConfig)

    @property
    def decoding(self) -> DecodingConfig:
        """The `DecodingConfig` alone."""
        return self._part(DecodingConfig)

    def _part(self, cls):
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: getattr(self, name) for name in names})


@functools.cache
def _find_model_config(cls):
    """Returns `ModelConfig`, with any fields that a subclass adds."""
    # Fields that are in none of the other parts belong to the model.
    names = HParams.__dataclass_fields__
    new_fields = [
        field for field in dataclasses.fields(cls) if field.name not in names
    ]
    if not new_fields:
        return ModelConfig
    return dataclasses.make_dataclass(
        f"{cls.__name__}Model",
        [
            (field.name, field.type, dataclasses.field(default=field.default))
            for field in new_fields
        ],
        bases=(ModelConfig,),
        namespace={"model_class": cls.model_class},
        frozen=True,
    )


def find_class(names):
    """Returns `HParams`, or the smallest of its subclasses with all names."""
    classes = sorted(
        (HParams, *HParams.subclasses), key=lambda c: len(dataclasses.fields(c))
    )
    fitting = (
        c for c in classes if set(names) <= c.__dataclass_fields__.keys()
    )
    return next(fitting, HParams)


# The upper limits are as generous as for a model.
_TRAINING_RULES = (
    errors.between(1, 10_000_000, "batch_tokens"),
    errors.between(0, 1_000_000_000, "effective_batch_tokens"),
    errors.between(1, errors.LARGEST, "warmup_steps", "train_steps"),
    errors.between(0, errors.LARGEST, "decay_steps", "train_minutes"),
    errors.between(0, 1_000_000, "weight_decay", "gradient_clip_norm"),
    errors.between(0, 1_000, "consistency_weight", "guided_alignment"),
    errors.between(1e-30, 1, "adam_epsilon"),
    errors.between(1e-30, 1_000_000, "learning_rate"),
    errors.between(0, 1_000, "peak_learning_rate"),
    errors.between(0, 65_536, "lora_rank", "lora_alpha"),
    errors.between(
        0,
        MAX_FRACTION,
        *("subword_dropout", "label_smoothing", "token_cutoff"),
        *("adam_beta1", "adam_beta2", "ema_decay"),
    ),
    errors.between(0, 1, "source_noise"),
    errors.one_of(("none", "simcut", "r_drop"), "consistency"),
    errors.one_of(("adam", "adamw", "adafactor"), "optimizer"),
)
# As in `DecodeOptions`, which a run's hparams become.
_DECODING_RULES = (
    errors.between(1, 1_000, "beam_size"),
    errors.between(0, 10_000, "extra_length"),
    errors.between(0, 10, "alpha"),
)


def parse_overrides(hparams: HParams, text: str) -> HParams:
    """Returns `hparams` with the changes that a text names.

    The text has `name=value` pairs with commas between them, as the flag
    `--hparams` takes them, and may be empty.

    >>> parse_overrides(HParams(), "dropout=0.3, num_layers=2").num_layers
    2
    """
    changes = errors.parse_changes(type(hparams), text, "hparams")
    return dataclasses.replace(hparams, **changes)


def find_train_steps(
    hparams: HParams, train_steps: int | None = None
) -> int | float:
    """Returns the number of updates, or infinity with `train_minutes`.

    `train_steps` replaces the number of the hyper-parameters. Raises a
    `UserError` if it contradicts `train_minutes` or the schedule.
    """
    if hparams.train_minutes:
        if train_steps:
            raise UserError(
                "`train_steps` must not be set with `train_minutes`. Received: "
                f"train_steps={train_steps}, train_minutes="
                f"{hparams.train_minutes}. Leave one of them out; "
                "--hparams=train_minutes=0 drops the minutes of a warm start."
            )
        return math.inf
    train_steps = train_steps or hparams.train_steps
    if 0 < hparams.decay_steps < train_steps:
        raise UserError(
            "`train_steps` must be at most `decay_steps`, after which the "
            f"learning rate is 0. Received: train_steps={train_steps}, "
            f"decay_steps={hparams.decay_steps}. Set --train_steps, or "
            f"--hparams=decay_steps={train_steps}."
        )
    return train_steps


def from_dict(values: dict) -> HParams:
    """Returns the `HParams` that a run records, from its dictionary of fields.

    A field that is absent gets its default. The default of a new field must
    therefore reproduce the behaviour from before the field existed. Version 0.1
    wrote `neighbourhood`, the distance that a neighbourhood reaches to either
    side; it becomes `neighbourhood_size`.

    >>> from_dict(dataclasses.asdict(HParams(d_ff=1024))).d_ff
    1024
    """
    values = dict(values)
    if "neighbourhood_size" not in values:
        radius = values.pop("neighbourhood", 0)
        # `HParams` checks any other value.
        is_radius = type(radius) is int and radius > 0
        values["neighbourhood_size"] = 2 * radius + 1 if is_radius else radius
    cls = find_class(values)
    for name in values:
        errors.find_field(cls, name, "hparams")
    return cls(**values)
