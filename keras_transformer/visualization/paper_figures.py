"""Figures 3 to 5 of Vaswani et al. (2017), for any sentence.

All three show encoder self-attention in one layer, which is "layer 5 of 6" in
the paper. Figure 3 follows one word in many heads. Figure 4 shows one head in
full, and one word in two heads. Figure 5 shows two heads in full.
"""

import collections

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.errors import did_you_mean
from keras_transformer.visualization import page
from keras_transformer.visualization import picture

MIN_WEIGHT = 0.01  # of a line that is drawn
# The paper's colours for heads 1 to 10, then lighter ones for 11 to 20.
PALETTE = (
    "#1f77b4 #ff7f0e #2ca02c #d62728 #9467bd #8c564b #e377c2 #7f7f7f #bcbd22 "
    "#17becf #aec7e8 #ffbb78 #98df8a #ff9896 #c5b0d5 #c49c94 #f7b6d2 #c7c7c7 "
    "#dbdb8d #9edae5"
).split()
DISTANT = 4  # words apart, from "making" to "more difficult" in figure 3
HEADING = 0.47  # inches of a picture that the names of the heads take
CAPTIONS = {
    "3": "Encoder{place}, shown only for the word “{word}”. Different colours "
    "represent different heads.",
    "4": "Two heads of encoder{place}. Top: the full attention of head "
    "{first}. Bottom: the attention of the word “{word}” alone, in heads "
    "{first} and {second}.",
    "5": "Two heads of encoder{place}. Top: head {first}. Bottom: head "
    "{second}.",
}
# The choices of a user: the figure "3", "4" or "5", a layer and a list of heads
# from 1 on, and a word. None stands for a default.
View = collections.namedtuple(
    "View", "figure layer heads word", defaults=(None, None, None)
)
# The attention of one word to one word, from `start` below the upper words to
# `end` above the lower ones. Both count words from the left.
Line = collections.namedtuple("Line", "query key colour weight start end")
# The panels of a figure stand one below the other.
PaperFigure = collections.namedtuple("PaperFigure", "number caption panels")


class Panel:
    """Two rows of the same words, with lines for weights from `MIN_WEIGHT` on.

    Args:
        words: List of str.
        heads: List of int, from 0.
        weights: Array of shape `(len(heads), num_words, num_words)`.
        query: Integer, the only word that attends. Defaults to all words.
    """

    def __init__(self, words, heads, weights, query=None):
        self.labels = [picture.shorten_label(word) for word in words]
        self.num_columns = max(map(picture.num_columns, self.labels))
        self.heads, self.query = heads, query
        self.colours = [PALETTE[head % len(PALETTE)] for head in heads]
        self.lines = []
        for place, word, key in np.argwhere(weights >= MIN_WEIGHT).tolist():
            if query in (None, word):
                weight = min(1.0, float(weights[place, word, key]))
                slot = (place + 0.5) / len(heads)  # of the head, in a word
                line = word, key, self.colours[place], weight
                self.lines.append(Line(*line, word + slot, key + slot))


def check_view(view, words, num_layers, num_heads):
    """Checks a `View` of a sentence, before its attention is computed."""
    heads, word = view.heads or [], view.word
    layers = [view.layer or 1]
    limits = ("layer", layers, num_layers), ("heads", heads, num_heads)
    for name, numbers, maximum in limits:
        shown = f"{name}={','.join(map(str, numbers))}"
        if not all(1 <= number <= maximum for number in numbers):
            raise UserError(
                f"`{name}` must be in the model. Received: {shown}. Use 1 to "
                f"{maximum}."
            )
    if view.figure != "3" and len(heads) not in (0, 2):
        raise UserError(
            f"`heads` must be two heads for figure {view.figure}. Received: "
            f"{shown}. Name two, such as 1,2."
        )
    if word is not None and word not in words:
        raise UserError(
            f"`word` must be a word of the sentence. Received: word={word!r}. "
            f"{did_you_mean(word, words)}Write it as it is there, such as "
            f"{words[0]}."
        )


