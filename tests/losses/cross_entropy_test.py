"""Cross-entropy and its gradient against NumPy in float64."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import softmax
from layer_checks import to_numpy

from keras_transformer.losses import SmoothedCrossEntropy
from keras_transformer.losses import smoothed_cross_entropy

TENSORFLOW = keras.backend.backend() == "tensorflow"
VOCAB_SIZE = 7
LOGITS = 3 * random_array(2, 4, VOCAB_SIZE)
TARGETS = np.array([[2, 2, 1, 0], [6, 1, 0, 0]], "int32")
REAL = TARGETS != 0
SMOOTHINGS = pytest.mark.parametrize("eps", [0.0, 0.1, 0.5])


def soft_targets(eps):
    return (1 - eps) * np.eye(VOCAB_SIZE)[TARGETS] + eps / VOCAB_SIZE


def explicit_loss(logits, eps):
    """Computes cross-entropy against the smoothed one-hot, in float64."""
    shares = softmax(logits.astype("float64"))
    return -(soft_targets(eps) * np.log(shares)).sum(-1)


class SmoothedCrossEntropyFunctionTest:
    @SMOOTHINGS
    def test_equals_cross_entropy_against_a_soft_one_hot(self, eps):
        losses = to_numpy(smoothed_cross_entropy(TARGETS, LOGITS, eps))
        assert losses.shape == (2, 4)
        expected = explicit_loss(LOGITS, eps)
        np.testing.assert_allclose(losses, expected, rtol=1e-5)

    @SMOOTHINGS
    def test_gradient_is_probability_minus_soft_one_hot(self, eps):
        factors = random_array(2, 4, seed=1)

        def weighted(logits):
            losses = smoothed_cross_entropy(TARGETS, logits, eps)
            return ops.sum(losses * factors)

        expected = factors[..., None] * (softmax(LOGITS) - soft_targets(eps))
        slopes = gradient(weighted, LOGITS)
        np.testing.assert_allclose(slopes, expected, atol=1e-6)

    @SMOOTHINGS
    def test_gradient_equals_finite_differences(self, eps):
        def total(logits):
            return ops.sum(smoothed_cross_entropy(TARGETS, logits, eps))

        slopes, step = gradient(total, LOGITS), 1e-4
        for cell in np.ndindex(LOGITS.shape):
            nudge = np.zeros(LOGITS.shape)
            nudge[cell] = step
            more, less = (
                explicit_loss(LOGITS + nudge, eps),
                explicit_loss(LOGITS - nudge, eps),
            )
            numeric = (more - less).sum() / (2 * step)
            np.testing.assert_allclose(slopes[cell], numeric, atol=1e-5)

    def test_huge_logits_give_finite_losses_and_gradients(self):
        def total(logits):
            return ops.sum(smoothed_cross_entropy(TARGETS, logits, 0.1))

        huge = 1e4 * LOGITS
        losses = to_numpy(smoothed_cross_entropy(TARGETS, huge, 0.1))
        np.testing.assert_allclose(
            losses, explicit_loss_of_huge(huge), rtol=1e-4
        )
        assert np.all(np.isfinite(gradient(total, huge)))

    @pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
    def test_low_precision_logits_give_a_float32_loss(self, dtype):
        logits = ops.cast(LOGITS, dtype)
        losses = smoothed_cross_entropy(TARGETS, logits, 0.1)
        assert keras.backend.standardize_dtype(losses.dtype) == "float32"
        expected = explicit_loss(to_numpy(logits), 0.1)
        np.testing.assert_allclose(to_numpy(losses), expected, rtol=1e-5)

        def total(x):
            x = ops.cast(x, dtype)
            return ops.sum(smoothed_cross_entropy(TARGETS, x, 0.1))

        expected = softmax(LOGITS) - soft_targets(0.1)
        slopes = gradient(total, LOGITS)
        np.testing.assert_allclose(slopes, expected, atol=0.02)

    @pytest.mark.skipif(not TENSORFLOW, reason="reads a TensorFlow graph")
    def test_no_one_hot_of_the_targets_is_built(self):
        import tensorflow as tf

        @tf.function(
            input_signature=[
                tf.TensorSpec([None, None], tf.int32),
                tf.TensorSpec([None, None, VOCAB_SIZE], tf.float32),
            ]
        )
        def slopes(targets, logits):
            with tf.GradientTape() as tape:
                tape.watch(logits)
                losses = smoothed_cross_entropy(targets, logits, 0.1)
            return tape.gradient(losses, logits)

        graph = slopes.get_concrete_function().graph
        assert "OneHot" not in {node.type for node in graph.get_operations()}
        computed = to_numpy(slopes(TARGETS, LOGITS))
        expected = softmax(LOGITS) - soft_targets(0.1)
        np.testing.assert_allclose(computed, expected, atol=1e-6)


def explicit_loss_of_huge(logits):
    """Computes the loss without exp: the greatest logit is the whole sum."""
    log_shares = logits - logits.max(-1, keepdims=True)
    return -(soft_targets(0.1) * log_shares).sum(-1)


class SmoothedCrossEntropyTest:
    def test_is_the_mean_over_real_tokens(self):
        loss = float(to_numpy(SmoothedCrossEntropy(0.1)(TARGETS, LOGITS)))
        expected = explicit_loss(LOGITS, 0.1)[REAL].mean()
        np.testing.assert_allclose(loss, expected, rtol=1e-5)

    def test_more_padding_changes_nothing(self):
        loss = SmoothedCrossEntropy()
        targets = np.pad(TARGETS, [(0, 3), (0, 2)])
        logits = np.pad(LOGITS, [(0, 3), (0, 2), (0, 0)], constant_values=5.0)
        np.testing.assert_allclose(
            to_numpy(loss(targets, logits)),
            to_numpy(loss(TARGETS, LOGITS)),
            rtol=1e-6,
        )

    def test_no_gradient_at_padding(self):
        loss = SmoothedCrossEntropy()
        slopes = gradient(lambda logits: loss(TARGETS, logits), LOGITS)
        assert np.all(slopes[~REAL] == 0.0)
        assert np.all(np.abs(slopes[REAL]).max(-1) > 0.0)

    def test_the_loss_of_only_padding_is_zero(self):
        loss = SmoothedCrossEntropy()(np.zeros_like(TARGETS), LOGITS)
        assert float(to_numpy(loss)) == 0.0

    def test_masks_of_keras_do_not_count_padding_again(self):
        embedding = keras.layers.Embedding(VOCAB_SIZE, 4, mask_zero=True)
        logits = keras.layers.Dense(VOCAB_SIZE)(embedding(TARGETS))
        expected = explicit_loss(to_numpy(logits), 0.1)[REAL].mean()
        loss = to_numpy(SmoothedCrossEntropy(0.1)(TARGETS, logits))
        np.testing.assert_allclose(loss, expected, rtol=1e-5)

    def test_weights_of_sentences_and_of_tokens(self):
        loss = SmoothedCrossEntropy(0.1)
        losses = explicit_loss(LOGITS, 0.1) * REAL
        for weights in (
            np.arange(1.0, len(TARGETS) + 1)[:, None],
            np.arange(1.0, TARGETS.size + 1).reshape(TARGETS.shape),
        ):
            expected = (losses * weights).sum() / REAL.sum()
            given = weights[:, 0] if weights.shape[1] == 1 else weights
            for same in (given, given.tolist()):
                result = to_numpy(loss(TARGETS, LOGITS, sample_weight=same))
                np.testing.assert_allclose(result, expected, rtol=1e-5)

    def test_ids_are_exact_where_keras_is_not(self):
        logits = random_array(1, 2, 3000, seed=1)
        targets = np.array([[2049, 7]], "int32")
        expected = float(to_numpy(SmoothedCrossEntropy()(targets, logits)))
        keras.config.set_floatx("float16")
        try:
            result = float(to_numpy(SmoothedCrossEntropy()(targets, logits)))
        finally:
            keras.config.set_floatx("float32")
        assert result == expected

    def test_the_papers_smoothing_is_the_default(self):
        assert SmoothedCrossEntropy().label_smoothing == 0.1

    def test_round_trip(self):
        loss = SmoothedCrossEntropy(0.2, name="smoothed")
        copy = keras.losses.deserialize(keras.losses.serialize(loss))
        assert isinstance(copy, SmoothedCrossEntropy)
        assert copy.get_config() == loss.get_config()
