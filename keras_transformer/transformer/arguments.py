"""Checks of the arguments of a `Transformer` and of its call."""

from keras_transformer.layers.sequence_layer import check_choice

PARTS = ("embedding", "encoder", "decoder")
DECODER_STARTS = ("zero", "padding")


def get_ids(features):
    """Returns the ids of inputs and of targets, each `(batch, length)`."""
    received = type(features).__name__
    if isinstance(features, dict):
        if {"inputs", "targets"} <= features.keys():
            ids = features["inputs"], features["targets"]
            if all(len(side.shape) == 2 for side in ids):
                return ids
        received = {key: tuple(value.shape) for key, value in features.items()}
    raise ValueError(
        "A Transformer takes a dictionary of `inputs` and `targets`, both ids "
        f"of shape (batch, length). Received: {received}. Call "
        'model({"inputs": inputs, "targets": targets}).'
    )


def check_start(decoder_start):
    """Returns the start of the decoder if it is one of `DECODER_STARTS`."""
    return check_choice("decoder_start", decoder_start, DECODER_STARTS, "zero")


def check_parts(frozen):
    """Raises a `ValueError` if `frozen` is not a list of `PARTS`."""
    if isinstance(frozen, str) or not set(frozen) <= set(PARTS):
        raise ValueError(
            "`frozen` must be a list with names of parts of the model. "
            f"Received: frozen={frozen!r}. Use some of {', '.join(PARTS)}."
        )
