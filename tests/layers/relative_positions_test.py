"""Relative positions, against equations 3 and 4 of Shaw et al. (2018)."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import check_mixed_precision
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import softmax
from layer_checks import to_numpy
from layer_checks import weights_by_path

from keras_transformer.layers import Encoder
from keras_transformer.layers import FusedAttention
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers import SharedEmbedding
from keras_transformer.layers.relative_positions import Distances
from keras_transformer.losses import SmoothedCrossEntropy

K = 2  # the largest distance with vectors of its own
HEADS, D_K, D_V = 2, 3, 5


def make(cls=MultiHeadAttention, **options):
    sizes = {"d_model": 8, "num_heads": HEADS, "d_k": D_K, "d_v": D_V}
    layer = cls(**sizes, max_relative_position=K, **options)
    layer.build((None, None, 8))
    randomize(layer)
    return layer


def attend(layer, x, visible):
    """Computes equations 3 and 4 with a vector for each pair of positions."""
    weights = weights_by_path(layer)
    length = len(x)
    steps = np.arange(length) - np.arange(length)[:, None]
    pairs = np.clip(steps, -K, K) + K
    key_vectors = weights["relative_keys"][pairs]  # (length, length, d_k)
    value_vectors = weights["relative_values"][pairs]
    heads = []
    for head in range(HEADS):
        queries, keys, values = (
            x @ np.split(weights[name], HEADS, axis=1)[head]
            for name in ("query", "key", "value")
        )
        scores = np.sum(queries[:, None] * (keys + key_vectors), -1)  # (4)
        scores = np.where(visible, scores / np.sqrt(D_K), -np.inf)
        shares = softmax(scores)[..., None]
        heads.append(np.sum(shares * (values + value_vectors), 1))  # (3)
    return np.concatenate(heads, axis=-1) @ weights["output"]


class RelativePositionsTest:
    @pytest.mark.parametrize("length", [1, 2, 3, 9])
    @pytest.mark.parametrize("causal", [True, False])
    def test_equals_the_papers_equations(self, length, causal):
        layer, x = make(), random_array(2, length, 8)
        visible = np.tri(length) > 0 if causal else np.ones((length, length))
        np.testing.assert_allclose(
            to_numpy(layer(x, causal=causal)),
            [attend(layer, row, visible) for row in x],
            atol=1e-5,
        )

    @pytest.mark.parametrize("causal", [True, False])
    def test_equals_them_in_blocks_of_neighbours(self, causal):
        length, size = 70, 5  # three blocks, the last one not full
        layer, x = make(neighbourhood_size=size), random_array(1, length, 8)
        steps = np.arange(length) - np.arange(length)[:, None]
        visible = (abs(steps) <= 2) & ((steps <= 0) | (not causal))
        np.testing.assert_allclose(
            to_numpy(layer(x, causal=causal))[0],
            attend(layer, x[0], visible),
            atol=1e-5,
        )

    def test_equals_them_in_a_graph_of_unknown_length(self):
        layer, x = make(), random_array(1, 6, 8)
        inputs = keras.Input((None, 8))
        model = keras.Model(inputs, layer(inputs))
        np.testing.assert_allclose(
            to_numpy(model(x))[0],
            attend(layer, x[0], np.ones((6, 6))),
            atol=1e-5,
        )

    def test_the_vectors_have_gradients(self):
        layer, x = make(), random_array(1, 6, 8)
        names = weights_by_path(layer)
        for name, shape in (("keys", (5, D_K)), ("values", (5, D_V))):
            place = list(names).index(f"relative_{name}")
            weight = layer.trainable_weights[place]

            def loss(value, place=place):
                values = [w.value for w in layer.trainable_weights]
                values[place] = value
                output, _ = layer.stateless_call(values, [], x)
                return ops.sum(output**2)

            slopes = to_numpy(gradient(loss, weight.value))
            assert slopes.shape == shape
            for row in np.ndindex(shape):
                step = np.zeros(shape, "float32")
                step[row] = 0.01
                high, low = (
                    float(loss(weight.value + sign * step)) for sign in (1, -1)
                )
                expected = (high - low) / 0.02
                np.testing.assert_allclose(
                    slopes[row], expected, rtol=0.02, atol=0.02
                )

    def test_no_tensor_has_a_vector_for_each_pair(self):
        """The distances of 500 positions would make 250,000 vectors."""
        positions = ops.expand_dims(ops.arange(500), 0)
        distances = Distances(positions, positions)
        assert distances.numbers.shape == (999,)

    def test_a_negative_number_is_an_error(self):
        with pytest.raises(ValueError, match="max_relative_position=-1. Use 0"):
            MultiHeadAttention(8, 2, max_relative_position=-1)

    def test_cross_attention_has_none(self):
        layer = MultiHeadAttention(8, 2, max_relative_position=K)
        x, memory = random_array(1, 3, 8), random_array(1, 4, 8)
        layer(x, memory)
        assert not [n for n in weights_by_path(layer) if "relative" in n]

    def test_the_fused_kernel_leaves_them_to_the_layer(self):
        x = random_array(1, 6, 8)
        fused, plain = make(FusedAttention), make()
        np.testing.assert_allclose(
            to_numpy(fused(x)), to_numpy(plain(x)), atol=1e-6
        )

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_low_precision_stays_close(self, precision):
        check_mixed_precision(
            lambda **options: make(**options), precision, random_array(1, 6, 8)
        )

    @pytest.mark.slow
    def test_a_rule_of_distance_holds_far_beyond_the_lengths_of_training(self):
        """Each label is the word two positions before, the first ones none."""
        keras.utils.set_random_seed(1)
        ids = keras.Input((None,), dtype="int32")
        embedding = SharedEmbedding(12, 16)
        sizes = {"d_model": 16, "num_heads": 2, "d_ff": 16, "dropout": 0.0}
        encoder = Encoder(1, **sizes, norm="pre", max_relative_position=3)
        outputs = embedding(encoder(embedding(ids)), reverse=True)
        model = keras.Model(ids, outputs)
        loss = SmoothedCrossEntropy(0.0)
        model.compile(keras.optimizers.Adam(0.01), loss, jit_compile=False)
        generator = np.random.default_rng(0)
        short = generator.integers(2, 12, (2048, 12))
        labels = np.pad(short, [(0, 0), (2, 0)])[:, :12]
        model.fit(short, labels, batch_size=64, epochs=6, verbose=0)
        long = generator.integers(2, 12, (8, 100))
        words = to_numpy(model(long)).argmax(-1)
        assert np.mean(words[:, 2:] == long[:, :-2]) > 0.95
