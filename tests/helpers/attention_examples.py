"""Random attention weights and a reader of the page that shows them."""

import base64
import html.parser
import json

import numpy as np

from keras_transformer.decoding.engines.attention import Attention

VOID = {"meta", "input", "img", "br", "link"}


def random_attention(
    source, target, num_layers=2, num_heads=3, decoder_depth=None
):
    """Returns a random `Attention` with rows that sum to 1.

    Decoder positions do not attend to later ones.
    """
    rng = np.random.default_rng(0)
    decoder_depth = decoder_depth or num_layers

    def weights(depth, queries, keys, allowed=True):
        scores = rng.normal(size=(depth, num_heads, queries, keys))
        scores = np.where(allowed, np.exp(2 * scores), 0.0)
        return (scores / scores.sum(-1, keepdims=True)).astype("float32")

    source_len, target_len = len(source), len(target)
    past = np.tri(target_len, dtype=bool)
    return Attention(
        source,
        target,
        weights(num_layers, source_len, source_len),
        weights(decoder_depth, target_len, target_len, past),
        weights(decoder_depth, target_len, source_len),
    )


class Page(html.parser.HTMLParser):
    """Parses the elements of a page and asserts that all of them close."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], {}, []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        key = self.open[-1] if self.open else ""
        self.texts.setdefault(key, []).append(data)

    @property
    def data(self):
        """Returns the embedded weights and labels."""
        return json.loads(self.texts["script"][0])


def decoded(attention, kind):
    """Returns the weights of a kind of attention, decoded from the page."""
    layers = b"".join(map(base64.b64decode, kind["weights"]))
    numbers = np.frombuffer(layers, "<u2")
    return numbers.reshape(getattr(attention, kind["name"]).shape) / 65535
