import dataclasses

import keras
import numpy as np
import pytest
from layer_checks import randomize
from layer_checks import to_numpy
from small_transformer import INPUTS
from small_transformer import VARIANTS
from small_transformer import logits_of
from small_transformer import make_transformer

from keras_transformer import layers
from keras_transformer.hparam import HParams
from keras_transformer.losses import SmoothedCrossEntropy
from keras_transformer.metrics import MaskedAccuracy
from keras_transformer.metrics import Perplexity
from keras_transformer.model_config import ModelConfig
from keras_transformer.runs.model import build_transformer


class SavingTest:
    @VARIANTS
    def test_saved_and_loaded_gives_the_same_logits(self, options, tmp_path):
        model = make_transformer(dropout=0.3, **options)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.get_config() == model.get_config()
        np.testing.assert_array_equal(logits_of(loaded), logits_of(model))

    def test_a_classifier_of_spans_is_saved_with_it(self, tmp_path):
        model = make_transformer(span_labels=3)
        randomize(model.spans)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.get_config() == model.get_config()
        before, after = (
            to_numpy(one.spans(one.encode(INPUTS)[0]))
            for one in (model, loaded)
        )
        np.testing.assert_array_equal(after, before)

    @pytest.mark.slow
    def test_inside_somebody_elses_functional_model(self, tmp_path):
        features = {
            name: keras.Input((None,), dtype="int32", name=name)
            for name in ("inputs", "targets")
        }
        shares = keras.layers.Softmax()(make_transformer()(features))
        model = keras.Model(features, shares)
        expected = logits_of(model)
        np.testing.assert_allclose(expected.sum(-1), 1.0, atol=1e-5)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(logits_of(loaded), expected)

    def test_frozen_parts_stay_frozen(self, tmp_path):
        model = make_transformer()
        model.encoder.trainable = False
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        paths = [weight.path for weight in loaded.trainable_variables]
        assert len(paths) == len(model.trainable_variables) > 0
        assert not any("encoder" in path for path in paths)

    @pytest.mark.parametrize("norm", ["post", "pre"])
    def test_a_frozen_encoder_in_another_model_stays_frozen(
        self, tmp_path, norm
    ):
        x = keras.Input((5, 8))
        options = {"d_model": 8, "num_heads": 2, "d_ff": 16, "norm": norm}
        encoder = layers.Encoder(num_layers=2, **options)
        encoder.trainable = False
        model = keras.Model(x, keras.layers.Dense(3)(encoder(x)))
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert len(loaded.trainable_variables) == 2

    @pytest.mark.skipif(
        keras.backend.backend() != "tensorflow", reason="writes a SavedModel"
    )
    def test_an_export_takes_ids_of_any_length(self, tmp_path):
        import tensorflow as tf

        model = make_transformer(vocab_size=400, dtype="mixed_bfloat16")
        model.export(str(tmp_path), verbose=False)
        loaded = tf.saved_model.load(str(tmp_path))
        for ids in ([[301, 1]], [[302, 5, 1]]):
            ids = tf.constant(ids, "int32")
            np.testing.assert_array_equal(
                loaded.serve({"inputs": ids, "targets": ids}),
                model({"inputs": ids, "targets": ids}),
            )

    def test_unknown_positions_are_an_error_with_the_choices(self):
        with pytest.raises(ValueError, match="sinusoidal, .*learned.*'rotary'"):
            make_transformer(positional_encoding="rotary")

    @pytest.mark.parametrize(
        "frozen", ["encoder", ["encodr"], ["target_positions"]]
    )
    def test_frozen_parts_that_are_none_are_an_error_with_the_choices(
        self, frozen
    ):
        with pytest.raises(ValueError, match="embedding, encoder, decoder"):
            make_transformer(frozen=frozen)


