"""Hyper-parameters: a frozen dataclass with strict overrides, and JSON."""

import dataclasses
import json

from keras_transformer import fields


@dataclasses.dataclass(frozen=True)
class HParams:
    """Describes a model, its training and its decoding.

    The defaults are the base model of Vaswani et al. (2017), with a batch size
    for one small device. A registered hparams set states only its differences,
    with `dataclasses.replace`. Values are checked at construction.

    Raises:
        ValueError: If a value has the wrong type or is out of range.

    Example:

    >>> HParams(d_model=256, num_heads=4).d_ff
    2048
    """

    num_layers: int = 6  # number of layers of the encoder (N)
    d_model: int = 512  # width of embeddings and sub-layer outputs
    d_ff: int = 2048  # inner width of the feed-forward sub-layer
    num_heads: int = 8  # number of attention heads (h)
    d_k: int = 0  # width of a query or key of a head; 0 = d_model / h
    d_v: int = 0  # width of a value of a head; 0 = d_model / h
    num_decoder_layers: int = 0  # layers of the decoder; 0 = num_layers
    dropout: float = 0.1  # rate on sub-layer outputs and embeddings (P_drop)
    attention_dropout: float = 0.0  # rate on attention weights; paper's base: 0
    activation_dropout: float = 0.0  # rate inside the feed-forward; paper: 0
    subword_dropout: float = 0.0  # share of BPE merges left out (p); 0 = none
    norm: str = "post"  # "post" as in the paper, "pre" as in Tensor2Tensor
    positional_encoding: str = "sinusoidal"  # or "learned" (Table 3 row E)
    neighbourhood_size: int = 0  # positions that one attends to (r); 0 = all
    tied_embeddings: str = "all"  # shared matrix; or "target", "none"
    initializer: str = "small_branch_ends"  # or "tensor2tensor", the authors'
    label_smoothing: float = 0.1  # share spread over the vocabulary (eps_ls)
    consistency: str = "none"  # or "simcut", "r_drop"
    consistency_weight: float = 3.0  # weight of the divergence (alpha)
    token_cutoff: float = 0.05  # share of tokens that simcut cuts (p_cut)
    guided_alignment: float = 0.0  # weight of given word alignments; 0 = off
    max_length: int = 256  # longest sentence kept for training, in tokens
    batch_tokens: int = 4096  # positions per side a device takes at once
    effective_batch_tokens: int = 0  # real tokens of an update; 0 = one batch
    packed: bool = False  # whether several sentence pairs share a row
    optimizer: str = "adam"  # or "adamw", "adafactor"
    adam_beta1: float = 0.9  # decay of the mean of gradients (beta_1)
    adam_beta2: float = 0.98  # decay of the mean of their squares (beta_2)
    adam_epsilon: float = 1e-9  # added to the denominator (epsilon)
    weight_decay: float = 0.0  # of adamw and adafactor; 0 = none
    gradient_clip_norm: float = 0.0  # largest norm of the gradients; 0 = any
    ema_decay: float = 0.0  # decay of the average of the weights; 0 = none
    learning_rate: float = 1.0  # factor on the paper's schedule
    warmup_steps: int = 4000  # number of steps of linear increase
    train_steps: int = 100000  # total number of updates
    beam_size: int = 4  # number of hypotheses kept while decoding
    alpha: float = 0.6  # length penalty ((5 + length) / 6) ** alpha
    extra_length: int = 50  # tokens that an output may exceed its input by

    def __post_init__(self):
        fields.check(self, _RULES)
        if self.d_model % self.num_heads and not (self.d_k and self.d_v):
            raise ValueError(
                "`d_model` must be divisible by `num_heads`. Received: "
                f"d_model={self.d_model}, num_heads={self.num_heads}. Use a "
                f"divisor of d_model such as {_near_divisor(self)}, or set "
                "both d_k and d_v."
            )
        if self.weight_decay and self.optimizer == "adam":
            raise ValueError(
                "`weight_decay` must be 0 with an optimizer without weight "
                f"decay. Received: weight_decay={self.weight_decay}, "
                f"optimizer={self.optimizer!r}. Use optimizer=adamw."
            )
        self._check_guidance()
        rates = self.dropout, self.attention_dropout, self.activation_dropout
        if self.consistency == "r_drop" and not any(rates):
            raise ValueError(
                "`consistency` must not be 'r_drop' without dropout, because "
                "both passes would be the same. Received: "
                f"consistency='r_drop', dropout={self.dropout}. Set dropout to "
                "a rate such as 0.1, or use consistency=simcut."
            )

    def _check_guidance(self):
        for name, plain in (
            ("packed", False),
            ("subword_dropout", 0),
            ("consistency", "none"),
        ):
            value = getattr(self, name)
            if self.guided_alignment and value != plain:
                raise ValueError(
                    f"`guided_alignment` must be 0 with `{name}`, because "
                    "alignments are of the stored tokens of single pairs. "
                    f"Received: guided_alignment={self.guided_alignment}, "
                    f"{name}={value}. Leave one of them out."
                )

    @property
    def decoder_depth(self):
        """The number of layers of the decoder."""
        return self.num_decoder_layers or self.num_layers

    @property
    def head_widths(self):
        """The widths of a head's keys and of its values, `d_k` and `d_v`."""
        width = self.d_model // self.num_heads
        return self.d_k or width, self.d_v or width

    @property
    def passes_per_update(self):
        """How many times an update runs the model on each sentence pair."""
        return 1 if self.consistency == "none" else 2

    def embedding_rows(self, vocab_size, input_vocab_size=None):
        """Returns the number of rows of each matrix of `TokenEmbeddings`.

        Args:
            vocab_size: Integer number of token ids of the targets.
            input_vocab_size: Integer number of token ids of the inputs.
                Defaults to None, which means `vocab_size`.

        Returns:
            A dictionary of name to integer.
        """
        rows = {"embeddings": vocab_size}
        if self.tied_embeddings != "all":
            rows["input_embeddings"] = input_vocab_size or vocab_size
        if self.tied_embeddings == "none":
            rows["softmax_weights"] = vocab_size
        return rows


