"""Draws attention weights as one picture with a heat map for each head."""

from keras_transformer.visualization.attention_page import LABELS
from keras_transformer.visualization.picture import printable
from keras_transformer.visualization.picture import write_picture

MAX_LABELS = 70  # longer sentences get a label at every second token or so
QUERIES = {"encoder": "source", "decoder": "target", "cross": "target"}


def write_attention_picture(attention, path, kind="cross"):
    """Draws all heads of all layers into one picture.

    The picture has a row for each layer and a column for each head. A heat map
    has a row for each query and a column for each key, and all maps share the
    scale from 0 to 1. Characters that are missing in the installed fonts appear
    as boxes.

    Args:
        attention: `Attention` to draw.
        path: Path of the file to write, which ends in `.png`, `.pdf` or `.svg`.
        kind: "encoder", "decoder" or "cross". Defaults to "cross".
    """
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    queries, keys, weights = attention.of(kind)
    queries, keys = (list(map(_label, tokens)) for tokens in (queries, keys))
    num_layers, num_heads = weights.shape[:2]
    height, width = (_inches(len(tokens)) for tokens in (queries, keys))
    # In inches, with margins for titles, labels and the colour bar.
    size = num_heads * width + 2.2, num_layers * height + 1.6
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    large = 6 + 2.5 * height  # font size of the titles, in points
    # Without `squeeze`, one layer or one head is still a matrix of axes.
    axes = figure.subplots(num_layers, num_heads, squeeze=False)
    for layer, row in enumerate(axes):
        for head, axis in enumerate(row):
            image = axis.imshow(
                weights[layer, head], "Blues", vmin=0, vmax=1, aspect="auto"
            )
            axis.set_xticks([])
            axis.set_yticks([])
            axis.spines[:].set_color("0.7")
            if layer == 0:
                axis.set_title(f"head {head + 1}", fontsize=large)
            if layer == num_layers - 1:
                _set_labels(axis, "x", keys, rotation=90)
            if head == 0:
                _set_labels(axis, "y", queries)
                axis.set_ylabel(f"layer {layer + 1}", fontsize=large)
    # The bar keeps its size in inches, however large the picture is.
    bar = figure.colorbar(
        image,
        ax=axes,
        fraction=0.3 / size[0],
        shrink=min(1.0, 5 / size[1]),
        aspect=min(5, size[1]) / 0.2,
    )
    bar.set_label("weight", fontsize=large)
    figure.suptitle(
        f"{LABELS[kind].title}\n{QUERIES[kind]} tokens, from top to bottom, "
        "attend to those named below",
        fontsize=large + 1,
    )
    write_picture(figure, path)


def _inches(num_tokens):
    """Returns the width of a heat map that has room for all labels."""
    return max(1.5, 0.115 * min(num_tokens, MAX_LABELS))


def _label(token):
    """Returns a token as readable text, without the mark of a word start."""
    # SentencePiece marks the start of a word, and a lone mark is a space.
    if token.startswith("▁"):
        token = token[1:] or "␣"
    return printable(token)


def _set_labels(axis, name, tokens, **options):
    """Labels all positions along an axis, or evenly spaced ones."""
    step = -(-len(tokens) // MAX_LABELS)  # rounded up
    places = range(0, len(tokens), step)
    labels = [_shortened(tokens[place]) for place in places]
    # Otherwise a "$" in a token would start a formula.
    options = {"fontsize": 7, "parse_math": False, **options}
    getattr(axis, f"set_{name}ticks")(places, labels, **options)
    axis.tick_params(axis=name, length=2, color="0.7")


def _shortened(text, max_length=18):
    return text if len(text) <= max_length else text[: max_length - 1] + "…"
