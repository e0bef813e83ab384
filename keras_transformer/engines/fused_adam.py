"""Adam in one pass over each weight."""

import keras
import tensorflow as tf


class FusedAdam(keras.optimizers.Adam):
    """Computes the updates of Keras' Adam with TensorFlow's kernel for Adam.

    Keras composes an update of a dozen operations, and each of them reads or
    writes all weights. For the base model on two cores this takes 140 ms, while
    the kernel takes 55 ms.
    """

    @classmethod
    def instead_of(cls, optimizer):
        """Returns the optimizer, or its fused copy if it is Keras' Adam."""
        if type(optimizer) is not keras.optimizers.Adam:
            return optimizer
        return cls.from_config(optimizer.get_config())

    def _backend_update_step(self, gradients, variables, learning_rate):
        # Keras counts an update after it is done, while the bias correction of
        # Adam starts at 1.
        step = tf.cast(self.iterations.value + 1, tf.float32)
        # Computed once, not for each of the variables.
        factors = {
            "lr": tf.cast(learning_rate, tf.float32),
            "beta1_power": tf.pow(self.beta_1, step),
            "beta2_power": tf.pow(self.beta_2, step),
            "beta1": tf.constant(self.beta_1, tf.float32),
            "beta2": tf.constant(self.beta_2, tf.float32),
            "epsilon": tf.constant(self.epsilon, tf.float32),
        }
        super()._backend_update_step(gradients, variables, factors)

    def update_step(self, gradient, variable, factors):
        index = self._get_variable_index(variable)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            grad=gradient,
            **factors,
        )