class BuildTest:
    def test_every_field_of_the_config_arrives(self):
        config = ModelConfig(
            num_layers=1,
            num_decoder_layers=2,
            d_model=8,
            d_ff=12,
            num_heads=4,
            d_k=3,
            d_v=5,
            dropout=0.2,
            attention_dropout=0.3,
            activation_dropout=0.4,
            norm="pre",
            positional_encoding="learned",
            neighbourhood_size=6,
            max_relative_position=2,
            initializer="tensor2tensor",
            max_length=7,
            packed=True,
            tied_embeddings="target",
            norm_epsilon=1e-5,
            activation="silu",
            attention_bias=True,
            scale_embeddings=False,
            output_bias=True,
            decoder_start="padding",
            span_labels=3,
        )
        arrived = build_transformer(config, vocab_size=11).get_config()
        fields = dataclasses.asdict(config)
        shared = fields.keys() & arrived.keys()
        assert len(shared) == 25
        assert {name: arrived[name] for name in shared} == {
            name: fields[name] for name in shared
        }
        assert arrived["vocab_size"] == 11

    def test_zero_stands_for_the_defaults(self):
        hparams = HParams(num_layers=1, d_model=8, num_heads=2, d_ff=12)
        config = build_transformer(hparams.model, vocab_size=11).get_config()
        assert config["d_k"] is config["d_v"] is None
        assert config["neighbourhood_size"] == 0


class FitTest:
    def test_compile_and_fit_reduce_the_loss(self):
        model = make_transformer(num_layers=1, d_model=16, dropout=0.0)
        model.compile(
            optimizer=keras.optimizers.Adam(0.01),
            loss=SmoothedCrossEntropy(0.1),
            metrics=[MaskedAccuracy(), Perplexity()],
        )
        rng = np.random.default_rng(0)
        ids = rng.integers(2, 11, (16, 5)).astype("int32")
        ids[::2, 3:] = 0
        features = {"inputs": ids, "targets": ids}
        history = model.fit(
            features, ids, batch_size=8, epochs=15, verbose=0
        ).history
        assert history["loss"][-1] < 0.7 * history["loss"][0]
        assert history["perplexity"][-1] < 0.7 * history["perplexity"][0]
        assert history["accuracy"][-1] > history["accuracy"][0]

    @pytest.mark.parametrize(
        "jit_compile", [False, pytest.param(True, marks=pytest.mark.slow)]
    )
    def test_targets_of_no_positions_have_the_loss_zero(self, jit_compile):
        model = make_transformer(dropout=0.3)
        targets = np.zeros((len(INPUTS), 0), "int32")
        assert logits_of(model, targets=targets).shape == (2, 0, 11)
        model.compile("sgd", SmoothedCrossEntropy(), jit_compile=jit_compile)
        before = model.get_weights()
        features = {"inputs": INPUTS, "targets": targets}
        assert model.train_on_batch(features, targets) == 0
        for weight, values in zip(model.get_weights(), before, strict=True):
            np.testing.assert_array_equal(weight, values)

    def test_positions_are_counted_in_32_bits_whatever_keras_prefers(self):
        """In 16 bits, TensorFlow has no `range` for a graph."""
        features = {"inputs": INPUTS, "targets": INPUTS}
        options = {"neighbourhood_size": 3, "max_relative_position": 2}
        model = make_transformer(packed=True, **options)
        expected = model.predict(features, verbose=0)
        model.predict_function = None  # compiled again
        keras.config.set_floatx("float16")
        try:
            result = model.predict(features, verbose=0)
        finally:
            keras.config.set_floatx("float32")
        np.testing.assert_allclose(result, expected, atol=1e-6)


class SummaryTest:
    def test_every_part_shows_the_shape_of_its_output(self):
        lines = []
        model = make_transformer(norm="pre", positional_encoding="learned")
        model.summary(print_fn=lines.append, line_length=120)
        summary = "\n".join(lines)
        assert summary.count("(None, None, 8)") == 7
        assert "?" not in summary

    def test_returned_weights_have_their_shapes_in_functional_models(self):
        x = keras.Input((5, 8))
        options = {"d_model": 8, "num_heads": 2, "d_ff": 16}
        encoder = layers.Encoder(num_layers=2, **options)
        encoded, weights = encoder(x, return_weights=True)
        assert encoded.shape == (None, 5, 8)
        assert [layer.shape for layer in weights] == [(None, 2, 5, 5)] * 2
        assert layers.DecoderLayer(**options)(x, encoded).shape == (None, 5, 8)
