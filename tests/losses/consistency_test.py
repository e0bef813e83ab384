"""The loss of two passes against the formulas, by NumPy and by autodiff."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import softmax
from layer_checks import to_numpy

from keras_transformer.losses import projected_consistency
from keras_transformer.losses import projected_cross_entropy

VOCAB_SIZE = 7
TARGETS = np.array([[2, 2, 1, 0], [6, 1, 0, 0]], "int32")
REAL = TARGETS != 0
STATES = random_array(2, 4, 5, seed=2)
OTHERS = STATES + 0.5 * random_array(2, 4, 5, seed=3)
EMBEDDINGS = random_array(VOCAB_SIZE, 5, seed=4)
ARRAYS = (STATES, OTHERS, EMBEDDINGS)
FORMS = pytest.mark.parametrize("symmetric", [False, True])


def consistency(*arrays, eps=0.1, weight=3.0, **options):
    return projected_consistency(
        *arrays, TARGETS, eps, weight=weight, **options
    )


def numbers(*arrays, **options):
    return [float(to_numpy(x)) for x in consistency(*arrays, **options)]


def explicit(states, others, embeddings, eps, weight, symmetric):
    """Computes the loss from logits, for automatic differentiation."""
    logs = [
        ops.log_softmax(ops.matmul(x, ops.transpose(embeddings)))
        for x in (states, others)
    ]
    soft = (1 - eps) * np.eye(VOCAB_SIZE)[TARGETS] + eps / VOCAB_SIZE
    total = 0.0
    for log_p, log_q in (logs, logs[::-1])[: 1 + symmetric]:
        entropy = -ops.sum(ops.cast(soft, "float32") * log_p, axis=-1)
        divergence = ops.sum(ops.exp(log_p) * (log_p - log_q), axis=-1)
        losses = entropy + weight * divergence
        total = total + ops.sum(losses * REAL.astype("float32"))
    return total / (1 + symmetric)


class ProjectedConsistencyTest:
    @FORMS
    def test_sums_equal_the_formulas(self, symmetric):
        p, q = (softmax(x.astype("float64") @ EMBEDDINGS.T) for x in ARRAYS[:2])
        forward = (p * np.log(p / q)).sum(-1)[REAL].sum()
        backward = (q * np.log(q / p)).sum(-1)[REAL].sum()
        divergence = (forward + backward) / 2 if symmetric else forward
        entropies = [
            float(
                to_numpy(projected_cross_entropy(x, EMBEDDINGS, TARGETS, 0.1))
            )
            for x in ARRAYS[:2]
        ]
        entropy = np.mean(entropies) if symmetric else entropies[0]
        expected = [entropy + 3.0 * divergence, entropy, divergence]
        sums = numbers(*ARRAYS, symmetric=symmetric)
        np.testing.assert_allclose(sums, expected, rtol=1e-5)

    @FORMS
    @pytest.mark.parametrize(
        "eps", [pytest.param(0.0, marks=pytest.mark.slow), 0.3]
    )
    @pytest.mark.parametrize(
        "num_chunks", [pytest.param(1, marks=pytest.mark.slow), 3, 11]
    )
    def test_loss_and_gradients_equal_those_through_logits(
        self, symmetric, eps, num_chunks
    ):
        def chunked(*arrays):
            return consistency(
                *arrays, eps=eps, symmetric=symmetric, num_chunks=num_chunks
            )[0]

        def through_logits(*arrays):
            return explicit(*arrays, eps, 3.0, symmetric)

        np.testing.assert_allclose(
            to_numpy(chunked(*ARRAYS)),
            to_numpy(through_logits(*ARRAYS)),
            rtol=1e-5,
        )
        for number in range(3):

            def slopes(function, number=number):
                def scaled(x):
                    arrays = list(ARRAYS)
                    arrays[number] = x
                    return 2 * function(*arrays)

                return gradient(scaled, ARRAYS[number])

            np.testing.assert_allclose(
                slopes(chunked), slopes(through_logits), atol=2e-5
            )

    @FORMS
    def test_equal_passes_leave_cross_entropy_alone(self, symmetric):
        expected = projected_cross_entropy(STATES, EMBEDDINGS, TARGETS, 0.1)
        loss, cross_entropy, divergence = numbers(
            STATES, STATES, EMBEDDINGS, symmetric=symmetric
        )
        assert divergence == 0.0
        assert loss == cross_entropy == pytest.approx(float(expected), rel=1e-6)

    @FORMS
    def test_padding_adds_nothing(self, symmetric):
        expected = numbers(*ARRAYS, symmetric=symmetric)
        others = np.where(REAL[:, :, None], OTHERS, 9.0).astype("float32")
        arrays = (STATES, others, EMBEDDINGS)
        assert numbers(*arrays, symmetric=symmetric) == expected

        def loss(others):
            return consistency(STATES, others, EMBEDDINGS, symmetric=symmetric)[
                0
            ]

        slopes = gradient(loss, others)
        assert np.all(slopes[~REAL] == 0.0)
        assert np.all(np.abs(slopes[REAL]).max(-1) > 0.0)

    def test_simcut_is_the_default(self):
        assert numbers(*ARRAYS) == numbers(*ARRAYS, symmetric=False)
        assert numbers(*ARRAYS) != numbers(*ARRAYS, symmetric=True)

    def test_symmetric_loss_does_not_depend_on_the_order(self):
        turned = (OTHERS, STATES, EMBEDDINGS)
        np.testing.assert_allclose(
            numbers(*ARRAYS, symmetric=True),
            numbers(*turned, symmetric=True),
            rtol=1e-6,
        )

    @FORMS
    def test_huge_states_give_finite_losses_and_gradients(self, symmetric):
        def loss(states):
            return consistency(
                states, -states, EMBEDDINGS, symmetric=symmetric
            )[0]

        huge = 1e4 * STATES
        assert np.isfinite(to_numpy(loss(huge)))
        assert np.all(np.isfinite(gradient(loss, huge)))

    @FORMS
    @pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
    def test_low_precision_states_give_float32_sums(self, symmetric, dtype):
        states, others = (ops.cast(x, dtype) for x in ARRAYS[:2])
        options = {"symmetric": symmetric}
        sums = consistency(states, others, EMBEDDINGS, **options)
        for x in sums:
            assert keras.backend.standardize_dtype(x.dtype) == "float32"
        expected = numbers(*ARRAYS, **options)
        np.testing.assert_allclose(
            [to_numpy(x) for x in sums], expected, rtol=0.05
        )
