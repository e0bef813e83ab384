"""Arguments and results of the functions of a SavedModel."""

import dataclasses
import typing

import numpy as np

from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.limits import MAX_BYTES_PER_TOKEN


class Tensor(typing.NamedTuple):
    """Type and shape of one argument or result."""

    dtype: np.dtype  # object for strings, which are bytes
    shape: tuple | None  # with None for a free axis; None for a free rank

    @property
    def type_name(self):
        return "string" if self.dtype == object else self.dtype.name

    def accepts(self, shape):
        """Returns whether an array of this shape fits."""
        return self.shape is None or (
            len(self.shape) == len(shape)
            and all(n in (None, size) for n, size in zip(self.shape, shape))
        )


@dataclasses.dataclass(frozen=True)
class Signature:
    """The arguments and results of a function, by name.

    >>> text = Tensor(np.dtype(object), (None,))
    >>> signature = Signature({"text": text}, {"translations": text})
    >>> signature.check({"text": np.array([b"A dog", b"A cat"], object)})
    >>> signature.count_rows({"text": np.array([b"A dog", b"A cat"], object)})
    2
    """

    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]

    def check(self, arrays, max_rows=None, max_tokens=None):
        """Raises a `RequestError` if a dictionary of arrays does not fit.

        The model takes up to `max_tokens` in a row, which may be None for any
        number, as `max_rows` may.
        """
        check_names(self.inputs, arrays)
        for name, tensor in self.inputs.items():
            array = arrays[name]
            # No conversion, as in TF Serving: it could lose digits unnoticed.
            if array.dtype != tensor.dtype:
                type_name = Tensor(array.dtype, None).type_name
                raise InvalidRequest(
                    f"Input {name!r} must be of type {tensor.type_name}. "
                    f"Received: {type_name}."
                )
            if not tensor.accepts(array.shape):
                raise InvalidRequest(
                    f"Input {name!r} must have shape "
                    f"{join_shape(tensor.shape)}. "
                    f"Received: shape {join_shape(array.shape)}."
                )
            if max_rows and self.has_rows and len(array) > max_rows:
                raise InvalidRequest(
                    f"A request must have at most {max_rows} rows. Received: "
                    f"{len(array)}. Send several smaller requests."
                )
            if max_tokens:
                _check_length(name, array, max_tokens)

    @property
    def has_rows(self):
        """Whether the first axis is free in all arguments."""
        # Scalars and arrays of any rank have no rows.
        return all(
            tensor.shape and tensor.shape[0] is None
            for tensor in self.inputs.values()
        )

    def count_rows(self, arrays):
        """Returns the length of the first axes if they are rows, or None."""
        lengths = set(map(len, arrays.values())) if self.has_rows else ()
        return lengths.pop() if len(lengths) == 1 else None


def _check_length(name, array, max_tokens):
    """Raises a `RequestError` if a row of an input is certainly too long."""
    # The graph does not count ids of padding, although attention over padding
    # takes as much memory.
    if array.ndim > 1 and array.shape[1] > max_tokens:
        raise InvalidRequest(
            f"Each row of input {name!r} must have at most {max_tokens} ids. "
            f"Received: {array.shape[1]}. Split the sentence."
        )
    # The model counts a text's tokens, too, but only after it has cut the text.
    limit = MAX_BYTES_PER_TOKEN * max_tokens
    texts = array.flat if array.dtype == object else ()
    longest = max(map(len, texts), default=0)
    if longest > limit:
        raise InvalidRequest(
            f"Each sentence of input {name!r} must have at most {limit} bytes, "
            f"because the model takes {max_tokens} tokens. Received: "
            f"{longest}. Split the sentence."
        )


def measure_rows(arrays, max_tokens):
    """Returns the lengths of sentences as fractions of the maximum length.

    A text has at most as many tokens as bytes. If it has more bytes than the
    model takes tokens, its length is 1, because the model refuses more.

    >>> measure_rows({"text": np.array([b"ab", b"abcde"], object)}, 4)
    [0.5, 1]
    """
    columns = [
        map(len, array)
        if array.dtype == object
        else [array.shape[1] if array.ndim > 1 else 0] * len(array)
        for array in arrays.values()
    ]
    return [min(1, max(row) / max_tokens) for row in zip(*columns)]


def check_names(inputs, names):
    """Raises a `RequestError` unless the names match the inputs."""
    missing = [name for name in inputs if name not in names]
    extra = [name for name in names if name not in inputs]
    if missing or extra:
        raise InvalidRequest(
            f"Inputs must be {join_names(inputs)}. Received: "
            f"{join_names(names)}. Missing but required: "
            f"{join_names(missing)}. Sent extra: {join_names(extra)}."
        )


def join_names(names):
    return "{" + ", ".join(sorted(map(str, names))) + "}"


def join_shape(shape):
    if shape is None:
        return "of any rank"
    return "(" + ", ".join("?" if n is None else str(n) for n in shape) + ")"
