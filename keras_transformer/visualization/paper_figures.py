"""The content of figures 3 to 5 of Vaswani et al. (2017), for any sentence.

All three show encoder self-attention in one layer, which is "layer 5 of 6" in
the paper. Figure 3 follows one word in many heads. Figure 4 shows one head in
full, and one word in two heads. Figure 5 shows two heads in full.
"""

import difflib
import typing

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.token_ids import END_LABEL
from keras_transformer.visualization.head_scores import entropy

MIN_WEIGHT = 0.01  # of a line that is drawn
# The paper's colours for heads 1 to 10, then lighter ones for 11 to 20.
PALETTE = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd"),
    *("#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"),
    *("#aec7e8", "#ffbb78", "#98df8a", "#ff9896", "#c5b0d5"),
    *("#c49c94", "#f7b6d2", "#c7c7c7", "#dbdb8d", "#9edae5"),
)
DISTANT = 4  # words apart, from "making" to "more difficult" in figure 3


class View(typing.NamedTuple):
    """The choices of a user, where None stands for a default."""

    figure: str  # "3", "4" or "5"
    layer: int | None = None  # from 1
    heads: list | None = None  # of int, from 1
    word: str | None = None


class Line(typing.NamedTuple):
    """The attention of one word to one word in one head."""

    query: int
    key: int
    colour: str
    weight: float
    shift: float  # from the middle of the words, in widths of a word


class Panel(typing.NamedTuple):
    """Lines between two rows of the same words."""

    heads: list  # of int, from 0
    weights: np.ndarray  # (len(heads), num_words, num_words)
    query: int | None = None  # the only word that attends; None for all

    def lines(self):
        """Yields each `Line`, apart from those below `MIN_WEIGHT`."""
        for place, head in enumerate(self.heads):
            # Each head has a slot in the width of a word.
            shift = (place + 0.5) / len(self.heads) - 0.5
            for query, key in np.argwhere(self.weights[place] >= MIN_WEIGHT):
                if self.query in (None, query):
                    weight = min(1.0, float(self.weights[place, query, key]))
                    yield Line(query, key, head_colour(head), weight, shift)


class PaperFigure(typing.NamedTuple):
    """Panels, one below the other, and their caption."""

    number: str
    caption: str
    words: list  # of str
    panels: list


def check_view(view, words, num_layers, num_heads):
    """Checks a `View` of a sentence, before its attention is computed."""
    if not 1 <= (view.layer or 1) <= num_layers:
        raise UserError(
            "`layer` must be a layer of the model. Received: "
            f"layer={view.layer}. Use 1 to {num_layers}."
        )
    heads = view.heads or []
    if any(not 1 <= head <= num_heads for head in heads):
        raise UserError(
            "`heads` must be heads of the model. Received: "
            f"heads={_join(heads)}. Use 1 to {num_heads}."
        )
    if heads and view.figure != "3" and len(heads) != 2:
        raise UserError(
            f"`heads` must be two heads for figure {view.figure}. Received: "
            f"heads={_join(heads)}. Name two, such as 1,2."
        )
    if view.word is not None and view.figure == "5":
        raise UserError(
            "`word` needs figure 3 or 4. Received: a word for figure 5, "
            "which shows all words. Leave it out."
        )
    if view.word is not None and view.word not in words:
        close = difflib.get_close_matches(view.word, words) or words
        raise UserError(
            "`word` must be a word of the sentence. Received: "
            f"word={view.word!r}. Use one as it is written there, such as "
            f"{close[0]}."
        )


def paper_figure(view, words, weights):
    """Returns the figure of a sentence.

    The layer is the next to last by default, as in the paper. The word is by
    default the one whose heads attend most to a single word at least `DISTANT`
    words away. The heads of figure 3 are all heads. Those of figure 4 attend
    most from the word to a single other word. Those of figure 5 are the two
    sharpest. In the choices of figures 3 and 4, the end of the sentence does
    not count as a word, though "(end)" is the last of the words. The weights of
    the encoder have the shape `(num_layers, num_heads, num_words, num_words)`.
    """
    num_layers = len(weights)
    layer = view.layer or max(1, num_layers - 1)
    weights = weights[layer - 1]
    query, strengths = None, -entropy(weights).mean(axis=-1)
    if view.figure != "5":
        query = _query(view, words, weights)
        strengths = _strongest(weights, words, 1)[:, query]
    heads = list(range(len(weights)))
    if view.heads:
        heads = [head - 1 for head in view.heads]
    elif view.figure != "3":
        heads = _two_largest(strengths)
    first, second, *_ = heads * 2
    attention = f"encoder self-attention in layer {layer} of {num_layers}"
    if view.figure == "3":
        panels = [(heads, query)]
        caption = (
            f"{attention.capitalize()}, shown only for the word "
            f"“{words[query]}”. Different colours represent different heads."
        )
    elif view.figure == "4":
        panels = [([first], None), (heads, query)]
        caption = (
            f"Two heads of {attention}. Top: the full attention of head "
            f"{first + 1}. Bottom: the attention of the word “{words[query]}” "
            f"alone, in heads {first + 1} and {second + 1}."
        )
    else:
        panels = [([first], None), ([second], None)]
        caption = (
            f"Two heads of {attention}. Top: head {first + 1}. Bottom: head "
            f"{second + 1}."
        )
    panels = [Panel(heads, weights[heads], query) for heads, query in panels]
    return PaperFigure(view.figure, caption, words, panels)


def head_colour(head):
    """Returns the colour of a head, which counts from 0."""
    return PALETTE[head % len(PALETTE)]


def _query(view, words, weights):
    if view.word is not None:
        return words.index(view.word)
    return int(np.argmax(_strongest(weights, words, DISTANT).mean(axis=0)))


def _strongest(weights, words, distance):
    """Returns the largest weight from each word to one that is far enough."""
    # The weights `(num_heads, num_words, num_words)` become an array of shape
    # `(num_heads, num_words)`.
    places = np.arange(len(words))
    is_far = np.abs(places[:, None] - places) >= distance
    is_word = np.array([word != END_LABEL for word in words])
    return (weights * (is_far & is_word & is_word[:, None])).max(axis=-1)


def _two_largest(values):
    order = np.argsort(-values, kind="stable").tolist()
    # A model with one head has its only head twice.
    return sorted((2 * order)[:2])


def _join(numbers):
    return ",".join(map(str, numbers))
