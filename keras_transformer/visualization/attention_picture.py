"""Draws attention weights as one picture with a heat map for each head."""

import numpy as np

from keras_transformer.token_ids import WORD_START
from keras_transformer.visualization import picture
from keras_transformer.visualization.attention_page import LABELS

QUERIES = {"encoder": "source", "decoder": "target", "cross": "target"}
MAX_LABELS = 70  # longer sentences get a label at every second token or so
MAX_PIXELS = 20000  # on either side; Matplotlib refuses 65,536
# In inches. In a picture larger than a screen, shared labels are out of sight.
SCREEN = 16
GAP = 0.1  # between maps, in addition to their labels
BAR_ROOM = 1.1  # for the colour bar and its label


def write_attention_picture(attention, path, kind="cross"):
    """Draws all heads of all layers into one picture.

    The picture has a row for each layer and a column for each head. A heat map
    has a row for each query and a column for each key, and all share the scale
    from 0 to 1. Keys masked because they come later are hatched. Maps of a row
    or column share labels, unless the picture is larger than a screen.
    """
    queries, keys, weights = attention.select(kind)
    queries, keys = _Tokens(queries), _Tokens(keys)
    num_layers, num_heads = weights.shape[:2]
    sides = num_layers * queries.inches, num_heads * keys.inches
    is_large = max(sides) > SCREEN
    font_size = 6 + 1.25 * (queries.inches + keys.inches)  # of the titles
    figure, axes = _make_axes(
        num_layers, num_heads, queries, keys, is_large, font_size
    )
    for (layer, head), axis in np.ndenumerate(axes):
        image = _draw_map(axis, weights[layer, head], kind == "decoder")
        layer_name, head_name = f"layer {layer + 1}", f"head {head + 1}"
        if is_large or layer == num_layers - 1:
            keys.label(axis, is_below=True)
        if is_large or head == 0:
            queries.label(axis, is_below=False)
        if is_large:
            axis.set_title(f"{layer_name}, {head_name}")
            continue
        if layer == 0:
            axis.set_title(head_name, fontsize=font_size)
        if head == 0:
            space = 72 * queries.room
            axis.set_ylabel(layer_name, fontsize=font_size, labelpad=space)
    _add_bar(figure, image, font_size)
    figure.suptitle(
        f"{LABELS[kind][1]}\n{QUERIES[kind]} tokens, from top to bottom,\n"
        "attend to those named below",
        fontsize=font_size + 1,
        y=1 - 0.1 / figure.get_figheight(),
    )
    picture.write_picture(figure, path)


class _Tokens:
    """The tokens along one side of the maps."""

    def __init__(self, tokens):
        step = -(-len(tokens) // MAX_LABELS)  # rounded up
        self.places = range(0, len(tokens), step)
        self.labels = [
            # A lone mark of a word start is a space.
            picture.shorten_label(token.removeprefix(WORD_START) or "␣")
            for token in tokens[::step]
        ]
        # The side of a map has room for all labels.
        self.inches = max(1.5, 0.115 * len(self.labels))
        self.room = 0.1 + 0.065 * max(map(picture.num_columns, self.labels))

    def label(self, axis, is_below):
        """Writes the labels below a map, or to the left of it."""
        anchor, style = axis.get_yaxis_transform(), {"va": "center"}
        style |= {"ha": "right", "xytext": (-3, 0)}  # in points
        if is_below:
            anchor, style = axis.get_xaxis_transform(), {"va": "top"}
            style |= {"ha": "center", "xytext": (0, -3), "rotation": 90}
        for place, label in zip(self.places, self.labels):
            # Ticks of Matplotlib would take twice the time for thousands of
            # labels.
            axis.annotate(
                label,
                (place, 0) if is_below else (0, place),
                xycoords=anchor,
                textcoords="offset points",
                fontsize=7,
                parse_math=False,  # otherwise "$" would start a formula
                **style,
            )


def _make_axes(num_layers, num_heads, queries, keys, is_large, font_size):
    """Returns the figure, and its axes as a matrix."""
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    # Matplotlib could find the margins itself, but measures all labels several
    # times for that. This takes a minute for 48 maps of long sentences.
    line = 1.5 * font_size / 72
    left, bottom, top = queries.room + line, keys.room, 4.5 * line
    x_gap = GAP + is_large * queries.room
    y_gap = GAP + is_large * (keys.room + 0.35)
    width = left + num_heads * (keys.inches + x_gap) + BAR_ROOM
    height = bottom + num_layers * (queries.inches + y_gap) + top
    figure = Figure((width, height), min(120, MAX_PIXELS / max(width, height)))
    figure.subplots_adjust(
        left=left / width,
        right=1 - (BAR_ROOM + x_gap) / width,
        bottom=bottom / height,
        top=1 - top / height,
        wspace=x_gap / keys.inches,
        hspace=y_gap / queries.inches,
    )
    # One layer or one head is still a matrix.
    return figure, figure.subplots(num_layers, num_heads, squeeze=False)


def _draw_map(axis, weights, is_causal):
    """Draws the weights `(query_len, key_len)` of a head; returns the image."""
    if is_causal:
        # Where the image is masked, the hatching behind it shows.
        visible = np.tri(*weights.shape, dtype=bool)
        weights = np.ma.masked_where(~visible, weights)
        axis.patch.set(hatch="////", facecolor="0.95", edgecolor="0.8")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_color("0.7")
    return axis.imshow(weights, "Blues", vmin=0, vmax=1, aspect="auto")


def _add_bar(figure, image, font_size):
    width, height = size = figure.get_size_inches()
    length = min(5, 0.6 * height)  # inches, however large the picture is
    left, bottom = width - 0.9 * BAR_ROOM, (height - length) / 2
    place = np.array([left, bottom, 0.2, length]) / [*size, *size]
    bar = figure.colorbar(image, cax=figure.add_axes(place))
    bar.set_label("weight", fontsize=min(font_size, 12))
