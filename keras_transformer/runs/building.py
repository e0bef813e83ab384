"""Builds the model that a `ModelConfig` describes."""

import dataclasses
import typing

import keras

from keras_transformer.layers.fused_attention import FusedAttention
from keras_transformer.layers.transformer import Transformer
from keras_transformer.parsing.parsing_transformer import ParsingTransformer

if typing.TYPE_CHECKING:
    from keras_transformer.model_config import ModelConfig

# Keras dtype policy of each precision that training and decoding offer.
POLICIES = {
    "float32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}


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
