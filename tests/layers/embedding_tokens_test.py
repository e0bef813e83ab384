import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import check_config_round_trip
from layer_checks import random_array
from layer_checks import to_numpy

from keras_transformer.layers import SharedEmbedding
from keras_transformer.layers import TokenEmbeddings
from keras_transformer.layers.embedding import TIED_EMBEDDINGS

IDS = np.array([[5, 7, 1], [11, 0, 0]], "int32")
X = random_array(2, 3, 8)
TIES = pytest.mark.parametrize("tied", TIED_EMBEDDINGS)


def make(tied, **options):
    layer = TokenEmbeddings(12, 8, tied, **options)
    layer.build()
    return layer


class TokenEmbeddingsTest:
    @pytest.mark.parametrize(
        "tied, options, shapes",
        [
            ("all", {}, {"embeddings": (12, 8)}),
            (
                "target",
                {"input_vocab_size": 20},
                {"embeddings": (12, 8), "input_embeddings": (20, 8)},
            ),
            (
                "none",
                {},
                {
                    "embeddings": (12, 8),
                    "input_embeddings": (12, 8),
                    "softmax_weights": (12, 8),
                },
            ),
        ],
    )
    def test_matrices(self, tied, options, shapes):
        weights = make(tied, **options).weights
        assert {w.name: tuple(w.shape) for w in weights} == shapes

    @TIES
    def test_each_use_reads_its_own_matrix(self, tied):
        layer = make(tied)
        matrices = {w.name: to_numpy(w) for w in layer.weights}
        shared = matrices["embeddings"]
        inputs = matrices.get("input_embeddings", shared)
        softmax = matrices.get("softmax_weights", shared)
        scale = np.sqrt(8)
        for computed, expected in (
            (layer.embed_inputs(IDS), inputs[IDS] * scale),
            (layer.embed_targets(IDS), shared[IDS] * scale),
            (layer(IDS), shared[IDS] * scale),
            (layer.logits(X), X @ softmax.T),
            (layer.logits(X, 4), (X @ softmax.T)[..., :4]),
            (layer(X, reverse=True), X @ softmax.T),
        ):
            np.testing.assert_allclose(to_numpy(computed), expected, atol=1e-5)

    @TIES
    def test_logits_with_a_bias(self, tied):
        layer = make(tied, output_bias=True, scale_embeddings=False)
        layer.bias.assign(np.arange(12))
        matrices = {w.name: to_numpy(w) for w in layer.weights}
        softmax = matrices.get("softmax_weights", matrices["embeddings"])
        expected = X @ softmax.T + np.arange(12)
        states, matrix = layer.factors(ops.convert_to_tensor(X))
        for computed, expected in (
            (layer.embed_targets(IDS), matrices["embeddings"][IDS]),
            (layer.logits(X), expected),
            (layer.logits(X, 4), expected[..., :4]),
            (ops.matmul(states, ops.transpose(matrix)), expected),
        ):
            np.testing.assert_allclose(to_numpy(computed), expected, atol=1e-5)
        check_config_round_trip(layer, IDS)

    @TIES
    def test_all_matrices_start_alike_and_apart(self, tied):
        layer = TokenEmbeddings(1000, 64, tied)
        layer.build()
        matrices = [to_numpy(w) for w in layer.weights]
        for matrix in matrices:
            assert abs(matrix.std() * 8 - 1) < 0.02
        for one, other in zip(matrices, matrices[1:]):
            assert np.abs(one - other).max() > 0.1

    def test_one_matrix_starts_as_the_shared_embedding(self):
        values = []
        for layer in (SharedEmbedding(12, 8), TokenEmbeddings(12, 8)):
            keras.utils.set_random_seed(3)
            layer.build()
            values.append([*map(to_numpy, layer.weights)])
            values[-1].append(keras.random.uniform((), seed=None))
        (matrix, after), (expected, expected_after) = values
        np.testing.assert_array_equal(matrix, expected)
        # Nothing else took a number of the seed.
        assert float(after) == float(expected_after)

    def test_what_is_not_kept_is_zero(self):
        layer = make("target")
        kept = IDS != 7
        for embed in (layer.embed_inputs, layer.embed_targets):
            cut = to_numpy(embed(ops.convert_to_tensor(IDS), kept))
            assert not cut[IDS == 7].any()
            np.testing.assert_array_equal(cut[kept], to_numpy(embed(IDS))[kept])

    @TIES
    def test_config_round_trip(self, tied):
        check_config_round_trip(make(tied), IDS)

    def test_unknown_name_is_an_error_with_the_choices(self):
        with pytest.raises(ValueError, match="all, target, none.*'source'"):
            make("source")

    def test_one_matrix_for_two_vocabularies_is_an_error(self):
        with pytest.raises(ValueError, match='Use tied_embeddings="target"'):
            make("all", input_vocab_size=13)
