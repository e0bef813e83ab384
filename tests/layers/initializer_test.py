import numpy as np
import pytest
from layer_checks import random_array
from layer_checks import to_numpy

from keras_transformer import layers
from keras_transformer.hparam import HParams
from keras_transformer.layers.projection import INITIALIZERS
from keras_transformer.runs.model import build_transformer

SIZES = {"d_model": 64, "num_heads": 2, "d_ff": 256, "d_k": 16, "d_v": 48}
# Columns of queries and keys, and of values and the heads' outputs.
KEYS, VALUES = 32, 96


def kernels(initializer):
    """Returns the kernels of a decoder layer by name."""
    layer = layers.DecoderLayer(**SIZES, initializer=initializer)
    layer.build((None, None, 64))
    return {
        weight.path.split("/", 1)[1]: to_numpy(weight)
        for weight in layer.trainable_weights
    }


def check_uniform(kernel, rows, columns):
    """Checks that a kernel starts as that of these dimensions by Glorot."""
    limit = np.sqrt(6 / (rows + columns))
    assert 0.95 * limit < np.abs(kernel).max() <= limit
    assert kernel.std() == pytest.approx(limit / np.sqrt(3), rel=0.05)


class Tensor2TensorTest:
    def test_one_input_has_one_joint_kernel(self):
        weights = kernels("tensor2tensor")
        for name in ("query", "key", "value"):
            kernel = weights[f"self_attention/{name}"]
            check_uniform(kernel, 64, KEYS + KEYS + VALUES)
        check_uniform(weights["cross_attention/query"], 64, KEYS)
        for name in ("key", "value"):
            kernel = weights[f"cross_attention/{name}"]
            check_uniform(kernel, 64, KEYS + VALUES)

    def test_the_other_kernels_are_glorots(self):
        weights = kernels("tensor2tensor")
        check_uniform(weights["self_attention/output"], VALUES, 64)
        check_uniform(weights["cross_attention/output"], VALUES, 64)
        check_uniform(weights["feed_forward/inner"], 64, 256)
        check_uniform(weights["feed_forward/outer"], 256, 64)

    def test_attention_alone_knows_whether_it_has_a_memory(self):
        x, memory = random_array(2, 1, 3, 64)
        for inputs, columns in (([x], 192), ([x, memory], 128)):
            layer = layers.MultiHeadAttention(
                64, 2, initializer="tensor2tensor"
            )
            layer(*inputs)
            check_uniform(to_numpy(layer.key_kernel), 64, columns)


class GlorotTest:
    def test_every_kernel_counts_its_own_columns(self):
        weights = kernels("glorot")
        for attention in ("self_attention", "cross_attention"):
            for name in ("query", "key"):
                check_uniform(weights[f"{attention}/{name}"], 64, KEYS)
            check_uniform(weights[f"{attention}/value"], 64, VALUES)
            check_uniform(weights[f"{attention}/output"], VALUES, 64)
        check_uniform(weights["feed_forward/inner"], 64, 256)
        check_uniform(weights["feed_forward/outer"], 256, 64)


class SmallBranchEndsTest:
    def test_kernels_at_the_end_of_a_branch_are_small(self):
        weights = kernels("small_branch_ends")
        for name in (
            "self_attention/output",
            "cross_attention/output",
            "feed_forward/outer",
        ):
            assert weights[name].std() == pytest.approx(0.02, rel=0.05)

    def test_the_other_kernels_are_glorots(self):
        weights = kernels("small_branch_ends")
        for attention in ("self_attention", "cross_attention"):
            for name, columns in (("key", KEYS), ("value", VALUES)):
                check_uniform(weights[f"{attention}/{name}"], 64, columns)
        check_uniform(weights["feed_forward/inner"], 64, 256)


class AnyInitializerTest:
    @pytest.mark.parametrize("initializer", INITIALIZERS)
    def test_no_two_kernels_start_alike(self, initializer):
        values = [kernel.flat[:8] for kernel in kernels(initializer).values()]
        starts = {values.tobytes() for values in values if values.std()}
        # Ten kernels; the biases and normalisations are constant.
        assert len(starts) == 10

    @pytest.mark.parametrize("initializer", INITIALIZERS)
    def test_every_layer_of_a_model_takes_it_from_the_hparams(
        self, initializer
    ):
        hparams = HParams(
            num_layers=2, d_model=8, num_heads=2, initializer=initializer
        )
        model = build_transformer(hparams.model, 20)
        for stack in (model.encoder.stack, model.decoder.stack):
            for layer in stack:
                assert layer.feed_forward.initializer == initializer
                assert layer.self_attention.initializer == initializer
        assert model.get_config()["initializer"] == initializer

    @pytest.mark.parametrize(
        "make",
        [
            lambda **options: layers.MultiHeadAttention(8, 2, **options),
            lambda **options: layers.FeedForward(8, 16, **options),
            lambda **options: layers.EncoderLayer(8, 2, 16, **options),
        ],
    )
    def test_error_of_an_unknown_one_lists_them(self, make):
        with pytest.raises(
            ValueError, match="small_branch_ends, tensor2tensor, glorot. .*'he'"
        ):
            make(initializer="he")
