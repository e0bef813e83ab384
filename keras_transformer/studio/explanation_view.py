"""The numbers that one head of the encoder computes for a sentence."""

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.studio.models import clean_text
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import END_LABEL

MAX_SHOWN = 24  # tokens whose numbers fit on a page
MAX_POSITIONS = 64  # rows of the picture of positions
DIGITS = 3


def explain_head(
    studio,
    text: str,
    layer: int = 1,
    head: int = 1,
    run: int = 0,
    step: int = 0,
):
    """Returns the matrices of one head of the encoder's self-attention.

    They follow equation 1 of Vaswani et al. (2017): `queries`, `keys` and
    `values` of shape `(length, d_k)` and `(length, d_v)`, `scores` before the
    softmax and `weights` after it of shape `(length, length)`, and the
    `output`, `(length, d_v)`. They cover the first tokens of the sentence, of
    which `num_tokens` are read. The layer and the head count from 1. Also
    returned are the `tokens`, and `positions`, the vectors that are added to
    the embeddings of the first positions, `(MAX_POSITIONS, d_model)`; they
    follow the paper's equation if `is_sinusoidal`.
    """
    translator = studio.get_model(run, step).exact
    (ids,) = translator.encode([clean_text(translator, text)])
    if not ids:
        return {"tokens": []}
    model = translator.engine.model
    _check_number("layer", layer, model.encoder.num_layers)
    attention = model.encoder.stack[layer - 1].self_attention
    other = None
    if not hasattr(attention, "query_kernel"):
        other = type(attention).__name__
    elif limit := attention.max_relative_position:
        other = f"max_relative_position={limit}"
    if other:
        raise UserError(
            "`run` must have the attention of the paper. Received: one with "
            f"{other}. Inspect another run."
        )
    _check_number("head", head, attention.num_heads)
    vectors = np.asarray(_read_inputs(model, ids, layer - 1))
    numbers = compute_head(attention, vectors, head - 1)
    for name in ("scores", "weights"):
        numbers[name] = numbers[name][:, :MAX_SHOWN]
    pieces = translator.codec.source_vocabulary.pieces(ids)
    tokens = [END_LABEL if i == END_ID else p for i, p in zip(ids, pieces)]
    positions = np.zeros((1, MAX_POSITIONS, model.d_model), "float32")
    return {
        "tokens": tokens[:MAX_SHOWN],
        "num_tokens": len(ids),
        **{name: _round(array[:MAX_SHOWN]) for name, array in numbers.items()},
        "positions": _round(model.input_positions(positions)[0]),
        "is_sinusoidal": model.positional_encoding == "sinusoidal",
        "d_model": attention.d_model,
        "d_k": attention.d_k,
    }


def compute_head(attention, vectors, head):
    """Returns what a layer computes for one head by equation 1 of the paper.

    `vectors` are the layer's inputs, `(length, d_model)`. Returns a dictionary
    of the arrays that `explain_head` describes.
    """
    # Imported here because they load Keras.
    from keras_transformer.layers.attention import MASKED_SCORE
    from keras_transformer.masks import neighbourhood_mask

    size = attention.neighbourhood_size
    visible = neighbourhood_mask(len(vectors), size or 2 * len(vectors))
    projected = attention._project_all(vectors[None])
    results = attention.compute_attention(*projected, visible)
    names = ("queries", "keys", "values", "output", "weights")
    arrays = [np.asarray(array)[0, head] for array in (*projected, *results)]
    numbers = dict(zip(names, arrays))
    scores = numbers["queries"] @ numbers["keys"].T / np.sqrt(attention.d_k)
    return {**numbers, "scores": np.where(visible[0], scores, MASKED_SCORE)}


def _read_inputs(model, ids, layer):
    """Returns the inputs of the attention of a layer, `(length, d_model)`."""
    inputs = np.array([ids], "int32")
    x = model.input_positions(model.embedding.embed_inputs(inputs))
    for each in model.encoder.stack[:layer]:
        x = each(x, inputs != 0)
    residual = model.encoder.stack[layer].attention_residual
    return (residual.norm_layer(x) if residual.norm == "pre" else x)[0]


def _check_number(name, number, maximum):
    if not 1 <= number <= maximum:
        raise UserError(
            f"`{name}` must be from 1 to {maximum}. Received: {name}={number}. "
            "Choose another one."
        )


def _round(array):
    return np.round(np.asarray(array, "float64"), DIGITS).tolist()
