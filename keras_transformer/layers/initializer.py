"""The initial values of the kernels of attention and feed-forward.

The paper does not say how weights start. There are two choices.

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
cross-attention. The columns are those of the joint kernel, so these projections
start smaller than separate kernels would.

With both, embeddings start normal with a standard deviation of `d_model^-0.5`,
and biases start at 0.
"""

import math

import keras

from keras_transformer.layers.sequence_layer import check_choice

SMALL_BRANCH_ENDS = "small_branch_ends"
TENSOR2TENSOR = "tensor2tensor"
INITIALIZERS = (SMALL_BRANCH_ENDS, TENSOR2TENSOR)


def check_initializer(initializer):
    """Returns `initializer` if it is one of `INITIALIZERS`."""
    return check_choice("initializer", initializer, INITIALIZERS, TENSOR2TENSOR)


def make_projection_initializer(initializer, rows, joint_columns):
    """Makes the initializer of a projection to queries, keys or values.

    `joint_columns` is the width of all projections of the same input. Each
    kernel needs a separate initializer, since each repeats its values.
    """
    if initializer == SMALL_BRANCH_ENDS:
        return keras.initializers.GlorotUniform()
    limit = math.sqrt(6 / (rows + joint_columns))
    return keras.initializers.RandomUniform(-limit, limit)


def make_branch_end_initializer(initializer):
    """Makes the initializer of a kernel that ends a residual branch."""
    if initializer == SMALL_BRANCH_ENDS:
        return keras.initializers.RandomNormal(stddev=0.02)
    return keras.initializers.GlorotUniform()
