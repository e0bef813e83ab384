import keras
import numpy as np
import pytest
from layer_checks import PRECISIONS
from layer_checks import check_config_round_trip
from layer_checks import check_functional_model
from layer_checks import check_mixed_precision
from layer_checks import random_array
from layer_checks import to_numpy

from keras_transformer.layers import SharedEmbedding

IDS = np.array([[5, 7, 1], [11, 0, 0]], "int32")
X = random_array(2, 3, 8)


def make(**options):
    return SharedEmbedding(**{"vocab_size": 12, "d_model": 8, **options})


class SharedEmbeddingTest:
    def test_embeddings_are_rows_times_the_root_of_d_model(self):
        layer = make()
        vectors = to_numpy(layer(IDS))
        expected = to_numpy(layer.embeddings)[IDS] * np.sqrt(8)
        np.testing.assert_allclose(vectors, expected, rtol=1e-6)

    def test_logits_are_a_product_with_the_same_matrix(self):
        layer = make()
        logits = to_numpy(layer(X, reverse=True))
        expected = X @ to_numpy(layer.embeddings).T
        assert logits.shape == (2, 3, 12)
        np.testing.assert_allclose(logits, expected, atol=1e-6)

    def test_one_matrix_is_all(self):
        layer = make()
        layer(layer(IDS), reverse=True)
        assert [tuple(w.shape) for w in layer.weights] == [(12, 8)]

    def test_scaled_embeddings_start_with_unit_variance(self):
        layer = make(vocab_size=1000, d_model=64)
        vectors = to_numpy(layer(np.arange(1000)[None]))
        assert abs(vectors.std() - 1.0) < 0.02
        assert abs(vectors.mean()) < 0.02

    def test_config_round_trip(self):
        check_config_round_trip(make(), IDS)

    def test_in_a_functional_model(self, tmp_path):
        check_functional_model(make(), tmp_path, IDS)

    def test_both_uses_in_a_functional_model(self, tmp_path):
        layer = make()
        ids = keras.Input((None,), dtype="int32")
        model = keras.Model(ids, layer(layer(ids), reverse=True))
        expected = to_numpy(model(IDS))
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.count_params() == 12 * 8
        np.testing.assert_array_equal(to_numpy(loaded(IDS)), expected)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_mixed_precision(self, precision):
        check_mixed_precision(make, precision, IDS)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_logits_have_the_computing_dtype(self, precision):
        layer = make(dtype=precision)
        logits = layer(X, reverse=True)
        dtype = keras.backend.standardize_dtype(logits.dtype)
        assert dtype == precision.removeprefix("mixed_")

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_ids_that_come_as_floats_are_not_rounded(self, precision):
        layer = make(vocab_size=3000, dtype=precision)
        ids = np.array([[257, 2049, 2999]])  # not whole in low precision
        np.testing.assert_array_equal(
            to_numpy(layer(ids.astype("float32"))), to_numpy(layer(ids))
        )