def paper_figure(view, words, weights):
    """Returns the `PaperFigure` of a sentence, whose last word is "(end)".

    By default the layer is the next to last, as in the paper, and the word is
    the one whose heads attend most to a single word at least `DISTANT` words
    away. Figure 3 has all heads. The heads of figure 4 attend most from the
    word to a single other one, and those of figure 5 are the two sharpest. The
    end counts as a word for figure 5 alone. The weights of the encoder have the
    shape `(num_layers, num_heads, num_words, num_words)`.
    """
    layer = view.layer or max(1, len(weights) - 1)
    place = f" self-attention in layer {layer} of {len(weights)}"
    weights = weights[layer - 1]
    far = _find_strongest(weights, DISTANT).mean(axis=0)
    query = words.index(view.word) if view.word else int(np.argmax(far))
    strengths = _find_strongest(weights, 1)[:, query]
    if view.figure == "5":
        strengths = -entropy(weights).mean(axis=-1)
    if view.heads:
        heads = [head - 1 for head in view.heads]
    elif view.figure == "3":
        heads = list(range(len(weights)))
    else:
        order = np.argsort(-strengths, kind="stable").tolist()
        # A model with one head has its only head twice.
        heads = sorted((2 * order)[:2])
    first, second, *_ = heads * 2
    shown = {
        "3": [(heads, query)],
        "4": [([first], None), (heads, query)],
        "5": [([first], None), ([second], None)],
    }
    caption = CAPTIONS[view.figure].format(
        place=place, word=words[query], first=first + 1, second=second + 1
    )
    panels = [
        Panel(words, some, weights[some], word)
        for some, word in shown[view.figure]
    ]
    return PaperFigure(view.figure, caption, panels)


def entropy(weights):
    """Returns the entropy of each row of `(..., queries, keys)`, in nats."""
    # 0 * ln 0 counts as 0.
    return -(weights * np.log(weights + (weights == 0))).sum(axis=-1)


def write_paper_page(figure, path):
    """Writes a page; pointing at a word shows the lines of that word alone."""
    page.write_page(path, "visualization/paper_page.html", figure=figure)


def write_paper_picture(figure, path):
    """Draws a figure in the paper's style.

    Lines lead from the words above, which attend, to the words below. A colour
    stands for a head and the opacity of a line for its weight. Where a single
    word attends, stripes behind the words below repeat the weights.
    """
    panels = figure.panels
    # In inches, as words of Matplotlib's size fit.
    width = 0.225 * len(panels[0].labels)
    room = 0.08 * panels[0].num_columns + 0.05
    fan = np.clip(0.32 * width, 1.1, 2.5)
    gap = 2 * room + HEADING
    size = width, len(panels) * (fan + gap) - gap
    drawn, axes = picture.make_axes(size, len(panels), dpi=200, layout=None)
    drawn.subplots_adjust(left=0, right=1, bottom=0, top=1, hspace=gap / fan)
    for axis, panel in zip(axes.flat, panels):
        _draw(axis, panel, fan, room)
    # The words and the names of the heads are outside the axes.
    picture.write_picture(drawn, path, bbox_inches="tight")


def _draw(axis, panel, fan, room):
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.collections import LineCollection

    num_words = len(panel.labels)
    axis.set(xlim=(0, num_words), ylim=(0, fan), yticks=[], frame_on=False)
    axis.grid(False)
    places = np.arange(num_words) + 0.5
    # Otherwise "$" in a word would start a formula.
    axis.set_xticks(places, panel.labels, rotation=90, parse_math=False)
    axis.tick_params(length=0, labeltop=True)
    y = fan + room + 0.2
    axis.text(0, y, "heads" if panel.heads[1:] else "head", color="0.35")
    for place, head in enumerate(panel.heads):
        style = {"color": panel.colours[place], "fontweight": "bold"}
        axis.text(2.2 + place, y, head + 1, **style)
    colours = [(line.colour, line.weight) for line in panel.lines]
    segments = [[(line.start, fan), (line.end, 0)] for line in panel.lines]
    axis.add_collection(LineCollection(segments, colors=colours, linewidth=1.5))
    if panel.query is not None:
        # The word that attends, and the weights of the others.
        style = {"color": "0.5", "alpha": 0.3, "clip_on": False}
        axis.bar(panel.query + 0.5, room, width=1, bottom=fan, **style)
        x, width = [line.end for line in panel.lines], 1 / len(panel.heads)
        axis.bar(x, -room, width, color=colours, clip_on=False)


def _find_strongest(weights, distance):
    """Returns the largest weight from each word to one that is far enough."""
    places = np.arange(weights.shape[-1])
    allowed = np.abs(places[:, None] - places) >= distance
    allowed[-1] = allowed[:, -1] = False  # the end of the sentence
    return (weights * allowed).max(axis=-1)  # (num_heads, num_words)
