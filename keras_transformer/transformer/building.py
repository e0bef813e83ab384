"""Builds the model that hyper-parameters describe."""

import dataclasses
import inspect

from keras_transformer.layers.transformer_layer import TransformerLayer
from keras_transformer.transformer.transformer import Transformer

# Keras dtype policy of each precision that training and decoding offer.
POLICIES = {
    "float32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}


def build_transformer(hparams, vocab_size, dtype=None, input_vocab_size=None):
    """Builds the model that an `HParams` describes, with its weights.

    Args:
        hparams: `HParams`. Its fields that are named like arguments of
            `Transformer` become these arguments.
        vocab_size: Integer number of token ids of the targets.
        dtype: Keras dtype policy such as "mixed_bfloat16". Defaults to Keras'
            own default.
        input_vocab_size: Integer number of token ids of the inputs. Defaults
            to None, which means `vocab_size`.

    Returns:
        A `Transformer`.

    Example:

    >>> from keras_transformer.hparam import HParams
    >>> hparams = HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16)
    >>> build_transformer(hparams, vocab_size=100).count_params()
    2208
    """
    arguments = {
        *inspect.signature(Transformer).parameters,
        *inspect.signature(TransformerLayer).parameters,
    }
    # Other fields of HParams describe data, training and decoding.
    options = {
        name: value
        for name, value in dataclasses.asdict(hparams).items()
        if name in arguments
    }
    for name in ("d_k", "d_v", "num_decoder_layers"):
        options[name] = options[name] or None  # 0 stands for the default
    options["input_vocab_size"] = input_vocab_size
    model = Transformer(vocab_size, dtype=dtype, **options)
    model.build()
    return model
