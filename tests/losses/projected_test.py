"""The projected losses and their gradients against those through logits."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import to_numpy

from keras_transformer.losses import projected_cross_entropy
from keras_transformer.losses import smoothed_cross_entropy

TENSORFLOW = keras.backend.backend() == "tensorflow"
VOCAB_SIZE = 7
TARGETS = np.array([[2, 2, 1, 0], [6, 1, 0, 0]], "int32")
REAL = TARGETS != 0
SMOOTHINGS = pytest.mark.parametrize("eps", [0.0, 0.1, 0.5])


class ProjectedCrossEntropyTest:
    STATES = random_array(2, 4, 5, seed=2)
    EMBEDDINGS = random_array(VOCAB_SIZE, 5, seed=3)

    def explicit(self, states, embeddings, eps):
        losses = smoothed_cross_entropy(
            TARGETS, ops.matmul(states, ops.transpose(embeddings)), eps
        )
        return ops.sum(losses * REAL.astype("float32"))

    @SMOOTHINGS
    @pytest.mark.parametrize("num_chunks", [1, 3, 8, 11])
    def test_loss_and_gradients_equal_those_through_logits(
        self, eps, num_chunks
    ):
        def chunked(states, embeddings):
            return projected_cross_entropy(
                states, embeddings, TARGETS, eps, num_chunks
            )

        total = float(to_numpy(chunked(self.STATES, self.EMBEDDINGS)))
        expected = self.explicit(self.STATES, self.EMBEDDINGS, eps)
        np.testing.assert_allclose(total, to_numpy(expected), rtol=1e-5)
        for function in (
            lambda f: gradient(lambda x: f(x, self.EMBEDDINGS), self.STATES),
            lambda f: gradient(lambda x: f(self.STATES, x), self.EMBEDDINGS),
        ):
            np.testing.assert_allclose(
                function(lambda x, y: 3 * chunked(x, y)),
                function(lambda x, y: 3 * self.explicit(x, y, eps)),
                atol=2e-5,
            )

    def test_the_embeddings_may_be_a_variable(self):
        variable = keras.Variable(self.EMBEDDINGS)
        np.testing.assert_array_equal(
            *(
                gradient(
                    lambda x, matrix=matrix: projected_cross_entropy(
                        x, matrix, TARGETS
                    ),
                    self.STATES,
                )
                for matrix in (variable, self.EMBEDDINGS)
            )
        )

    def test_huge_states_give_finite_losses_and_gradients(self):
        def total(states):
            return projected_cross_entropy(states, self.EMBEDDINGS, TARGETS)

        huge = 1e4 * self.STATES
        assert np.isfinite(to_numpy(total(huge)))
        assert np.all(np.isfinite(gradient(total, huge)))

    def test_an_impossible_target_counts_a_loss_of_85(self):
        states = np.array([[[1.0, 0.0]]], "float32")
        embeddings = np.array([[0, 0], [500, 0], [0, 1]], "float32")

        def total(states):
            return projected_cross_entropy(states, embeddings, np.array([[2]]))

        assert 85 < float(to_numpy(total(states))) < 86
        # All of the probability has to move from the other token.
        np.testing.assert_allclose(gradient(total, states), [[[500, -1]]])

    def test_smoothing_over_a_large_vocabulary_in_float16_is_finite(self):
        states = np.zeros((1, 1, 2), "float16")
        embeddings = np.full((8192, 2), 20, "float16")
        loss = projected_cross_entropy(
            states, embeddings, np.array([[5]]), label_smoothing=0.1
        )
        assert float(to_numpy(loss)) == pytest.approx(np.log(8192))

    @pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
    def test_low_precision_states_give_a_float32_loss(self, dtype):
        states = ops.cast(self.STATES, dtype)
        loss = projected_cross_entropy(states, self.EMBEDDINGS, TARGETS, 0.1)
        assert keras.backend.standardize_dtype(loss.dtype) == "float32"
        expected = to_numpy(self.explicit(self.STATES, self.EMBEDDINGS, 0.1))
        np.testing.assert_allclose(to_numpy(loss), expected, rtol=0.02)

    @pytest.mark.skipif(not TENSORFLOW, reason="reads a TensorFlow graph")
    def test_no_tensor_holds_all_logits(self):
        import tensorflow as tf

        @tf.function
        def slopes(states):
            with tf.GradientTape() as tape:
                tape.watch(states)
                loss = projected_cross_entropy(
                    states, self.EMBEDDINGS, TARGETS, 0.1, num_chunks=4
                )
            return tape.gradient(loss, states)

        graph = slopes.get_concrete_function(tf.constant(self.STATES)).graph
        sizes = [
            output.shape.num_elements() or 0
            for node in graph.get_operations()
            for output in node.outputs
        ]
        assert max(sizes) < TARGETS.size * VOCAB_SIZE
