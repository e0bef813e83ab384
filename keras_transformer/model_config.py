"""The description of a model, from which all else about it is derived."""

import dataclasses
import typing

from keras_transformer import errors
from keras_transformer.errors import UserError

# The matrices that low-rank adaptation changes, and those that it adds to each.
PROJECTIONS = ("query", "key", "value", "output", "inner", "outer")
ADAPTER_SUFFIXES = ("_lora_a", "_lora_b")
SPAN_WIDTH = 256  # inner width of the classifier of spans
# These fields do not change what a trained model computes.
TRAINING_ONLY = ("dropout", "attention_dropout", "activation_dropout")
TRAINING_ONLY += ("initializer", "packed", "fused_attention")


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Describes a model: all that `build_transformer` needs.

    Defaults are the base model of Vaswani et al. (2017). Values are checked.

    A new field is added here. It reaches `Transformer` as the argument of its
    name, or else `LayerOptions`, which hands it on to the sub-layers.
    Weights that it adds or reshapes belong in `list_weights`. An exporter
    refuses its values until it declares that it understands them.

    Raises:
        UserError: If a value has the wrong type or is out of range.
    """

    # The class of the model, None for `Transformer`; see `HParams`.
    model_class: typing.ClassVar[type | None] = None

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
    norm: str = "post"  # "post" as in the paper, "pre" as in Tensor2Tensor
    norm_epsilon: float = 1e-6  # added to the variance by normalisations
    activation: str = "relu"  # inside the feed-forward; or "gelu", "silu"
    attention_bias: bool = False  # whether attention's projections have biases
    positional_encoding: str = "sinusoidal"  # tensor2tensor, learned, none
    neighbourhood_size: int = 0  # positions that one attends to (r); 0 = all
    max_relative_position: int = 0  # k of Shaw et al. (2018); 0 = no vectors
    tied_embeddings: str = "all"  # shared matrix; or "target", "none"
    scale_embeddings: bool = True  # by sqrt(d_model), as in the paper
    output_bias: bool = False  # whether the logits have a bias
    decoder_start: str = "zero"  # vector before the first token; or "padding"
    initializer: str = "small_branch_ends"  # or "tensor2tensor", "glorot"
    max_length: int = 256  # longest sentence kept for training, in tokens
    span_labels: int = 0  # labels of spans, for parsing; 0 = none
    packed: bool = False  # whether several sentence pairs share a row
    fused_attention: bool = False  # by a kernel of the GPU; see FusedAttention

    def __post_init__(self):
        errors.check(self, _RULES)
        errors.check_heads(self.d_model, self.num_heads, self.d_k, self.d_v)
        if self.model_class and self.span_labels:
            raise UserError(
                "`span_labels` must be 0 with a model of your own. Received: "
                f"span_labels={self.span_labels} and "
                f"{self.model_class.__name__}. Leave it out."
            )
        sinusoids = "sinusoidal", "tensor2tensor"
        if self.d_model % 2 and self.positional_encoding in sinusoids:
            raise UserError(
                "`d_model` must be even with sinusoidal positions. Received: "
                f"d_model={self.d_model}. Add 1 to it, or use "
                "positional_encoding=learned."
            )

    @property
    def decoder_depth(self) -> int:
        """The number of layers of the decoder."""
        return self.num_decoder_layers or self.num_layers

    @property
    def head_widths(self) -> tuple[int, int]:
        """The widths of a head's keys and of its values, `d_k` and `d_v`."""
        width = self.d_model // self.num_heads
        return self.d_k or width, self.d_v or width

    @property
    def architecture(self) -> dict[str, bool | int | float | str]:
        """The fields that determine the weights and their use, by name.

        Models with the same architecture can exchange their weights.
        """
        values = dataclasses.asdict(self)
        for name in TRAINING_ONLY:
            del values[name]
        # The numbers that a 0 stands for, since another run may state them.
        values["num_decoder_layers"] = self.decoder_depth
        values["d_k"], values["d_v"] = self.head_widths
        if self.positional_encoding != "learned":
            del values["max_length"]  # sinusoids have no weights
        return values


# No sensible model comes near the upper limits. Beyond them, sizes exceed any
# memory, counts exceed int32, and fractions round to 1 in float32.
MAX_FRACTION = 0.999999
_RULES = (
    errors.between(1, 1_000, "num_layers", "num_heads"),
    errors.between(1, 65_536, "d_model"),
    errors.between(0, 1_000, "num_decoder_layers"),
    errors.between(0, 65_536, "d_k", "d_v"),
    errors.between(1, 1_000_000, "d_ff", "max_length"),
    errors.between(0, 1_000_000, "neighbourhood_size"),
    errors.between(0, 10_000, "max_relative_position", "span_labels"),
    errors.between(
        0, MAX_FRACTION, *("dropout", "attention_dropout", "activation_dropout")
    ),
    errors.one_of(("post", "pre"), "norm"),
    errors.between(1e-12, 1, "norm_epsilon"),
    errors.one_of(("relu", "gelu", "silu"), "activation"),
    errors.one_of(("zero", "padding"), "decoder_start"),
    errors.one_of(
        ("sinusoidal", "tensor2tensor", "learned", "none"),
        "positional_encoding",
    ),
    errors.one_of(
        ("small_branch_ends", "tensor2tensor", "glorot"), "initializer"
    ),
    errors.one_of(("all", "target", "none"), "tied_embeddings"),
)


