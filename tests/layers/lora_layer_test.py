import functools

import keras
import numpy as np
import pytest
from layer_checks import check_config_round_trip
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import symbol_of
from layer_checks import to_numpy

from keras_transformer.layers import Decoder
from keras_transformer.layers import Encoder
from keras_transformer.layers import FeedForward
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers import SharedEmbedding
from keras_transformer.layers import TokenEmbeddings
from keras_transformer.model_config import ModelConfig
from keras_transformer.model_config import list_adapters
from keras_transformer.model_config import list_weights
from keras_transformer.runs.model import POLICIES
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.model import model_variables
from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.options import DecodeOptions

X = random_array(2, 5, 8)
IDS = np.array([[5, 7, 1], [2, 1, 0]], "int32")
SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 16, "dropout": 0.0}
CONFIG = ModelConfig(num_layers=1, **SIZES)
LAYERS = {
    "attention": (lambda **o: MultiHeadAttention(8, 2, **o), (X,), 4),
    "relative": (
        lambda **o: MultiHeadAttention(8, 2, max_relative_position=2, **o),
        (X,),
        4,
    ),
    "feed_forward": (lambda **o: FeedForward(8, 16, **o), (X,), 2),
    "embedding": (lambda **o: SharedEmbedding(20, 8, **o), (IDS,), 1),
    "embeddings": (
        lambda **o: TokenEmbeddings(20, 8, "none", **o),
        (IDS,),
        3,
    ),
    "encoder": (lambda **o: Encoder(2, **SIZES, **o), (X,), 12),
    "decoder": (lambda **o: Decoder(1, **SIZES, **o), (X, X), 10),
}


@pytest.fixture(params=LAYERS)
def example(request):
    """A built layer, its inputs, and its number of matrices."""
    make, inputs, num_matrices = LAYERS[request.param]
    layer = make()
    layer(*inputs)
    return layer, inputs, num_matrices


def adapters_of(layer):
    return [w for w in layer.weights if w.name[-7:-1] == "_lora_"]


class LoraLayerTest:
    def test_enabling_changes_no_bit_of_the_output(self, example):
        layer, inputs, _ = example
        before = to_numpy(layer(*inputs))
        layer.enable_lora(3)
        np.testing.assert_array_equal(to_numpy(layer(*inputs)), before)

    def test_every_matrix_is_frozen_and_has_two_adapters(self, example):
        layer, _, num_matrices = example
        matrices = [
            weight
            for weight in layer.trainable_weights
            if len(weight.shape) == 2 and "relative" not in weight.name
        ]
        assert len(matrices) == num_matrices
        layer.enable_lora(3)
        assert not any(weight.trainable for weight in matrices)
        adapters = adapters_of(layer)
        assert all(weight.trainable for weight in adapters)
        assert [tuple(weight.shape) for weight in adapters] == [
            shape
            for matrix in matrices
            for shape in ((matrix.shape[0], 3), (3, matrix.shape[1]))
        ]

    def test_output_is_that_of_the_merged_matrices(self, example):
        layer, inputs, _ = example
        plain = type(layer).from_config(layer.get_config())
        plain(*inputs)
        layer.enable_lora(2, lora_alpha=6)
        randomize(layer)
        weights = {w.path: to_numpy(w) for w in layer.weights}
        merged = []
        for path, values in weights.items():
            if f"{path}_lora_a" in weights:
                a, b = (weights[f"{path}_lora_{letter}"] for letter in "ab")
                values = values + 6 / 2 * a @ b
            if "_lora_" not in path:
                merged.append(values)
        plain.set_weights(merged)
        np.testing.assert_allclose(
            to_numpy(layer(*inputs)), to_numpy(plain(*inputs)), atol=1e-4
        )

    def test_config_round_trip_keeps_rank_and_alpha(self, example):
        layer, inputs, _ = example
        layer.enable_lora(2, lora_alpha=6)
        randomize(layer)
        assert layer.get_config()["lora_rank"] == 2
        check_config_round_trip(layer, *inputs)

    @pytest.mark.parametrize("name", LAYERS)
    def test_saved_layer_is_merged_and_can_be_trained_further(
        self, name, tmp_path
    ):
        make, inputs, _ = LAYERS[name]
        layer = make(lora_rank=2, lora_alpha=6)
        symbols = [symbol_of(x) for x in inputs]
        model = keras.Model(symbols, layer(*symbols))
        randomize(model)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        outputs = [to_numpy(m(list(inputs))) for m in (loaded, model)]
        np.testing.assert_allclose(*outputs, atol=1e-4)
        names = [weight.name for weight in loaded.trainable_weights]
        assert names == [weight.name for weight in layer.trainable_weights]
        for weight in adapters_of(loaded):
            assert np.any(to_numpy(weight)) == weight.name.endswith("_a")

    def test_logits_and_rows_have_one_adapted_matrix(self):
        layer = SharedEmbedding(20, 8, scale_embeddings=False)
        layer(IDS)
        layer.enable_lora(2)
        randomize(layer)
        rows = to_numpy(layer(np.arange(20)[None]))[0]
        logits = to_numpy(layer(X, reverse=True))
        np.testing.assert_allclose(logits, X @ rows.T, atol=1e-5)
        first = to_numpy(layer(X, reverse=True, num_ids=7))
        np.testing.assert_allclose(first, X @ rows[:7].T, atol=1e-5)

    def test_low_precision_adds_before_it_rounds(self):
        """A sum in bfloat16 would lose an adaptation of a thousandth."""
        layer = MultiHeadAttention(8, 2, dtype="mixed_bfloat16")
        layer(X)
        layer.enable_lora(1)
        kernel, (a, b) = layer.query_kernel, layer._adapters["query"]
        kernel.assign(np.full(kernel.shape, 1.003))
        a.assign(np.ones(a.shape))
        b.assign(np.full(b.shape, 0.001))
        assert float(layer.merge(kernel)[0, 0]) == pytest.approx(1.004)

    @pytest.mark.parametrize("rank", [0, -1, 2.5, True])
    def test_wrong_rank_is_refused(self, rank):
        layer = FeedForward(8, 16)
        layer(X)
        with pytest.raises(ValueError, match=f"`rank` must.*rank={rank}"):
            layer.enable_lora(rank)

    def test_it_needs_a_built_layer_and_works_once(self):
        layer = FeedForward(8, 16)
        with pytest.raises(ValueError, match="not built yet"):
            layer.enable_lora(2)
        layer(X)
        layer.enable_lora(2)
        with pytest.raises(ValueError, match="already adapted"):
            layer.enable_lora(2)


