"""Writes attention weights as an interactive page for a browser."""

import base64
import html

import numpy as np

from keras_transformer.files.writing import atomic_write
from keras_transformer.visualization import page

# The titles of each kind of attention, and of its queries and keys.
LABELS = {
    "encoder": {
        "title": "Encoder",
        "long": "Encoder self-attention",
        "query": "source",
        "key": "source",
    },
    "decoder": {
        "title": "Decoder",
        "long": "Decoder self-attention",
        "query": "token to predict",
        "key": "tokens before it",
    },
    "cross": {
        "title": "Cross",
        "long": "Cross-attention",
        "query": "token to predict",
        "key": "source",
    },
}
SCALE = 65535  # weights are stored as 16-bit integers


def write_attention_page(attention, path, title="Attention"):
    """Writes a page that shows the attention weights of all layers and heads.

    The page is a single HTML file that needs no other file and no network. As
    in figures 3 to 5 of Vaswani et al. (2017), lines connect two columns of
    tokens, with one colour for each head. A matrix beside them shows the
    weights, and maps below them show all heads of the layer. Tokens masked
    because they come later are hatched. Mouse and keyboard select tokens,
    heads, layers and the kind of attention; the address of the page stores the
    selection and the theme. Weights are rounded to multiples of 1 / 65535.
    """
    text = attention_page(attention, title)
    with atomic_write(path) as file:
        file.write(text)


def attention_page(attention, title="Attention", on_demand=False):
    """Returns the HTML that `write_attention_page` writes.

    With `on_demand` the page holds no weights. To show a layer, it asks its
    server for the weights at its own address plus `KIND/NUMBER`; see
    `pack_layer`.
    """
    parts = {
        "title": html.escape(title),
        "data": page.embeddable_json(_data(attention, on_demand)),
    }
    scripts = ["elements", "attention_views", "attention_page"]
    if on_demand:
        scripts.insert(0, "attention_on_demand")
    return page.make_page(
        "attention", parts, ["attention_page"], scripts, connects=on_demand
    )


def pack_layer(attention, kind, number):
    """Returns the weights of a layer as bytes, 16 bits each.

    The `kind` is as in `Attention.select`, and the `number` counts from 1.
    Raises a `KeyError` or an `IndexError` if there is no such layer.
    """
    if number < 1:
        raise IndexError(number)
    return _pack(attention.select(kind)[2][number - 1])


def _data(attention, on_demand):
    num_heads = attention.cross.shape[1]
    kinds = []
    for kind, labels in LABELS.items():
        queries, keys, weights = attention.select(kind)
        kinds.append(
            {
                "name": kind,
                **labels,
                # Each token is predicted only from those before it.
                "causal": kind == "decoder",
                # A decoder may have fewer or more layers than its encoder.
                "layers": len(weights),
                "queries": queries,
                "keys": keys,
                # One text for each layer.
                "weights": None
                if on_demand
                else [
                    base64.b64encode(_pack(layer)).decode("ascii")
                    for layer in weights
                ],
            }
        )
    return {"heads": num_heads, "kinds": kinds}


def _pack(weights):
    # "<u2" is little-endian on every machine, as the page expects.
    numbers = np.round(np.clip(weights, 0.0, 1.0) * SCALE).astype("<u2")
    return numbers.tobytes()
