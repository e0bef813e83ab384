"""The kernels of attention and feed-forward: initial values and products.

The paper does not say how weights start. There are three choices.

`small_branch_ends`: the kernels that end a residual branch start normal with a
standard deviation of 0.02. These are the output projection of attention and
the outer layer of the feed-forward network. Each other kernel starts uniform
within `sqrt(6 / (rows + columns))`, as Glorot and Bengio (2010) propose. With
small last kernels, each branch adds little to its residual connection at first,
which post-norm needs in order to start learning early.

`tensor2tensor`: all kernels start as Glorot and Bengio propose, as in the
authors' code of June 2017 (`uniform_unit_scaling` with a gain of 1). That code
has one joint kernel for everything that it projects from the same input:
queries, keys and values in self-attention, and keys and values in
cross-attention. The formula has the columns of the joint kernel, so these
projections start smaller than separate kernels would.

`glorot`: each kernel starts as Glorot and Bengio propose, by its own columns,
as in version 1.15 of Tensor2Tensor.

With all, embeddings start normal with a standard deviation of `d_model^-0.5`,
and biases start at 0.
"""

import math

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.sequence_layer import check_choice

SMALL_BRANCH_ENDS = "small_branch_ends"
TENSOR2TENSOR = "tensor2tensor"
INITIALIZERS = (SMALL_BRANCH_ENDS, TENSOR2TENSOR, "glorot")


def check_initializer(initializer):
    """Returns `initializer` if it is one of `INITIALIZERS`."""
    return check_choice("initializer", initializer, INITIALIZERS, TENSOR2TENSOR)


def make_projection_initializer(initializer, rows, joint_columns):
    """Makes the initializer of a projection to queries, keys or values.

    `joint_columns` is the width of all projections of the same input. Each
    kernel needs a separate initializer, since each repeats its values.
    """
    if initializer != TENSOR2TENSOR:
        return keras.initializers.GlorotUniform()
    limit = math.sqrt(6 / (rows + joint_columns))
    return keras.initializers.RandomUniform(-limit, limit)


def make_branch_end_initializer(initializer):
    """Makes the initializer of a kernel that ends a residual branch."""
    if initializer == SMALL_BRANCH_ENDS:
        return keras.initializers.RandomNormal(stddev=0.02)
    return keras.initializers.GlorotUniform()


def project(x, kernel, bias=None, activation=None, training=None):
    """Multiplies `x` `(batch, length, rows)` by a `(rows, columns)` kernel.

    Adds the bias, `(columns,)`, and applies the activation. The `rows` of `x`
    may also be several axes, such as the heads and their widths. `training` is
    as in `add_bias`.
    """
    rows, columns = kernel.shape
    leading = find_leading_axes(x)
    # One product of two matrices. With three axes, or as an einsum, TensorFlow
    # takes up to twice the time and several times the operations.
    x = ops.reshape(x, (-1, rows))  # (batch x length, rows)
    product = ops.matmul(x, kernel)
    # Directly after a product of two matrices, TensorFlow fuses both with it.
    if bias is not None:
        product = add_bias(product, bias, training)
    if activation is not None:
        product = activation(product)
    # (batch, length, columns)
    return ops.reshape(product, (*leading, columns))


def add_bias(rows, bias, training=None):
    """Adds a vector `(columns,)` to each row of a matrix `(rows, columns)`.

    The gradient of the vector, a sum over all rows, is computed in float32.
    On a processor, TensorFlow sums up in bfloat16, where 4,096 ones are 256.
    With `training`, a product computes the sum faster.
    """
    bias = ops.cast(bias, rows.dtype)
    # TensorFlow keeps each custom gradient that it traces, with its graph,
    # until the process ends. A search would leave 40 MiB behind.
    if not training:
        wide = keras.backend.result_type(rows.dtype, "float32")
        total = ops.add(ops.cast(rows, wide), ops.cast(bias, wide))
        return ops.cast(total, rows.dtype)

    @ops.custom_gradient
    def add(rows, bias):
        def gradient(*args, upstream=None):
            # PyTorch passes the upstream gradient by name, others by position.
            slopes = args[0] if upstream is None else upstream
            return slopes, ops.cast(sum_rows(slopes)[0], bias.dtype)

        return ops.add(rows, bias), gradient

    return add(rows, bias)


def sum_rows(rows):
    """Sums the rows of a matrix `(rows, columns)`, in float32 at least.

    Returns a tensor of shape `(1, columns)`.
    """
    rows = ops.cast(rows, keras.backend.result_type(rows.dtype, "float32"))
    # A product with a vector is several times as fast as a sum.
    ones = ops.reshape(ops.ones_like(rows[:, :1]), (1, -1))  # (1, rows)
    return ops.matmul(ones, rows)


def project_to_heads(x, kernels, num_heads, biases=None, training=None):
    """Multiplies the vectors of a sequence by the matrices of all heads.

    `x` is `(batch, length, rows)`. Each kernel is `(rows, num_heads x width)`
    with any width, and gives a tensor of shape `(batch, num_heads, length,
    width)`. The biases, if any, are one vector for each kernel. `training` is
    as in `add_bias`.
    """
    leading = find_leading_axes(x)
    x = ops.reshape(x, (-1, kernels[0].shape[0]))  # (batch x length, rows)
    # One product for all kernels: (batch x length, sum of their columns)
    product = ops.matmul(x, ops.concatenate(kernels, axis=-1))
    if biases:
        bias = ops.concatenate(biases, axis=-1)
        product = add_bias(product, bias, training)
    columns = [kernel.shape[-1] for kernel in kernels]
    # TensorFlow needs 20 operations to find the sizes of unequal parts.
    is_even = len(set(columns)) == 1
    places = len(kernels) if is_even else np.cumsum(columns)[:-1].tolist()
    # The gradient of each slice would be a whole array filled with zeros,
    # while that of `split` is one concatenation.
    return tuple(
        split_heads(part, leading, num_heads)
        for part in ops.split(product, places, axis=-1)
    )


def split_heads(rows, leading, num_heads):
    """Divides vectors `(batch x length, num_heads x width)` among heads.

    `leading` are batch and length, of which one may be -1. Returns a tensor of
    shape `(batch, num_heads, length, width)`.
    """
    width = rows.shape[-1] // num_heads
    # (batch, length, num_heads, width)
    x = ops.reshape(rows, (*leading, num_heads, width))
    # Heads come before positions for plain matrix products. In the other
    # order, transposes took 2.4 of the 7 s of a beam search with base.
    return ops.transpose(x, (0, 2, 1, 3))  # (batch, num_heads, length, width)


def find_leading_axes(x):
    """Returns batch and length of `(batch, length, ...)` for a `reshape`."""
    # In a graph of TensorFlow, `ops.shape` makes five operations for each axis
    # of unknown size. One is the batch, which is -1 if it is not known, or 0.
    length = x.shape[1] if x.shape[1] is not None else ops.shape(x)[1]
    return x.shape[0] or -1, length
