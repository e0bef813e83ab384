"""Writes attention weights as one page to look at in a browser."""

import base64
import html
import importlib.resources
import json
import re
import typing

import numpy as np

from keras_transformer.files import written_aside


class KindLabels(typing.NamedTuple):
    """What the page calls a kind of attention and its two sides."""

    short_title: str
    title: str
    query: str
    key: str


LABELS = {
    "encoder": KindLabels(
        "Encoder", "Encoder self-attention", "source", "source"
    ),
    "decoder": KindLabels(
        "Decoder",
        "Decoder self-attention",
        "token to predict",
        "tokens before it",
    ),
    "cross": KindLabels(
        "Cross", "Cross-attention", "token to predict", "source"
    ),
}
SCALE = 65535  # weights are kept as whole numbers of two bytes


def write_attention_page(attention, path, title="Attention"):
    """Writes a page that shows all layers and heads, and the weights.

    One HTML file that needs nothing else, no network either. Lines between two
    columns of tokens as in figures 3 to 5 of Vaswani et al. (2017), one colour
    per head, beside the weights as a matrix and all heads of a layer; tokens,
    heads, layers and the kind of attention are chosen with mouse or keyboard,
    and the choice is kept in the address. Weights are rounded to 1 / 65535.

    Args:
        attention: an `Attention`.
        path: file to write.
        title: heading of the page.
    """
    text = attention_page(attention, title)
    with written_aside(path) as file:
        file.write(text)


def attention_page(attention, title="Attention"):
    """Returns the HTML; arguments as for `write_attention_page`."""
    parts = {
        "title": html.escape(title),
        "style": _read_asset("attention_page.css"),
        "data": _embeddable_json(_data(attention)),
        "script": _read_asset("attention_views.js")
        + _read_asset("attention_page.js"),
    }
    # In one pass, so that nothing in a part is taken for another part's place.
    return re.sub(
        r"\{\{(\w+)\}\}",
        lambda match: parts[match[1]],
        _read_asset("attention_page.html"),
    )


def _data(attention):
    num_layers, num_heads = attention.cross.shape[:2]
    kinds = []
    for kind, labels in LABELS.items():
        queries, keys, weights = attention.of(kind)
        kinds.append(
            {
                "name": kind,
                "title": labels.short_title,
                "long": labels.title,
                "query": labels.query,
                "key": labels.key,
                "queries": queries,
                "keys": keys,
                "weights": _pack(weights),
            }
        )
    return {"layers": num_layers, "heads": num_heads, "kinds": kinds}


def _pack(weights):
    numbers = np.round(np.clip(weights, 0.0, 1.0) * SCALE).astype("<u2")
    return base64.b64encode(numbers.tobytes()).decode("ascii")


def _embeddable_json(values):
    """JSON that cannot end the element that it stands in."""
    text = json.dumps(values, separators=(",", ":"))  # ASCII only
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _read_asset(name):
    folder = importlib.resources.files("keras_transformer.visualization")
    return folder.joinpath(name).read_text(encoding="utf-8")
