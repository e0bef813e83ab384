import keras
import pytest

from keras_transformer.hparam import HParams
from keras_transformer.runs.model import POLICIES
from keras_transformer.runs.model import build_transformer
from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.options import DecodeOptions

if keras.backend.backend() != "tensorflow":
    pytest.skip("looks into graphs of TensorFlow", allow_module_level=True)

import tensorflow as tf

HPARAMS = HParams(num_layers=1, d_model=8, d_ff=16, num_heads=2)


class FindHypothesesTest:
    def test_matrices_enter_the_loop_in_the_precision_of_products(self):
        # In another precision, each step would cast all of them again.
        model = build_transformer(HPARAMS.model, 30, POLICIES["bfloat16"])
        search = tf.function(
            lambda *arrays: find_hypotheses(model, DecodeOptions(), *arrays),
            input_signature=[
                tf.TensorSpec((None, None), tf.int32),
                tf.TensorSpec((None,), tf.int32),
            ],
            autograph=False,
        )
        operations = search.get_concrete_function().graph.get_operations()
        (loop,) = [each for each in operations if each.type.endswith("While")]
        matrices = [
            tensor
            for tensor in loop.inputs
            if len(tensor.shape) == 2 and tensor.shape.is_fully_defined()
        ]
        # Four kernels of self-attention, the two of cross-attention that a step
        # needs, two of the feed-forward network, and the embedding.
        assert len(matrices) == 9
        assert {tensor.dtype.name for tensor in matrices} == {"bfloat16"}
