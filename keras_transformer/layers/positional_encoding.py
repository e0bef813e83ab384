"""Positions as sinusoids or learned vectors, added to a sequence."""

import keras
from keras import ops

from keras_transformer.layers.sequence_layer import SequenceLayer
from keras_transformer.layers.sequence_layer import check_choice
from keras_transformer.layers.sequence_layer import check_vectors
from keras_transformer.serialization import serializable

POSITIONAL_ENCODINGS = ("sinusoidal", "tensor2tensor", "learned", "none")


@serializable
class SinusoidalPositionalEncoding(SequenceLayer):
    """Adds sines and cosines of geometrically spaced wavelengths.

    `PE(pos, 2i) = sin(pos / 10000^(2i / d_model))` and
    `PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))`, interleaved as the
    formula says. Section 3.5 of Vaswani et al. (2017). The layer has no
    weights, takes no mask and accepts sequences of any length.

    Tensor2Tensor's "timing signal" has all sines before all cosines, and
    `d_model - 2` instead of `d_model`, so that the longest wavelength is
    exactly 10000 times the shortest. Choose it for models of Tensor2Tensor.

    Args:
        tensor2tensor: Whether to add Tensor2Tensor's signal. Defaults to False.

    Call arguments:
        x: Tensor of shape `(batch, length, d_model)` with an even d_model.
        start: Integer or scalar tensor, the first position. Defaults to 0.
        positions: Integer tensor of shape `(batch, length)` for packed rows,
            the position of each vector in its own sequence, from 0 to
            `length` - 1. `start` is added. Defaults to None.

    Returns:
        Tensor of shape `(batch, length, d_model)`.

    Example:

    >>> import numpy as np
    >>> encode = SinusoidalPositionalEncoding()
    >>> np.array(encode(np.zeros((1, 1, 4), "float32")))[0, 0]
    array([0., 1., 0., 1.], dtype=float32)
    """

    def __init__(self, tensor2tensor=False, **kwargs):
        super().__init__(**kwargs)
        self.tensor2tensor = tensor2tensor

    def build(self, input_shape):
        if input_shape[-1] % 2:
            raise ValueError(
                "`d_model` must be even for sinusoidal positions. Received: "
                f"d_model={input_shape[-1]}. Add 1 to it."
            )

    def call(self, x, start=0, positions=None):
        check_vectors(x)
        length, d_model = ops.shape(x)[1], x.shape[-1]
        # Float32 in every precision, since bfloat16 cannot count beyond 256.
        numbers = ops.cast(start + ops.arange(length, dtype="int32"), "float32")
        # Computed at each call, since a stored table would limit the length.
        pairs = ops.arange(0, d_model, 2, dtype="float32")
        divisor = max(1, d_model - 2) if self.tensor2tensor else d_model
        angles = ops.expand_dims(numbers, 1) * ops.power(
            10000.0, -pairs / divisor
        )
        # (length, d_model / 2, 2), or (length, 2, d_model / 2)
        waves = ops.stack(
            [ops.sin(angles), ops.cos(angles)],
            axis=1 if self.tensor2tensor else 2,
        )
        table = ops.reshape(waves, (length, d_model))  # (length, d_model)
        table = ops.cast(table, x.dtype)  # sums keep the precision of `x`
        if positions is not None:
            table = ops.take(table, positions, 0)  # (batch, length, d_model)
        return x + table


@serializable
class LearnedPositionalEncoding(SequenceLayer):
    """Adds a learned vector per position.

    Row E of table 3 of Vaswani et al. (2017). Positions from `max_length` on
    share the last vector, which was not learned for them. Prefer sinusoids if
    such lengths occur. The layer takes no mask.

    Args:
        max_length: Integer number of positions.
        d_model: Integer width of a vector.

    Call arguments and result are as for `SinusoidalPositionalEncoding`.

    Example:

    >>> import numpy as np
    >>> encode = LearnedPositionalEncoding(max_length=16, d_model=4)
    >>> encode(np.zeros((1, 3, 4), "float32")).shape
    TensorShape([1, 3, 4])
    """

    def __init__(self, max_length, d_model, **kwargs):
        super().__init__(**kwargs)
        self.max_length = max_length
        self.d_model = d_model

    def build(self, input_shape):
        self.positions = self.add_weight(
            name="positions",
            shape=(self.max_length, self.d_model),
            initializer=keras.initializers.RandomNormal(
                stddev=self.d_model**-0.5
            ),
            # The gradient of a vector is a sum over all rows of a batch. The
            # sum needs float32, so vectors are cast after the look-up.
            autocast=False,
        )

    def call(self, x, start=0, positions=None):
        check_vectors(x, self.d_model)
        if positions is None:
            zeros = ops.zeros_like(x[:, :, 0], dtype="int32")
            positions = zeros + ops.arange(ops.shape(x)[1], dtype="int32")
        numbers = ops.minimum(start + positions, self.max_length - 1)
        # (batch, length, d_model)
        vectors = ops.take(self.positions, numbers, axis=0)
        return x + ops.cast(vectors, x.dtype)


class NoPositionalEncoding(SequenceLayer):
    """Adds nothing, for a model with relative positions."""

    def call(self, x, start=0, positions=None):
        return x


def make_positions(kind, max_length, d_model, **options):
    """Makes the layer that one of `POSITIONAL_ENCODINGS` stands for."""
    check_choice(
        "positional_encoding", kind, POSITIONAL_ENCODINGS, "sinusoidal"
    )
    if kind == "learned":
        return LearnedPositionalEncoding(max_length, d_model, **options)
    if kind == "none":
        return NoPositionalEncoding(**options)
    tensor2tensor = kind == "tensor2tensor"
    return SinusoidalPositionalEncoding(tensor2tensor, **options)
