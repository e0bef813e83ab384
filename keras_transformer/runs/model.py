"""The model of a run on Keras, filled from its weights, and its variables."""

import dataclasses
import typing

import keras
import numpy as np
from keras import ops

from keras_transformer.errors import UserError
from keras_transformer.files.array_files import check_shapes
from keras_transformer.layers.fused_attention import FusedAttention
from keras_transformer.layers.transformer import Transformer
from keras_transformer.parsing.parsing_transformer import ParsingTransformer
from keras_transformer.runs.weights import carry_over
from keras_transformer.runs.weights import check_checkpoint
from keras_transformer.runs.weights import check_same_architecture
from keras_transformer.runs.weights import is_adapter
from keras_transformer.runs.weights import read_weights

if typing.TYPE_CHECKING:
    from keras_transformer.model_config import ModelConfig

# Keras dtype policy of each precision that training and decoding offer.
POLICIES = {
    "float32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}
EMBEDDING = "model/embedding/"  # prefix of the embedding matrices
SEED = "seed_generator_state"


def build_transformer(
    config: "ModelConfig",
    vocab_size: int,
    dtype: str | keras.DTypePolicy | None = None,
    input_vocab_size: int | None = None,
) -> Transformer:
    """Builds the model that a `ModelConfig` describes, with its weights.

    Args:
        config: `ModelConfig`. Each field becomes the argument of `Transformer`
            that has its name, and `fused_attention` the class of attention.
        vocab_size: Integer number of token ids of the targets.
        dtype: Keras dtype policy such as "mixed_bfloat16". Defaults to Keras'.
        input_vocab_size: Integer number of token ids of the inputs. Defaults
            to None, which means `vocab_size`.

    Returns:
        A `Transformer`; a `ParsingTransformer` if the config has `span_labels`;
        or the subclass that is the config's `model_class`.

    Example:

    >>> from keras_transformer.model_config import ModelConfig
    >>> config = ModelConfig(num_layers=1, d_model=8, num_heads=2, d_ff=16)
    >>> build_transformer(config, vocab_size=100).count_params()
    2208
    """
    options = dataclasses.asdict(config)
    for name in ("d_k", "d_v", "num_decoder_layers"):
        options[name] = options[name] or None  # 0 stands for the default
    if options.pop("fused_attention"):
        options["attention"] = FusedAttention
    cls = ParsingTransformer if config.span_labels else Transformer
    if cls is Transformer:
        del options["span_labels"]
    model = (config.model_class or cls)(
        vocab_size, input_vocab_size=input_vocab_size, dtype=dtype, **options
    )
    model.build()
    return model


def load_model(run, step=None, precision="float32"):
    """Builds the `Transformer` of a run with the weights of a checkpoint.

    If the run keeps moving averages (`ema_decay`), the model gets those. The
    step is an integer or "best" and defaults to the newest. The precision of
    the computation is "float32", "bfloat16" or "float16".
    """
    if precision not in POLICIES:
        raise UserError(
            f"`precision` must be one of {', '.join(POLICIES)}. Received: "
            f"precision={precision!r}. Choose one of these."
        )
    check_checkpoint(run, step)
    vocab_size, input_vocab_size = run.vocabularies.sizes
    model = build_transformer(
        run.hparams.model, vocab_size, POLICIES[precision], input_vocab_size
    )
    _assign_weights(model, read_weights(run.checkpoints, step), run.path)
    return model


def warm_start(model, other, run, step=None):
    """Gives a model the weights of another run's checkpoint.

    These are the weights that the other run decodes with: its moving averages
    if it keeps them. The state of the optimizer is not copied. If the
    vocabularies differ, `carry_over` computes the embeddings. If the models
    differ otherwise, nothing changes. The step defaults to the newest.
    """
    check_same_architecture(run.hparams.model, other)
    arrays = read_weights(other.checkpoints, step)
    for name in arrays:
        if name.startswith(EMBEDDING):
            side = "source_vocabulary" if "input" in name else "vocabulary"
            earlier, ours = getattr(other, side), getattr(run, side)
            if earlier.sha256 != ours.sha256:
                arrays[name] = carry_over(arrays[name], earlier, ours)
    _assign_weights(model, arrays, other.path)


def _assign_weights(model, arrays, source):
    named = model_variables(model)
    # Adapters are new and keep their initial values.
    named = {n: named[n] for n in named if not is_adapter(n)}
    write_variables(named, arrays, source)


def model_variables(model):
    """Returns the weights of a model by name.

    A name is the place in the model, such as
    `model/encoder/layer_0/self_attention/query`. Keras' seeds for dropout
    layers are omitted, since training does not use them (see `layers.dropout`).
    """
    return {
        f"model/{_get_place(variable)}": variable
        for variable in model.variables
        if variable.name != SEED
    }


def average_variables(model, optimizer):
    """Returns the moving averages (EMA) of weights, if the optimizer keeps any.

    The average of the weight `model/...` is called `average/...`.
    """
    places = map(_get_place, model.trainable_variables)
    # In the order of the weights that the optimizer was built on.
    averages = _get_averages(optimizer)
    return {f"average/{place}": v for place, v in zip(places, averages)}


def optimizer_variables(optimizer):
    """Returns the moments and the counters of a built Keras optimizer by name.

    The moving averages are not among them. Keras gives some variables the same
    path, for example those of Adafactor for all weights called `query`. Their
    names get a number from the second one on: `optimizer/query:2`.
    """
    # By identity, because `==` compares the values of Keras variables.
    averages = {id(variable) for variable in _get_averages(optimizer)}
    named = {}
    counts = {}
    for variable in optimizer.variables:
        if id(variable) not in averages:
            name = f"optimizer/{_get_place(variable)}"
            counts[name] = counts.get(name, 0) + 1
            number = f":{counts[name]}" if counts[name] > 1 else ""
            named[name + number] = variable
    return named


def read_variables(named):
    """Copies named variables into a dictionary of NumPy arrays."""
    return {
        name: ops.convert_to_numpy(variable) for name, variable in named.items()
    }


def write_variables(named, arrays, source):
    """Assigns arrays to the variables of the same names.

    Further arrays are ignored. If one is missing or has another shape, a
    `UserError` about the path `source` is raised and no variable changes.
    """
    # All are checked first, so that an error leaves the model as it was.
    check_shapes(
        {name: tuple(variable.shape) for name, variable in named.items()},
        {name: arrays[name].shape for name in named if name in arrays},
        source,
        "Use the hparams and the vocabulary that the run was trained with.",
    )
    for name, variable in named.items():
        variable.assign(np.asarray(arrays[name]))


def _get_place(variable):
    # The first part of a path is the name of the model or the optimizer. Keras
    # creates some empty variables of Adafactor without it.
    return variable.path.split("/", 1)[-1]


def _get_averages(optimizer):
    # Keras has no public access to the averages. With float16 the optimizer is
    # wrapped in one that scales the loss.
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return inner._model_variables_moving_average if inner.use_ema else []
