"""Position-wise feed-forward network."""

import functools

from keras import ops

from keras_transformer.layers import projection
from keras_transformer.layers.dropout import make_inner_dropout
from keras_transformer.layers.sequence_layer import SequenceLayer
from keras_transformer.layers.sequence_layer import check_choice
from keras_transformer.layers.sequence_layer import check_sequence
from keras_transformer.layers.sequence_layer import check_vectors
from keras_transformer.serialization import serializable

ACTIVATIONS = {
    "relu": ops.relu,
    # The default of Keras is an approximation by tanh.
    "gelu": functools.partial(ops.gelu, approximate=False),
    "silu": ops.silu,
}


@serializable
class FeedForward(SequenceLayer):
    """Applies the same two-layer network at every position.

    Computes `FFN(x) = max(0, x W_1 + b_1) W_2 + b_2`, equation 2 of Vaswani et
    al. (2017), or the same with another activation instead of the maximum.
    Positions do not see each other, so it takes no mask.

    Args:
        d_model: Integer width of input and output.
        d_ff: Integer width of the inner layer.
        activation_dropout: Float, the share of inner activations that is
            dropped. The paper uses none, Tensor2Tensor's later sets 0.1.
            Defaults to 0.0.
        initializer: String, "small_branch_ends", "tensor2tensor" or "glorot",
            the initial values of the kernels; see `layers.projection`.
            Defaults to "small_branch_ends".
        activation: String, "relu" as in the paper, "gelu" by the exact formula
            (Hendrycks and Gimpel, 2016), or "silu", which is also called swish
            (Ramachandran et al., 2017). Defaults to "relu".

    Call arguments:
        x: Tensor of shape `(batch, length, d_model)`.

    Returns:
        Tensor of shape `(batch, length, d_model)`.

    Example:

    >>> import numpy as np
    >>> FeedForward(d_model=8, d_ff=32)(np.ones((1, 3, 8), "float32")).shape
    TensorShape([1, 3, 8])
    """

    def __init__(
        self,
        d_model,
        d_ff,
        activation_dropout=0.0,
        initializer=projection.SMALL_BRANCH_ENDS,
        activation="relu",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.activation = check_choice(
            "activation", activation, ACTIVATIONS, "relu"
        )
        self.d_model = d_model
        self.d_ff = d_ff
        self.activation_dropout = activation_dropout
        self.initializer = projection.check_initializer(initializer)
        self.dropout_layer = make_inner_dropout(
            activation_dropout, self.dtype_policy
        )

    def build(self, input_shape):
        check_sequence(input_shape, self.d_model)
        # Checkpoints store the weights under these names.
        shape = self.d_model, self.d_ff
        self.inner_kernel = self.add_matrix("inner", shape, "glorot_uniform")
        self.inner_bias = self.add_bias("inner_bias", self.d_ff)
        initializer = projection.make_branch_end_initializer(self.initializer)
        self.outer_kernel = self.add_matrix("outer", shape[::-1], initializer)
        self.outer_bias = self.add_bias("outer_bias", self.d_model)

    def call(self, x, training=None):
        check_vectors(x, self.d_model)
        inner, outer = (
            ops.cast(self.merge(kernel), self.compute_dtype)
            for kernel in (self.inner_kernel, self.outer_kernel)
        )
        # (batch, length, d_ff)
        activation = ACTIVATIONS[self.activation]
        hidden = projection.project(
            x, inner, self.inner_bias, activation, training
        )
        hidden = self.dropout_layer(hidden, training=training)
        return projection.project(
            hidden, outer, self.outer_bias, training=training
        )
