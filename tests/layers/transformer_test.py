import dataclasses

import keras
import numpy as np
import pytest
from layer_checks import PRECISIONS
from layer_checks import decoder_layer
from layer_checks import encoder_layer
from layer_checks import part
from layer_checks import randomize
from layer_checks import stack
from layer_checks import to_numpy
from layer_checks import weights_by_path
from small_transformer import INPUTS
from small_transformer import MARIAN
from small_transformer import TARGETS
from small_transformer import VARIANTS
from small_transformer import logits_of
from small_transformer import make_transformer

from keras_transformer.registry import get_hparams
from keras_transformer.runs.model import build_transformer


def sinusoids(length, d_model):
    angles = np.arange(length)[:, None] / 10000 ** (
        np.arange(0, d_model, 2) / d_model
    )
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return waves.reshape(length, d_model)


class FormulaTest:
    @pytest.mark.parametrize("norm", ["post", "pre"])
    @pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
    @pytest.mark.parametrize(
        "depths, options",
        [
            pytest.param((2, 2), {}, id="paper"),
            pytest.param((3, 1), MARIAN, id="marian"),
            pytest.param((3, 1), {}, marks=pytest.mark.slow),
            pytest.param((1, 3), {}, marks=pytest.mark.slow),
            pytest.param((2, 2), MARIAN, marks=pytest.mark.slow),
            pytest.param((1, 3), MARIAN, marks=pytest.mark.slow),
        ],
    )
    def test_the_whole_model_equals_numpy(
        self, norm, positions, depths, options
    ):
        model = make_transformer(
            norm=norm,
            positional_encoding=positions,
            num_layers=depths[0],
            num_decoder_layers=depths[1],
            **options,
        )
        randomize(model)
        weights = weights_by_path(model)
        scale = 1 if options else np.sqrt(8)
        matrix = weights["embedding/embeddings"]

        def embed(name, vectors):
            length = vectors.shape[1]
            learned = weights.get(f"{name}_positions/positions")
            table = sinusoids(length, 8) if learned is None else learned
            return vectors + table[:length]

        x = embed("input", matrix[INPUTS] * scale)
        allowed = (INPUTS != 0)[:, None, :]
        encoder, decoder = part(weights, "encoder"), part(weights, "decoder")
        encoded = stack(encoder_layer, encoder, 2, norm, x, allowed)
        shifted = np.zeros((*TARGETS.shape, 8))  # a zero vector comes first
        if options:
            shifted[:, 0] = matrix[0]  # or the vector of padding
        shifted[:, 1:] = matrix[TARGETS[:, :-1]] * scale
        y = embed("target", shifted)
        decoded = stack(decoder_layer, decoder, 2, norm, y, encoded, allowed)
        expected = decoded @ matrix.T
        expected = expected + weights.get("embedding/output_bias", 0)
        stacks = (model.encoder.stack, model.decoder.stack)
        assert tuple(map(len, stacks)) == depths
        np.testing.assert_allclose(logits_of(model), expected, atol=2e-4)


def test_an_unknown_start_is_an_error_with_the_choices():
    with pytest.raises(ValueError, match="zero, padding.*'end'"):
        make_transformer(decoder_start="end")


class TiedEmbeddingsTest:
    """Untied copies of one matrix are as good as the matrix itself."""

    @pytest.fixture(params=["target", "none"])
    def pair(self, request):
        """Returns a tied model and an untied one with the same values."""
        tied = make_transformer()
        untied = make_transformer(tied_embeddings=request.param)
        randomize(tied)
        values = weights_by_path(tied)
        for weight in untied.weights:
            path = weight.path.split("/", 1)[1]
            if path.startswith("embedding/"):
                path = "embedding/embeddings"
            weight.assign(values[path])
        return tied, untied

    def test_logits_are_the_same(self, pair):
        expected, logits = map(logits_of, pair)
        np.testing.assert_array_equal(logits, expected)

    @pytest.mark.skipif(
        keras.backend.backend() != "tensorflow", reason="differentiates"
    )
    def test_gradients_of_the_copies_sum_to_that_of_the_matrix(self, pair):
        expected, gradient = map(self.gradient_of_matrices, pair)
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(gradient, expected, atol=1e-4)

    @staticmethod
    def gradient_of_matrices(model):
        import tensorflow as tf

        matrices = [weight.value for weight in model.embedding.weights]
        with tf.GradientTape() as tape:
            logits = model({"inputs": INPUTS, "targets": TARGETS})
            loss = tf.reduce_sum(logits**2)
        gradients = tape.gradient(loss, matrices)
        return sum(map(to_numpy, map(tf.convert_to_tensor, gradients)))


