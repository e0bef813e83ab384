import dataclasses

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import decoder_layer
from layer_checks import encoder_layer
from layer_checks import part
from layer_checks import randomize
from layer_checks import stack
from layer_checks import to_numpy
from layer_checks import weights_by_path

from keras_transformer.hparam import HParams
from keras_transformer.losses import SmoothedCrossEntropy
from keras_transformer.metrics import MaskedAccuracy
from keras_transformer.metrics import Perplexity
from keras_transformer.registry import get_hparams
from keras_transformer.transformer import Transformer
from keras_transformer.transformer import build_transformer

INPUTS = np.array([[3, 4, 5, 1, 0, 0], [6, 7, 8, 9, 10, 1]], "int32")
TARGETS = np.array([[5, 6, 7, 1, 0], [2, 3, 4, 8, 1]], "int32")
VARIANTS = pytest.mark.parametrize(
    "options",
    [
        {"norm": "post", "positional_encoding": "sinusoidal"},
        {"norm": "pre", "positional_encoding": "sinusoidal"},
        {"norm": "post", "positional_encoding": "learned"},
        {"norm": "pre", "positional_encoding": "learned"},
        {"neighbourhood": 1, "d_k": 3, "d_v": 5},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)


def make(**options):
    sizes = {"num_layers": 2, "d_model": 8, "num_heads": 2, "d_ff": 16}
    model = Transformer(**{"vocab_size": 11, **sizes, **options})
    model.build()
    return model


def logits_of(model, inputs=INPUTS, targets=TARGETS, **options):
    features = {"inputs": inputs, "targets": targets}
    return to_numpy(model(features, **options))


def sinusoids(length, d_model):
    angles = np.arange(length)[:, None] / 10000 ** (
        np.arange(0, d_model, 2) / d_model
    )
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return waves.reshape(length, d_model)


class FormulaTest:
    @pytest.mark.parametrize("norm", ["post", "pre"])
    @pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
    def test_the_whole_model_equals_numpy(self, norm, positions):
        model = make(norm=norm, positional_encoding=positions)
        randomize(model)
        weights = weights_by_path(model)
        matrix = weights["embedding/embeddings"]

        def embed(name, vectors):
            length = vectors.shape[1]
            learned = weights.get(f"{name}_positions/positions")
            table = sinusoids(length, 8) if learned is None else learned
            return vectors + table[:length]

        x = embed("input", matrix[INPUTS] * np.sqrt(8))
        allowed = (INPUTS != 0)[:, None, :]
        encoder, decoder = part(weights, "encoder"), part(weights, "decoder")
        encoded = stack(encoder_layer, encoder, 2, norm, x, allowed)
        shifted = np.zeros((*TARGETS.shape, 8))  # a zero vector comes first
        shifted[:, 1:] = matrix[TARGETS[:, :-1]] * np.sqrt(8)
        y = embed("target", shifted)
        decoded = stack(decoder_layer, decoder, 2, norm, y, encoded, allowed)
        expected = decoded @ matrix.T
        np.testing.assert_allclose(logits_of(model), expected, atol=2e-4)


class LeakTest:
    @VARIANTS
    def test_future_targets_change_no_bit_of_earlier_logits(self, options):
        model = make(**options)
        before = logits_of(model)
        for i in range(5):
            changed = TARGETS.copy()
            changed[:, i:] = (changed[:, i:] + 5) % 11
            after = logits_of(model, targets=changed)
            # The logits at i say what follows i - 1: they do not see token i.
            np.testing.assert_array_equal(before[:, : i + 1], after[:, : i + 1])
            assert i == 4 or np.any(before[:, i + 1] != after[:, i + 1])

    @VARIANTS
    def test_the_vector_of_padding_changes_no_bit_of_other_logits(
        self, options
    ):
        model = make(**options)
        before = logits_of(model)
        matrix = to_numpy(model.embedding.embeddings).copy()
        matrix[0] = 100 * matrix[3] - 5
        model.embedding.embeddings.assign(matrix)
        after = logits_of(model)
        real = TARGETS != 0  # the target's own padding comes after them
        np.testing.assert_array_equal(before[real][:, 1:], after[real][:, 1:])
        assert np.all(before[real][:, 0] != after[real][:, 0])

    def test_the_rest_of_the_batch_changes_no_bit(self):
        model = make()
        before = logits_of(model)
        inputs, targets = INPUTS.copy(), TARGETS.copy()
        inputs[1], targets[1] = 0, 0
        after = logits_of(model, inputs, targets)
        np.testing.assert_array_equal(before[0], after[0])

    @VARIANTS
    def test_wider_padding_changes_logits_by_rounding_only(self, options):
        """Another width may add up its sums in another order."""
        model = make(**options)
        inputs = np.pad(INPUTS, [(0, 0), (0, 3)])
        targets = np.pad(TARGETS, [(0, 0), (0, 2)])
        found = logits_of(model, inputs, targets)[:, :5]
        np.testing.assert_allclose(found, logits_of(model), atol=1e-5)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_an_empty_row_stays_finite(self, precision):
        inputs = INPUTS * np.array([[0], [1]], "int32")
        targets = TARGETS * np.array([[0], [1]], "int32")
        logits = logits_of(make(dtype=precision), inputs, targets)
        assert np.all(np.isfinite(logits))


class WeightsTest:
    def test_returned_weights_have_the_documented_shapes(self):
        features = {"inputs": INPUTS, "targets": TARGETS}
        logits, weights = make()(features, return_weights=True)
        assert logits.shape == (2, 5, 11)
        lengths = {"encoder": (6, 6), "decoder": (5, 5), "cross": (5, 6)}
        assert set(weights) == set(lengths)
        for name, layers in weights.items():
            assert len(layers) == 2
            for used in map(to_numpy, layers):
                assert used.shape == (2, 2, *lengths[name])
                np.testing.assert_allclose(used.sum(-1), 1.0, atol=1e-6)
        for name in ("encoder", "cross"):
            assert np.all(to_numpy(weights[name][0])[0, :, :, 4:] == 0.0)


class CacheTest:
    @VARIANTS
    @pytest.mark.parametrize("beam_size", [1, 3])
    @pytest.mark.parametrize("growing", [True, False])
    def test_steps_equal_the_teacher_forced_logits(
        self, options, beam_size, growing
    ):
        model = make(max_length=12, **options)
        randomize(model)
        shape = (2, beam_size, 5)
        targets = np.random.default_rng(0).integers(1, 11, shape)
        found = step_through(model, targets, growing)
        for beam in range(beam_size):
            expected = logits_of(model, INPUTS, targets[:, beam])
            np.testing.assert_allclose(found[:, beam], expected, atol=1e-5)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_steps_in_low_precision_give_float32_logits(self, precision):
        model = make(dtype=precision)
        randomize(model)
        found = step_through(model, TARGETS[:, None], growing=True)
        assert found.dtype == "float32"
        np.testing.assert_allclose(found[:, 0], logits_of(model), atol=0.1)

    def test_the_id_at_position_0_is_ignored(self):
        model = make()
        cache = model.init_cache(*model.encode(INPUTS), 1, fixed_length=5)
        first, _ = model.decode_step(np.array([[1], [2]]), 0, cache)
        second, _ = model.decode_step(np.array([[9], [0]]), 0, cache)
        np.testing.assert_array_equal(to_numpy(first), to_numpy(second))

    @pytest.mark.parametrize("fixed_length", [None, 7])
    def test_nothing_is_tiled_for_the_beams(self, fixed_length):
        cache = make().init_cache(*make().encode(INPUTS), 3, fixed_length)
        assert cache.fixed_length == fixed_length
        assert {x.shape[0] for x in keras.tree.flatten(cache)} == {2}


def step_through(model, targets, growing):
    """Logits of one step after the other, the last tokens fed back."""
    _, beam_size, length = targets.shape
    fixed_length = None if growing else length + 2
    cache = model.init_cache(*model.encode(INPUTS), beam_size, fixed_length)
    steps = []
    for i in range(length):
        ids = ops.convert_to_tensor(targets[:, :, max(0, i - 1)])
        position = ops.convert_to_tensor(i, dtype="int32")
        logits, cache = model.decode_step(ids, position, cache)
        steps.append(to_numpy(logits))
    return np.stack(steps, axis=2)


class PrecisionTest:
    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_logits_are_nearly_those_of_float32(self, precision):
        full, mixed = make(), make(dtype=precision)
        randomize(full)
        mixed.set_weights(full.get_weights())
        features = {"inputs": INPUTS, "targets": TARGETS}
        dtype = keras.backend.standardize_dtype(mixed(features).dtype)
        assert dtype == precision.removeprefix("mixed_")
        assert {weight.dtype for weight in mixed.weights} <= {"float32"}
        np.testing.assert_allclose(logits_of(mixed), logits_of(full), atol=0.15)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_ids_that_come_as_floats_are_not_rounded(self, precision):
        model = make(vocab_size=3000, dtype=precision)
        ids = np.array([[257, 2049, 2999]])
        floats = ids.astype("float32")
        np.testing.assert_array_equal(
            logits_of(model, floats, floats), logits_of(model, ids, ids)
        )


class SavingTest:
    @VARIANTS
    def test_saved_and_loaded_gives_the_same_logits(self, options, tmp_path):
        model = make(dropout=0.3, **options)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.get_config() == model.get_config()
        np.testing.assert_array_equal(logits_of(loaded), logits_of(model))

    def test_inside_somebody_elses_functional_model(self, tmp_path):
        features = {
            name: keras.Input((None,), dtype="int32", name=name)
            for name in ("inputs", "targets")
        }
        shares = keras.layers.Softmax()(make()(features))
        model = keras.Model(features, shares)
        expected = logits_of(model)
        np.testing.assert_allclose(expected.sum(-1), 1.0, atol=1e-5)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(logits_of(loaded), expected)

    def test_unknown_positions_are_an_error_with_the_choices(self):
        with pytest.raises(ValueError, match="sinusoidal, learned.*'none'"):
            make(positional_encoding="none")


class DropoutTest:
    def test_the_paper_drops_sublayer_outputs_and_embeddings_only(self):
        hparams = dataclasses.replace(
            get_hparams("transformer_base"), num_layers=2, d_model=8, d_ff=16
        )
        model = build_transformer(hparams, vocab_size=11)
        rates = [
            layer.rate
            for layer in model._flatten_layers()
            if isinstance(layer, keras.layers.Dropout) and layer.rate
        ]
        embeddings, encoder_layer, decoder_layer = 2, 2, 3
        num_places = embeddings + 2 * (encoder_layer + decoder_layer)
        assert rates == [0.1] * num_places

    def test_training_drops_and_inference_does_not(self):
        model = make(dropout=0.5)
        still = logits_of(model)
        np.testing.assert_array_equal(logits_of(model, training=False), still)
        first = logits_of(model, training=True)
        second = logits_of(model, training=True)
        assert np.abs(first - still).max() > 1e-2
        assert np.abs(first - second).max() > 1e-2

    def test_without_any_rate_training_changes_nothing(self):
        model = make(dropout=0.0)
        np.testing.assert_array_equal(
            logits_of(model, training=True), logits_of(model)
        )


class BuildTest:
    def test_every_field_of_the_hparams_arrives(self):
        hparams = HParams(
            num_layers=1,
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
            neighbourhood=6,
            max_length=7,
            packed=True,
        )
        config = build_transformer(hparams, vocab_size=11).get_config()
        fields = dataclasses.asdict(hparams)
        shared = fields.keys() & config.keys()
        assert len(shared) == 14
        assert {name: config[name] for name in shared} == {
            name: fields[name] for name in shared
        }
        assert config["vocab_size"] == 11

    def test_zero_stands_for_the_defaults(self):
        hparams = HParams(num_layers=1, d_model=8, num_heads=2, d_ff=12)
        config = build_transformer(hparams, vocab_size=11).get_config()
        assert config["d_k"] is config["d_v"] is None
        assert config["neighbourhood"] is None


class FitTest:
    def test_compile_and_fit_reduce_the_loss(self):
        model = make(num_layers=1, d_model=16, dropout=0.0)
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


class PackedTest:
    # Two rows: three pairs and two, and the rows of the same pairs alone.
    PAIRS = [
        ([3, 4, 1], [5, 1]),
        ([5, 6, 7, 1], [8, 9, 4, 1]),
        ([1], [6, 1]),
        ([8, 1], [7, 7, 7, 1]),
        ([9, 10, 4, 5, 1], [1]),
    ]
    ROWS = [[0, 1, 2], [3, 4]]

    def packed_rows(self, side, length):
        rows = [
            sum((self.PAIRS[i][side] for i in row), []) for row in self.ROWS
        ]
        return np.array([row + [0] * (length - len(row)) for row in rows])

    @VARIANTS
    def test_each_pair_gets_the_logits_it_gets_alone(self, options):
        model = make(**options, packed=True)
        randomize(model)
        found = logits_of(
            model, self.packed_rows(0, 9), self.packed_rows(1, 10)
        )
        for row, pairs in zip(found, self.ROWS, strict=True):
            begin = 0
            for i in pairs:
                inputs, targets = (np.array([ids]) for ids in self.PAIRS[i])
                alone = logits_of(model, inputs, targets)[0]
                part_of_row = row[begin : begin + len(alone)]
                np.testing.assert_allclose(part_of_row, alone, atol=1e-4)
                begin += len(alone)

    def test_rows_of_one_pair_are_as_without_packing(self):
        packed, plain = make(packed=True), make()
        for model in (packed, plain):
            randomize(model)
        real = TARGETS != 0
        np.testing.assert_allclose(
            logits_of(packed)[real], logits_of(plain)[real], atol=1e-5
        )


class DecodedTest:
    @pytest.mark.parametrize("packed", [False, True])
    def test_its_projection_is_the_logits(self, packed):
        model = make(packed=packed)
        features = {"inputs": INPUTS, "targets": TARGETS}
        projected = model.embedding(model.decoded(features), reverse=True)
        np.testing.assert_allclose(
            to_numpy(projected), logits_of(model), atol=1e-6
        )
