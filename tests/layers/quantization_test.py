import warnings

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import random_array
from layer_checks import to_numpy
from small_transformer import make_transformer as make_small_transformer

from keras_transformer import layers
from keras_transformer.layers.transformer import Transformer
from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.options import DecodeOptions

X = random_array(2, 5, 16)
SIZES = {"d_model": 16, "num_heads": 4, "d_ff": 32}
IDS = np.array([[5, 7, 3, 1], [4, 1, 0, 0]])
FEATURES = {"inputs": IDS, "targets": IDS}


def make_transformer(**options):
    model = Transformer(vocab_size=11, num_layers=1, **SIZES, **options)
    model.build()
    return model


def restore(weights):
    """Returns by path what the weights of a quantised model stand for."""
    arrays = {weight.path: to_numpy(weight) for weight in weights}
    return {
        path: array * arrays.get(f"{path}_scale", 1)
        for path, array in arrays.items()
        if not path.endswith("_scale")
    }


def count_bytes(model):
    return sum(to_numpy(weight).nbytes for weight in model.weights)


class QuantizeTest:
    @pytest.mark.parametrize("tied", ["all", "target", "none"])
    def test_a_row_differs_by_half_a_step_at_most(self, tied):
        model = make_transformer(tied_embeddings=tied)
        before = {w.path: to_numpy(w) for w in model.weights}
        model.quantize("int8")
        after = restore(model.weights)
        assert after.keys() == before.keys()
        for path, matrix in before.items():
            step = np.abs(matrix).max(axis=-1, keepdims=True) / 127
            limit = 0.501 * step if matrix.ndim == 2 else 0
            assert (np.abs(after[path] - matrix) <= limit).all(), path
        assert count_bytes(model) < 0.4 * sum(a.nbytes for a in before.values())

    def test_it_computes_with_the_restored_numbers(self):
        model, exact = (
            make_transformer(max_relative_position=2) for _ in range(2)
        )
        model.quantize("int8")
        restored = restore(model.weights)
        for weight in exact.weights:
            weight.assign(restored[weight.path])
        np.testing.assert_allclose(
            *(to_numpy(m(FEATURES)) for m in (model, exact)), atol=1e-5
        )
        limits = np.array([6, 6], "int32")
        results = [
            # JAX needs a fixed length.
            find_hypotheses(
                *(m, DecodeOptions(beam_size=2), IDS, limits), fixed_length=6
            )
            for m in (model, exact)
        ]
        for pair in zip(*results):
            np.testing.assert_allclose(*map(to_numpy, pair), atol=1e-4)

    @pytest.mark.parametrize(
        "dropout", [pytest.param(0.0, marks=pytest.mark.slow), 0.1]
    )
    def test_a_saved_model_is_the_same(self, dropout, tmp_path):
        model = make_transformer(attention_dropout=dropout)
        model.quantize("int8")
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(
            *(to_numpy(m(FEATURES)) for m in (model, loaded))
        )
        assert count_bytes(loaded) == count_bytes(model)

    def test_adaptations_are_included(self):
        layer = layers.FeedForward(16, 32)
        layer.build(X.shape)
        layer.enable_lora(2, b_initializer="ones")
        merged = to_numpy(layer.merge(layer.inner_kernel))
        layer.quantize("int8")
        assert len(layer.weights) == 6  # two matrices, scales and biases
        assert not layer.lora_enabled
        step = np.abs(merged).max(axis=-1, keepdims=True) / 127
        error = to_numpy(layer.merge(layer.inner_kernel)) - merged
        assert (np.abs(error) <= 0.501 * step).all()

    @pytest.mark.parametrize(
        "options",
        [pytest.param({}, marks=pytest.mark.slow), {"span_labels": 3}],
    )
    def test_what_adapters_froze_stays_frozen(self, options, tmp_path):
        model = make_small_transformer(**options)
        model.enable_lora(2)
        model.quantize("int8")
        assert not model.trainable_weights
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert not loaded.trainable_weights

    @pytest.mark.parametrize("is_model", [False, True])
    def test_a_quantised_layer_cannot_be_adapted(self, is_model):
        model = make_transformer()
        model.quantize("int8")
        trainable = [w.path for w in model.trainable_weights]
        with pytest.raises(ValueError, match="Call `enable_lora`.* first"):
            (model if is_model else model.encoder).enable_lora(2)
        assert [w.path for w in model.trainable_weights] == trainable
        assert not model.encoder.lora_enabled

    def test_a_transformer_is_not_quantised_in_part(self):
        model = make_transformer()
        with pytest.raises(ValueError, match="as a whole.*filters='decoder'"):
            model.quantize("int8", filters="decoder")
        assert count_bytes(model) == count_bytes(make_transformer())

    @pytest.mark.parametrize("part", ["embedding", "encoder", "decoder"])
    def test_what_is_quantised_in_part_is_not_saved(self, part, tmp_path):
        model = make_transformer()
        getattr(model, part).quantize("int8")
        with pytest.raises(ValueError, match="transformer, quantised in part"):
            model.save(tmp_path / "model.keras")
        model.quantize("int8")
        model.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(loaded(FEATURES), model(FEATURES))

    def test_no_other_mode_is_accepted(self):
        with pytest.raises(NotImplementedError, match="with mode 'int8'"):
            make_transformer().quantize("float8")
        config = keras.quantizers.Int8QuantizationConfig(
            keras.quantizers.AbsMaxQuantizer(axis=0)
        )
        with pytest.raises(NotImplementedError, match="quantizer of weights"):
            make_transformer().quantize(config=config)


class QuantizeByKerasTest:
    """`keras.Model.quantize` quantises layers without sub-layers."""

    def quantize(self, **options):
        inputs = keras.Input((None, 16))
        encoder = layers.Encoder(1, **SIZES, **options)
        model = keras.Model(inputs, keras.layers.Dense(2)(encoder(inputs)))
        before = to_numpy(model(X))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.quantize("int8")
        texts = {str(w.message) for w in caught if w.category is UserWarning}
        # Keras says of an InputLayer as well that it cannot be quantised.
        texts = {text for text in texts if "InputLayer" not in text}
        return model, before, texts

    def test_it_reaches_every_matrix(self, tmp_path):
        model, before, texts = self.quantize()
        assert not texts
        for weight in model.weights:
            is_matrix = len(weight.shape) == 2 and "scale" not in weight.name
            dtype = keras.backend.standardize_dtype(weight.dtype)
            assert (dtype == "int8") == is_matrix, weight.path
        after = to_numpy(model(X))
        assert np.abs(after - before).max() < 0.05 * np.abs(before).max()
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(to_numpy(loaded(X)), after)

    def test_what_it_passes_over_is_one_message_with_the_way_out(self):
        model, *_, texts = self.quantize(attention_dropout=0.1)
        (text,) = texts
        assert 'encoder.quantize("int8")' in text
        encoder = model.layers[1]
        encoder.quantize("int8")
        dtypes = {
            keras.backend.standardize_dtype(weight.dtype)
            for weight in encoder.weights
            if weight.name in ("query", "inner")
        }
        assert dtypes == {"int8"}
        assert ops.shape(model(X)) == (2, 5, 2)