class LoraModelTest:
    def test_only_adapters_of_the_projections_can_be_trained(self):
        model = build_transformer(CONFIG, 20)
        model.enable_lora(2)
        trainable = {
            name: tuple(variable.shape)
            for name, variable in model_variables(model).items()
            if variable.trainable
        }
        assert trainable == list_adapters(list_weights(CONFIG, 20), 2)
        assert len(trainable) == len(model.trainable_weights)

    def test_steps_of_the_decoder_are_adapted_too(self):
        model = build_transformer(CONFIG, 20)
        model.enable_lora(2)
        randomize(model)
        features = {"inputs": IDS, "targets": IDS}
        expected = to_numpy(model(features))
        cache = model.init_cache(*model.encode(IDS), 1)
        for position in range(IDS.shape[1]):
            before = IDS[:, max(position - 1, 0)][:, None]
            logits, cache = model.decode_step(before, position, cache)
            np.testing.assert_allclose(
                to_numpy(logits)[:, 0], expected[:, position], atol=1e-4
            )

    def test_a_search_in_low_precision_is_that_of_merged_weights(
        self, tmp_path
    ):
        # With some weights, the adapters hardly change the scores, or rounding
        # makes the search take another way.
        keras.utils.set_random_seed(3)
        model = build_transformer(CONFIG, 20, POLICIES["bfloat16"])
        # JAX needs a fixed length.
        arguments = DecodeOptions(beam_size=2), IDS, np.array([4, 4], "int32")
        find = functools.partial(find_hypotheses, fixed_length=4)
        before = find(model, *arguments).scores
        model.enable_lora(2)
        randomize(model)
        after = find(model, *arguments).scores
        assert np.abs(to_numpy(after) - to_numpy(before)).max() > 0.1
        model.save(tmp_path / "model.keras")
        merged = keras.saving.load_model(tmp_path / "model.keras")
        scores = find(merged, *arguments).scores
        np.testing.assert_allclose(to_numpy(scores), to_numpy(after), atol=0.1)

    @pytest.mark.slow
    def test_fit_changes_adapters_alone_and_lowers_the_loss(self, tmp_path):
        model = build_transformer(CONFIG, 20)
        model.enable_lora(2)
        before = {w.path: to_numpy(w).copy() for w in model.weights}
        model.compile(
            keras.optimizers.Adam(0.02),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            jit_compile=keras.backend.backend() == "jax",
        )
        features = {"inputs": IDS, "targets": IDS}
        history = model.fit(features, IDS, epochs=20, verbose=0).history
        assert history["loss"][-1] < 0.9 * history["loss"][0]
        for weight in model.weights:
            is_same = np.array_equal(to_numpy(weight), before[weight.path])
            assert is_same != ("_lora_" in weight.path), weight.path
        expected = to_numpy(model(features))
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.lora_rank == 2
        np.testing.assert_allclose(
            to_numpy(loaded(features)), expected, atol=1e-6
        )
