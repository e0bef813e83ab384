"""Writes attention weights as an interactive page for a browser."""

import base64

import numpy as np

from keras_transformer.files.writing import write_file
from keras_transformer.visualization.page import make_page

PREDICTED = "token to predict"
# The titles of each kind of attention, and of its queries and keys.
LABELS = {
    "encoder": ("Encoder", "Encoder self-attention", "source", "source"),
    "decoder": (
        "Decoder",
        "Decoder self-attention",
        PREDICTED,
        "tokens before it",
    ),
    "cross": ("Cross", "Cross-attention", PREDICTED, "source"),
}
SCALE = 65535  # weights are stored as 16-bit integers


def write_attention_page(attention, path, title="Attention"):
    """Writes the page of `attention_page` as a file."""
    write_file(path, attention_page(attention, title))


def attention_page(attention, title="Attention", on_demand=False):
    """Returns HTML that shows the attention weights of all layers and heads.

    The page is a single HTML file that needs no other file and no network. As
    in figures 3 to 5 of Vaswani et al. (2017), lines connect two columns of
    tokens, with one colour for each head. A matrix beside them shows the
    weights, and maps below them show all heads of the layer. Tokens masked
    because they come later are hatched. Mouse and keyboard select tokens,
    heads, layers and the kind of attention; the address of the page stores the
    selection and the theme. Weights are rounded to multiples of 1 / 65535.

    With `on_demand` the page holds no weights. To show a layer, it asks its
    server for the weights at its own address plus `KIND/NUMBER`; see
    `pack_layer`.
    """
    num_heads, kinds = attention.cross.shape[1], []
    for kind, labels in LABELS.items():
        queries, keys, weights = attention.select(kind)
        layers = [] if on_demand else map(_pack, weights)
        kinds.append(
            {
                "name": kind,
                **dict(zip(("title", "long", "query", "key"), labels)),
                # Each token is predicted only from those before it.
                "causal": kind == "decoder",
                # A decoder may have fewer or more layers than its encoder.
                "layers": len(weights),
                "queries": queries,
                "keys": keys,
                "weights": [base64.b64encode(b).decode() for b in layers],
            }
        )
    data = {"heads": num_heads, "kinds": kinds}
    template = "visualization/attention_page.html"
    return make_page(template, title=title, data=data, connects=on_demand)


def pack_layer(attention, kind, number):
    """Returns the weights of a layer as bytes, 16 bits each.

    The `kind` is as in `Attention.select`, and the `number` counts from 1.
    Raises a `KeyError` or an `IndexError` if there is no such layer.
    """
    if number < 1:
        raise IndexError(number)
    return _pack(attention.select(kind)[2][number - 1])


def _pack(weights):
    # "<u2" is little-endian on every machine, as the page expects.
    numbers = np.round(np.clip(weights, 0.0, 1.0) * SCALE).astype("<u2")
    return numbers.tobytes()
