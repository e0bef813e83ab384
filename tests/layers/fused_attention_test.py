import dataclasses

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import random_array
from layer_checks import to_numpy

from keras_transformer.layers import FusedAttention
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.model_config import ModelConfig
from keras_transformer.runs.model import build_transformer

X = random_array(2, 5, 16)
MEMORY = random_array(2, 3, 16)
PADDING = np.array([[True] * 5, [True] * 3 + [False] * 2])
TINY = ModelConfig(num_layers=1, d_model=16, num_heads=4, d_ff=32)


def make_pair(dtype="float32", **options):
    """Makes both kinds of attention with the same weights."""
    pair = []
    for cls in (FusedAttention, MultiHeadAttention):
        layer = cls(d_model=16, num_heads=4, dtype=dtype, **options)
        layer.build(X.shape)
        pair.append(layer)
    pair[0].set_weights(pair[1].get_weights())
    return pair


def compute_heads(layer, arrays):
    heads, _ = layer.compute_attention(*arrays)
    return to_numpy(ops.cast(heads, "float32"))


def rms(array):
    return np.sqrt(np.mean(array**2))


class FusedAttentionTest:
    @pytest.mark.parametrize(
        "arguments",
        [
            {},
            {"causal": True},
            {"padding_mask": PADDING},
            {"padding_mask": PADDING, "causal": True},
            {"attention_mask": np.tri(5, dtype=bool)},
            {"segments": np.array([[1, 1, 2, 2, 2], [1, 1, 1, 1, 0]])},
            {"memory": MEMORY, "padding_mask": PADDING[:, 2:]},
        ],
        ids=lambda arguments: ",".join(arguments) or "none",
    )
    def test_it_is_multi_head_attention(self, arguments):
        outputs = [to_numpy(layer(X, **arguments)) for layer in make_pair()]
        np.testing.assert_allclose(*outputs, atol=1e-6)

    def test_in_bfloat16_it_is_as_exact(self):
        queries = ops.cast(random_array(2, 4, 32, 64), "bfloat16")
        arrays = queries, 2 * queries, 1 - queries
        heads, others = (
            compute_heads(layer, arrays)
            for layer in make_pair("mixed_bfloat16")
        )
        exact = [ops.cast(array, "float32") for array in arrays]
        exact = compute_heads(make_pair()[1], exact)
        assert rms(heads - others) < 2e-3
        assert rms(heads - exact) <= rms(others - exact)

    def test_it_calls_the_kernel_of_keras(self, monkeypatch):
        fused, _ = make_pair()
        monkeypatch.setattr(
            ops, "dot_product_attention", lambda q, k, v, **_: q
        )
        queries = random_array(2, 4, 5, 4)
        heads, _ = fused.compute_attention(queries, queries, 2 * queries)
        np.testing.assert_array_equal(to_numpy(heads), queries)

    @pytest.mark.parametrize(
        "options, arguments",
        [
            ({"neighbourhood_size": 3}, {}),
            ({"d_k": 3, "d_v": 5}, {}),
            ({"attention_dropout": 0.5}, {"training": False}),
            ({}, {"return_weights": True}),
        ],
        ids=["neighbours", "widths", "dropout", "weights"],
    )
    def test_what_the_kernel_lacks_is_the_same(self, options, arguments):
        fused, plain = make_pair(**options)
        results = fused(X, **arguments), plain(X, **arguments)
        for ours, others in zip(*map(keras.tree.flatten, results)):
            np.testing.assert_allclose(
                to_numpy(ours), to_numpy(others), atol=1e-6
            )

    def test_it_drops_weights_in_training(self, monkeypatch):
        fused, _ = make_pair(attention_dropout=0.5)
        monkeypatch.setattr(fused, "dropout_layer", lambda x, training: 0 * x)
        assert not to_numpy(fused(X, training=True)).any()
        assert to_numpy(fused(X)).all()


def test_a_model_uses_it_in_every_layer():
    ids = np.array([[5, 7, 1], [5, 1, 0]])
    logits = []
    for fused in (False, True):
        config = dataclasses.replace(TINY, fused_attention=fused)
        keras.utils.set_random_seed(1)
        model = build_transformer(config, 11)
        logits.append(to_numpy(model({"inputs": ids, "targets": ids})))
        kinds = {
            type(layer)
            for layer in model._flatten_layers()
            if isinstance(layer, MultiHeadAttention)
        }
        assert kinds == {FusedAttention if fused else MultiHeadAttention}
    np.testing.assert_allclose(*logits, atol=1e-5)