class LeakTest:
    @VARIANTS
    def test_future_targets_change_no_bit_of_earlier_logits(self, options):
        model = make_transformer(**options)
        before = logits_of(model)
        for i in range(5):
            changed = TARGETS.copy()
            changed[:, i:] = (changed[:, i:] + 5) % 11
            after = logits_of(model, targets=changed)
            # The logits at i predict token i from the tokens before it.
            np.testing.assert_array_equal(before[:, : i + 1], after[:, : i + 1])
            assert i == 4 or np.any(before[:, i + 1] != after[:, i + 1])

    @VARIANTS
    def test_the_vector_of_padding_changes_no_bit_of_other_logits(
        self, options
    ):
        # With "padding" the decoder would begin with this very vector.
        model = make_transformer(**{**options, "decoder_start": "zero"})
        before = logits_of(model)
        matrix = to_numpy(model.embedding.embeddings).copy()
        matrix[0] = 100 * matrix[3] - 5
        model.embedding.embeddings.assign(matrix)
        after = logits_of(model)
        real = TARGETS != 0  # the padding of targets comes after real tokens
        np.testing.assert_array_equal(before[real][:, 1:], after[real][:, 1:])
        assert np.all(before[real][:, 0] != after[real][:, 0])

    def test_the_rest_of_the_batch_changes_no_bit(self):
        model = make_transformer()
        before = logits_of(model)
        inputs, targets = INPUTS.copy(), TARGETS.copy()
        inputs[1], targets[1] = 0, 0
        after = logits_of(model, inputs, targets)
        np.testing.assert_array_equal(before[0], after[0])

    @VARIANTS
    def test_wider_padding_changes_logits_by_rounding_only(self, options):
        """Another width may change the order of summation."""
        model = make_transformer(**options)
        inputs = np.pad(INPUTS, [(0, 0), (0, 3)])
        targets = np.pad(TARGETS, [(0, 0), (0, 2)])
        logits = logits_of(model, inputs, targets)[:, :5]
        np.testing.assert_allclose(logits, logits_of(model), atol=1e-5)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_an_empty_row_stays_finite(self, precision):
        inputs = INPUTS * np.array([[0], [1]], "int32")
        targets = TARGETS * np.array([[0], [1]], "int32")
        logits = logits_of(make_transformer(dtype=precision), inputs, targets)
        assert np.all(np.isfinite(logits))


class WeightsTest:
    def test_returned_weights_have_the_documented_shapes(self):
        features = {"inputs": INPUTS, "targets": TARGETS}
        logits, weights = make_transformer()(features, return_weights=True)
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


class PrecisionTest:
    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_logits_are_nearly_those_of_float32(self, precision):
        full, mixed = make_transformer(), make_transformer(dtype=precision)
        randomize(full)
        mixed.set_weights(full.get_weights())
        features = {"inputs": INPUTS, "targets": TARGETS}
        dtype = keras.backend.standardize_dtype(mixed(features).dtype)
        assert dtype == precision.removeprefix("mixed_")
        assert {weight.dtype for weight in mixed.weights} <= {"float32"}
        np.testing.assert_allclose(logits_of(mixed), logits_of(full), atol=0.15)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_ids_that_come_as_floats_are_not_rounded(self, precision):
        model = make_transformer(vocab_size=3000, dtype=precision)
        ids = np.array([[257, 2049, 2999]])
        floats = ids.astype("float32")
        np.testing.assert_array_equal(
            logits_of(model, floats, floats), logits_of(model, ids, ids)
        )