# No sensible model or training comes near the upper limits. Beyond them, sizes
# exceed every memory, counts exceed int32, and fractions round to 1 in float32.
_RULES = (
    fields.between(1, 1_000, "num_layers", "num_heads", "beam_size"),
    fields.between(1, 65_536, "d_model"),
    fields.between(0, 1_000, "num_decoder_layers"),
    fields.between(0, 65_536, "d_k", "d_v"),
    fields.between(1, 1_000_000, "d_ff", "max_length"),
    fields.between(0, 1_000_000, "neighbourhood_size"),
    fields.between(1, 10_000_000, "batch_tokens"),
    fields.between(0, 1_000_000_000, "effective_batch_tokens"),
    fields.between(1, fields.LARGEST, "warmup_steps", "train_steps"),
    # As in `DecodeOptions`, which a run's hparams become.
    fields.between(0, 10_000, "extra_length"),
    fields.between(0, 10, "alpha"),
    fields.between(0, 1_000_000, "weight_decay", "gradient_clip_norm"),
    fields.between(0, 1_000, "consistency_weight", "guided_alignment"),
    fields.between(1e-30, 1, "adam_epsilon"),
    fields.between(1e-30, 1_000_000, "learning_rate"),
    fields.between(
        0,
        0.999999,
        *("dropout", "attention_dropout", "activation_dropout"),
        "subword_dropout",
        *("label_smoothing", "adam_beta1", "adam_beta2", "ema_decay"),
        "token_cutoff",
    ),
    fields.one_of(("post", "pre"), "norm"),
    fields.one_of(("sinusoidal", "learned"), "positional_encoding"),
    fields.one_of(("small_branch_ends", "tensor2tensor"), "initializer"),
    fields.one_of(("all", "target", "none"), "tied_embeddings"),
    fields.one_of(("none", "simcut", "r_drop"), "consistency"),
    fields.one_of(("adam", "adamw", "adafactor"), "optimizer"),
)


def parse_overrides(hparams, text):
    """Returns `hparams` with the changes that a text names.

    Args:
        hparams: The `HParams` to start from.
        text: `name=value` pairs with commas between them, as the flag
            `--hparams` takes them; may be empty.

    Raises:
        ValueError: If a name is unknown or repeated, or if a value does not
            fit.

    Example:

    >>> parse_overrides(HParams(), "dropout=0.3, num_layers=2").num_layers
    2
    """
    changes = fields.parse_changes(HParams, text, "hparams")
    return dataclasses.replace(hparams, **changes)


def to_json(hparams):
    """Returns `hparams` as JSON text with one line for each field."""
    return json.dumps(dataclasses.asdict(hparams), indent=2) + "\n"


def from_dict(values):
    """Returns the `HParams` whose JSON text `to_json` wrote.

    A field that is absent gets its default. The default of a new field must
    therefore reproduce the behaviour from before the field existed. Version 0.1
    wrote `neighbourhood`, the distance that a neighbourhood reaches to either
    side; it becomes `neighbourhood_size`.

    Args:
        values: Dictionary of name to value.

    Raises:
        ValueError: If a name is unknown, or if a value does not fit.

    Example:

    >>> from_dict(json.loads(to_json(HParams(d_ff=1024)))).d_ff
    1024
    """
    values = dict(values)
    if "neighbourhood_size" not in values:
        values["neighbourhood_size"] = _size(values.pop("neighbourhood", 0))
    for name in values:
        fields.find_field(HParams, name, "hparams")
    return HParams(**values)


def _size(radius):
    """Returns the size of the neighbourhood of a radius, 0 if it is 0."""
    # Any other value is left to the check of `HParams`.
    is_size = type(radius) is int and radius > 0
    return 2 * radius + 1 if is_size else radius


def _near_divisor(hparams):
    divisors = [
        number
        for number in range(1, hparams.d_model + 1)
        if hparams.d_model % number == 0
    ]
    return min(divisors, key=lambda number: abs(number - hparams.num_heads))
