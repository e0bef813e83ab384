"""Perplexity and accuracy over batches against NumPy."""

import keras
import numpy as np
import pytest
from layer_checks import random_array
from layer_checks import softmax
from layer_checks import to_numpy

from keras_transformer.metrics import MaskedAccuracy
from keras_transformer.metrics import Perplexity
from keras_transformer.metrics import compute_token_sums

# Bucketing makes batches of different shapes and shares of padding.
SHAPES = [(2, 5), (4, 3), (1, 7)]
METRICS = pytest.mark.parametrize("metric", [MaskedAccuracy, Perplexity])


def random_batch(shape, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, shape[1] + 1, (shape[0], 1))
    targets = rng.integers(1, 6, shape) * (np.arange(shape[1]) < lengths)
    return targets.astype("int32"), 2 * random_array(*shape, 6, seed=seed)


BATCHES = [random_batch(shape, seed) for seed, shape in enumerate(SHAPES)]


def tokens_of(batches):
    """Returns targets and logits of the real tokens of all batches."""
    targets = [targets[targets != 0] for targets, _ in batches]
    logits = [logits[targets != 0] for targets, logits in batches]
    return np.concatenate(targets), np.concatenate(logits)


def perplexity(batches):
    targets, logits = tokens_of(batches)
    log_shares = np.log(softmax(logits))
    return np.exp(-log_shares[np.arange(len(targets)), targets].mean())


def accuracy(batches):
    targets, logits = tokens_of(batches)
    return (logits.argmax(-1) == targets).mean()


def result_of(metric, batches):
    for targets, logits in batches:
        metric.update_state(targets, logits)
    return float(to_numpy(metric.result()))


class MetricsTest:
    def test_perplexity_over_batches_equals_numpy(self):
        result = result_of(Perplexity(), BATCHES)
        np.testing.assert_allclose(result, perplexity(BATCHES), rtol=1e-5)

    @METRICS
    def test_weights_choose_rows(self, metric):
        metric = metric()
        targets, logits = BATCHES[0]
        for weights in ([0, 0.5], np.array([0, 0.5])):
            metric.update_state(targets, logits, sample_weight=weights)
        expected = result_of(type(metric)(), [(targets[1:], logits[1:])])
        result = float(to_numpy(metric.result()))
        np.testing.assert_allclose(result, expected, rtol=1e-5)

    @METRICS
    def test_the_data_type_is_that_of_the_sums(self, metric):
        assert metric().total.dtype == "float32"
        assert metric(dtype="float64").total.dtype == "float64"

    def test_accuracy_over_batches_equals_numpy(self):
        result = result_of(MaskedAccuracy(), BATCHES)
        assert 0 < result < 1
        np.testing.assert_allclose(result, accuracy(BATCHES), rtol=1e-6)

    def test_every_token_weighs_the_same_whatever_its_batch(self):
        mean = np.mean([perplexity([batch]) for batch in BATCHES])
        assert abs(mean - perplexity(BATCHES)) > 1e-2
        joined = result_of(Perplexity(), BATCHES)
        assert abs(mean - joined) > 1e-2

    def test_equal_logits_give_the_size_of_the_vocabulary(self):
        zeros = [(targets, 0 * logits) for targets, logits in BATCHES]
        result = result_of(Perplexity(), zeros)
        np.testing.assert_allclose(result, 6.0, rtol=1e-5)

    @METRICS
    def test_logits_at_padding_change_nothing(self, metric):
        targets, logits = BATCHES[0]
        changed = np.where(targets[..., None] == 0, 50.0 - logits, logits)
        assert np.any(changed != logits)
        assert result_of(metric(), [(targets, changed)]) == result_of(
            metric(), [(targets, logits)]
        )

    @METRICS
    def test_reset_forgets_earlier_batches(self, metric):
        used = metric()
        result_of(used, BATCHES[:2])
        used.reset_state()
        result = result_of(used, BATCHES[2:])
        assert result == result_of(metric(), BATCHES[2:])

    @METRICS
    def test_a_batch_without_tokens_gives_a_finite_result(self, metric):
        targets, logits = BATCHES[0]
        assert np.isfinite(result_of(metric(), [(0 * targets, logits)]))

    @METRICS
    def test_round_trip(self, metric):
        copy = keras.metrics.deserialize(
            keras.metrics.serialize(metric(name="mine"))
        )
        assert isinstance(copy, metric)
        assert copy.name == "mine"

    @METRICS
    def test_low_precision_logits_are_summed_in_float32(self, metric):
        rounded = [
            (targets, keras.ops.cast(logits, "bfloat16"))
            for targets, logits in BATCHES
        ]
        widened = [(targets, to_numpy(logits)) for targets, logits in rounded]
        np.testing.assert_allclose(
            result_of(metric(), rounded),
            result_of(metric(), widened),
            rtol=1e-5,
        )

    def test_token_sums_are_three_sums(self):
        targets, logits = BATCHES[1]
        sums = [float(to_numpy(x)) for x in compute_token_sums(targets, logits)]
        num_tokens = np.sum(targets != 0)
        negative_log = np.log(perplexity(BATCHES[1:2])) * num_tokens
        correct = accuracy(BATCHES[1:2]) * num_tokens
        np.testing.assert_allclose(
            sums, [negative_log, correct, num_tokens], rtol=1e-5
        )