class DropoutTest:
    def test_the_paper_drops_sublayer_outputs_and_embeddings_only(self):
        hparams = dataclasses.replace(
            get_hparams("transformer_base"), num_layers=2, d_model=8, d_ff=16
        )
        model = build_transformer(hparams.model, vocab_size=11)
        rates = [
            layer.rate
            for layer in model._flatten_layers()
            if isinstance(layer, keras.layers.Dropout) and layer.rate
        ]
        embeddings, encoder_layer, decoder_layer = 2, 2, 3
        num_places = embeddings + 2 * (encoder_layer + decoder_layer)
        assert rates == [0.1] * num_places

    def test_training_drops_and_inference_does_not(self):
        model = make_transformer(dropout=0.5)
        still = logits_of(model)
        np.testing.assert_array_equal(logits_of(model, training=False), still)
        first = logits_of(model, training=True)
        second = logits_of(model, training=True)
        assert np.abs(first - still).max() > 1e-2
        assert np.abs(first - second).max() > 1e-2

    def test_without_any_rate_training_changes_only_rounding(self):
        model = make_transformer(dropout=0.0)
        np.testing.assert_allclose(
            logits_of(model, training=True), logits_of(model), atol=1e-5
        )


class PackedTest:
    # Pairs of inputs and targets, packed into rows of three and two pairs.
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
        model = make_transformer(**options, packed=True)
        randomize(model)
        logits = logits_of(
            model, self.packed_rows(0, 9), self.packed_rows(1, 10)
        )
        for row, pairs in zip(logits, self.ROWS, strict=True):
            begin = 0
            for i in pairs:
                inputs, targets = (np.array([ids]) for ids in self.PAIRS[i])
                alone = logits_of(model, inputs, targets)[0]
                part_of_row = row[begin : begin + len(alone)]
                np.testing.assert_allclose(part_of_row, alone, atol=1e-4)
                begin += len(alone)

    def test_rows_of_one_pair_are_as_without_packing(self):
        packed, plain = make_transformer(packed=True), make_transformer()
        for model in (packed, plain):
            randomize(model)
        real = TARGETS != 0
        np.testing.assert_allclose(
            logits_of(packed)[real], logits_of(plain)[real], atol=1e-5
        )


class DecodedTest:
    @pytest.mark.parametrize("packed", [False, True])
    def test_its_projection_is_the_logits(self, packed):
        model = make_transformer(packed=packed)
        features = {"inputs": INPUTS, "targets": TARGETS}
        projected = model.logits(model.decode(features))
        np.testing.assert_allclose(
            to_numpy(projected), logits_of(model), atol=1e-6
        )

    def test_spans_are_classified_along_with_it(self):
        model = make_transformer(span_labels=3)
        features = {"inputs": INPUTS, "targets": TARGETS}
        spans = model.spans(model.encode(INPUTS)[0])
        expected = model.decode(features), spans
        for one, other in zip(model.decode_and_classify(features), expected):
            np.testing.assert_allclose(
                to_numpy(one), to_numpy(other), atol=1e-6
            )

    @pytest.mark.parametrize("packed", [False, True])
    def test_a_token_without_its_embedding_leaves_no_trace(self, packed):
        model = make_transformer(packed=packed)
        randomize(model)

        def decoded(inputs, targets):
            features = {"inputs": inputs, "targets": targets}
            return to_numpy(model.decode(features, kept=kept))

        kept = {"inputs": INPUTS > 0, "targets": TARGETS > 0}
        full = decoded(INPUTS, TARGETS)
        kept["inputs"][0, 1] = kept["targets"][1, 2] = False
        cut = decoded(INPUTS, TARGETS)
        assert np.abs(cut - full).max(axis=(1, 2)).min() > 1e-3
        np.testing.assert_array_equal(cut[1, :3], full[1, :3])
        others = INPUTS.copy(), TARGETS.copy()
        others[0][0, 1], others[1][1, 2] = 9, 9
        np.testing.assert_array_equal(decoded(*others), cut)

    def test_an_embedding_of_zero_is_not_padding(self):
        model = make_transformer()
        randomize(model)
        features = {"inputs": INPUTS, "targets": TARGETS}
        padded = {**features, "inputs": np.where(INPUTS == 4, 0, INPUTS)}
        kept = {"inputs": INPUTS != 4, "targets": TARGETS > 0}
        cut = to_numpy(model.decode(features, kept=kept))
        assert np.abs(cut - to_numpy(model.decode(padded)))[0].max() > 1e-3

    def test_keeping_all_changes_no_bit(self):
        model = make_transformer()
        features = {"inputs": INPUTS, "targets": TARGETS}
        kept = {name: ids >= 0 for name, ids in features.items()}
        np.testing.assert_array_equal(
            to_numpy(model.decode(features, kept=kept)),
            to_numpy(model.decode(features)),
        )