def list_weights(config, vocab_size, input_vocab_size=None):
    """Returns the name and the shape of every weight of a model.

    Checkpoints have the same names, see `runs.model`. This is the only place
    that states shapes: checkpoints are checked against it before a backend is
    loaded, and the memory and the arithmetic of training follow from it.
    `input_vocab_size` defaults to `vocab_size`, that of the targets.

    >>> weights = list_weights(ModelConfig(d_model=8, num_heads=2), 100)
    >>> weights["model/embedding/embeddings"]
    (100, 8)
    """
    d_model = config.d_model
    shapes = {"embedding/embeddings": (vocab_size, d_model)}
    if config.tied_embeddings != "all":
        num_rows = input_vocab_size or vocab_size
        shapes["embedding/input_embeddings"] = (num_rows, d_model)
    if config.tied_embeddings == "none":
        shapes["embedding/softmax_weights"] = (vocab_size, d_model)
    if config.output_bias:
        shapes["embedding/output_bias"] = (vocab_size,)
    if config.positional_encoding == "learned":
        for side in ("input", "target"):
            table = f"{side}_positions/positions"
            shapes[table] = (config.max_length, d_model)
    shapes |= _stack("encoder", config.num_layers, ["self_attention"], config)
    attentions = ["self_attention", "cross_attention"]
    shapes |= _stack("decoder", config.decoder_depth, attentions, config)
    if config.span_labels:
        shapes |= {
            "spans/first": (d_model, SPAN_WIDTH),
            "spans/last": (d_model, SPAN_WIDTH),
            **_norm("spans/norm", SPAN_WIDTH),
            "spans/labels": (SPAN_WIDTH, config.span_labels),
            "spans/labels_bias": (config.span_labels,),
        }
    if config.model_class:
        shapes |= config.model_class.list_own_weights(config)
    return {f"model/{name}": shape for name, shape in shapes.items()}


def list_adapters(weights, rank):
    """Returns name and shape of every low-rank adapter of a model.

    The projections have adapters; `weights` is the result of `list_weights`.

    >>> list_adapters({"model/encoder/layer_0/feed_forward/inner": (8, 32)}, 2)
    {'model/encoder/layer_0/feed_forward/inner_lora_a': (8, 2), \
'model/encoder/layer_0/feed_forward/inner_lora_b': (2, 32)}
    """
    shapes = {}
    for name, shape in weights.items():
        if name.rpartition("/")[2] in PROJECTIONS:
            pair = (shape[0], rank), (rank, shape[1])
            for suffix, adapter_shape in zip(ADAPTER_SUFFIXES, pair):
                shapes[name + suffix] = adapter_shape
    return shapes


def _stack(name, depth, attentions, config):
    """Returns the shapes of the encoder or the decoder."""
    shapes = {}
    for number in range(depth):
        layer = f"{name}/layer_{number}"
        for attention in attentions:
            shapes |= _attention(f"{layer}/{attention}", config)
        shapes |= {
            f"{layer}/feed_forward/inner": (config.d_model, config.d_ff),
            f"{layer}/feed_forward/inner_bias": (config.d_ff,),
            f"{layer}/feed_forward/outer": (config.d_ff, config.d_model),
            f"{layer}/feed_forward/outer_bias": (config.d_model,),
        }
        for sublayer in (*attentions, "feed_forward"):
            shapes |= _norm(f"{layer}/{sublayer}_residual/norm", config.d_model)
    # With pre-norm, no layer normalises the output of the last one.
    if config.norm == "pre":
        shapes |= _norm(f"{name}/final_norm", config.d_model)
    return shapes


def _attention(name, config):
    # The kernels of all heads stand side by side.
    key_width, value_width = (
        config.num_heads * width for width in config.head_widths
    )
    shapes = {
        f"{name}/query": (config.d_model, key_width),
        f"{name}/key": (config.d_model, key_width),
        f"{name}/value": (config.d_model, value_width),
        f"{name}/output": (value_width, config.d_model),
    }
    if config.attention_bias:
        shapes |= {f"{n}_bias": (shape[-1],) for n, shape in shapes.items()}
    if config.max_relative_position and name.endswith("/self_attention"):
        num_distances = 2 * config.max_relative_position + 1
        for kind, width in zip(("keys", "values"), config.head_widths):
            shapes[f"{name}/relative_{kind}"] = (num_distances, width)
    return shapes


def _norm(name, width):
    return {f"{name}/gamma": (width,), f"{name}/beta": (width,)}
