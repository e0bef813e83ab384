"""A Transformer of two small layers, with inputs and targets for it."""

import numpy as np
import pytest
from layer_checks import to_numpy

from keras_transformer.layers.transformer import Transformer
from keras_transformer.parsing.parsing_transformer import ParsingTransformer

INPUTS = np.array([[3, 4, 5, 1, 0, 0], [6, 7, 8, 9, 10, 1]], "int32")
TARGETS = np.array([[5, 6, 7, 1, 0], [2, 3, 4, 8, 1]], "int32")
# What models of Marian have and that of the paper lacks.
MARIAN = {
    "attention_bias": True,
    "output_bias": True,
    "scale_embeddings": False,
    "decoder_start": "padding",
}
VARIANTS = pytest.mark.parametrize(
    "options",
    [
        # These three combine all options. Each option alone is a slow test.
        {"norm": "pre", "positional_encoding": "learned", "num_layers": 3}
        | {"num_decoder_layers": 1, "neighbourhood_size": 3},
        {"max_relative_position": 2, "positional_encoding": "none"}
        | {"tied_embeddings": "target", "input_vocab_size": 13}
        | {"d_k": 3, "d_v": 5},
        {"activation": "silu", "norm_epsilon": 1e-5, **MARIAN},
        *(
            pytest.param(options, marks=pytest.mark.slow)
            for options in (
                {"norm": "post", "positional_encoding": "sinusoidal"},
                {"norm": "pre", "positional_encoding": "learned"},
                {"neighbourhood_size": 3, "d_k": 3, "d_v": 5},
                {"max_relative_position": 2, "positional_encoding": "none"},
                {"num_layers": 3, "num_decoder_layers": 1},
                {"tied_embeddings": "target", "input_vocab_size": 13},
                {"norm": "pre", "positional_encoding": "sinusoidal"},
                {"norm": "post", "positional_encoding": "learned"},
                {"norm": "pre", "positional_encoding": "tensor2tensor"},
            )
        ),
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)


def make_transformer(**options):
    sizes = {"num_layers": 2, "d_model": 8, "num_heads": 2, "d_ff": 16}
    cls = ParsingTransformer if "span_labels" in options else Transformer
    model = cls(**{"vocab_size": 11, **sizes, **options})
    model.build()
    return model


def logits_of(model, inputs=INPUTS, targets=TARGETS, **options):
    features = {"inputs": inputs, "targets": targets}
    return to_numpy(model(features, **options))
