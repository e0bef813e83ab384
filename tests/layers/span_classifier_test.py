import json

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import check_config_round_trip
from layer_checks import check_dropout
from layer_checks import check_functional_model
from layer_checks import layer_norm
from layer_checks import part
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import to_numpy
from layer_checks import weights_by_path

from keras_transformer.layers import SpanClassifier
from keras_transformer.losses import span_loss

X = random_array(2, 4, 8)
PURE = tuple(name.removeprefix("mixed_") for name in PRECISIONS)


def make(**options):
    sizes = {"num_labels": 3, "width": 16}
    layer = SpanClassifier(**{**sizes, "dropout": 0.0, **options})
    layer.build(X.shape)
    return layer


def by_hand(kernels, first, last):
    """Computes the formula of the docstring for one span."""
    summed = first @ kernels["first"] + last @ kernels["last"]
    hidden = np.maximum(0, layer_norm(part(kernels, "norm"), summed))
    return hidden @ kernels["labels"] + kernels["labels_bias"]


class SpanClassifierTest:
    def test_each_span_has_the_logits_of_its_ends(self):
        layer = make()
        randomize(layer)
        logits, kernels = to_numpy(layer(X)), weights_by_path(layer)
        for row, i, j in np.ndindex(logits.shape[:-1]):
            expected = by_hand(kernels, X[row, i], X[row, j])
            np.testing.assert_allclose(logits[row, i, j], expected, atol=1e-4)

    def test_shape_and_weight_count(self):
        layer = make()
        assert layer(X).shape == (2, 4, 4, 3)
        assert layer.compute_output_shape(X.shape) == layer(X).shape
        ends, norm, labels = 2 * 8 * 16, 2 * 16, 16 * 3 + 3
        assert layer.count_params() == ends + norm + labels

    def test_the_output_shape_keeps_open_sizes(self):
        shape = make().compute_output_shape((None, None, 8))
        assert shape == (None, None, None, 3)

    def test_other_positions_change_no_span(self):
        layer = make()
        randomize(layer)
        ends = X[:, [0, 3]]
        expected = to_numpy(layer(ends))[:, 0, 1]
        np.testing.assert_allclose(
            to_numpy(layer(X))[:, 0, 3], expected, atol=1e-5
        )

    def test_at_first_no_label_is_probable(self):
        keras.utils.set_random_seed(0)
        logits = to_numpy(make(num_labels=20, width=256)(X))
        probabilities = 1 / (1 + np.exp(-logits))
        assert probabilities.mean() < 0.01
        assert probabilities.max() < 0.1

    def test_dropout_changes_training_only(self):
        check_dropout(make(dropout=0.5), make(), X, atol=1e-5)

    def test_config_round_trip(self):
        check_config_round_trip(make(dropout=0.2), X)

    def test_a_frozen_one_stays_frozen(self):
        layer = make(trainable=False)
        copy = SpanClassifier.from_config(
            json.loads(json.dumps(layer.get_config()))
        )
        copy.build(X.shape)
        assert not copy.trainable_weights
        assert not copy.norm_layer.trainable

    def test_in_a_functional_model(self, tmp_path):
        check_functional_model(make(), tmp_path, X)

    @pytest.mark.parametrize("precision", PRECISIONS + PURE)
    def test_low_precision_gives_nearly_the_same_logits_in_float32(
        self, precision
    ):
        full, low = make(), make(dtype=precision)
        randomize(full)
        low.set_weights(full.get_weights())
        logits = low(X)
        assert keras.backend.standardize_dtype(logits.dtype) == "float32"
        np.testing.assert_allclose(
            to_numpy(logits), to_numpy(full(X)), atol=0.15
        )

    @pytest.mark.slow
    def test_it_learns_labels_that_depend_on_both_ends(self):
        layer = make(num_labels=2, width=32)
        inputs = keras.Input((None, 8))
        model = keras.Model(inputs, layer(inputs))
        model.compile(keras.optimizers.Adam(0.02), mean_span_loss)
        x, labels = equal_or_rising(num_rows=64)
        model.fit(x, list_spans(labels), epochs=60, batch_size=16, verbose=0)
        x, labels = equal_or_rising(num_rows=20, seed=1)
        predicted = to_numpy(model(x)) > 0
        np.testing.assert_array_equal(predicted & is_span(labels), labels)


def equal_or_rising(num_rows, length=6, seed=0):
    """Returns random symbols, and which spans have which of two labels.

    The symbols at both ends of a span are the same, or the first is smaller.
    """
    symbols = np.random.default_rng(seed).integers(4, size=(num_rows, length))
    first, last = symbols[:, :, None], symbols[:, None]
    labels = np.stack([first == last, first < last], axis=-1)
    return np.eye(8, dtype="float32")[symbols], labels & is_span(labels)


def is_span(labels):
    """Marks the spans that do not end before they start."""
    return np.triu(np.ones(labels.shape[1:3], bool))[..., None]


def list_spans(labels):
    """Returns the spans with their labels, as `span_loss` takes them."""
    spans = [np.argwhere(row) for row in labels]
    listed = np.full((len(labels), max(map(len, spans)), 3), -1)
    for places, found in zip(listed, spans):
        places[: len(found)] = found
    return listed


def mean_span_loss(spans, logits):
    return span_loss(logits, spans, ops.ones(ops.shape(logits)[:2], "bool"))
