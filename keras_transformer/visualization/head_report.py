"""The scores of attention heads as a text table, a page and a picture."""

import numpy as np

from keras_transformer.visualization import page
from keras_transformer.visualization.paper_figures import Panel
from keras_transformer.visualization.picture import write_picture

NUM_ROWS = 10  # of the text table
# Of the picture, in inches.
CELL = 0.45
MARGIN = 0.6


def rank_heads(values):
    """Returns pairs `(layer, head)` from the highest to the lowest value.

    The values have the shape `(num_layers, num_heads)`.
    """
    order = np.argsort(-values, axis=None, kind="stable")
    return [divmod(int(place), values.shape[1]) for place in order]


def _describe(scores, name, head):
    """Returns the name of a head, such as "5.8", its score and a note."""
    layer, number = head
    note = scores.notes[name][head] if name in scores.notes else ""
    return f"{layer + 1}.{number + 1}", scores.values[name][head], note


def head_table(scores):
    """Returns the `NUM_ROWS` heads with the highest scores of each kind."""
    columns = []
    for name, values in scores.values.items():
        best = rank_heads(values)[:NUM_ROWS]
        cells = [_describe(scores, name, head) for head in best]
        columns.append([name, *("{} {:z6.3f} {}".format(*c) for c in cells)])
    return "\n".join(
        "  ".join(cell.ljust(22) for cell in line).rstrip()
        for line in zip(*columns)
    )


def write_head_page(scores, words, weights, path, text_name):
    """Writes a page that ranks heads and shows each for one sentence.

    A table holds the scores of all heads on the text called `text_name`, and a
    click sorts it by any of them. Each name in it links to the head's picture,
    drawn as in figure 5 of the paper. The page is a single HTML file that needs
    no other file and no network. The weights have the shape `(num_layers,
    num_heads, num_words, num_words)`.
    """
    rows = []
    for head in rank_heads(scores.values["diagonal"]):
        cells = {name: _describe(scores, name, head) for name in scores.values}
        rows.append((cells["diagonal"][0], cells))
    pictures = [
        (layer + 1, head + 1, Panel(words, [head], weights[layer, [head]]))
        for layer, head in np.ndindex(weights.shape[:2])
    ]
    page.write_page(
        path,
        "head",
        scores=scores,
        text_name=text_name,
        rows=rows,
        pictures=pictures,
    )


def write_head_picture(scores, path):
    """Draws a map for each score, with a row per layer, a column per head."""
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    maps = scores.values
    num_layers, num_heads = maps["diagonal"].shape
    width = max(4, num_heads) * CELL + MARGIN
    height = num_layers * CELL + 2 * MARGIN
    figure = Figure((len(maps) * width, height), dpi=150, layout="constrained")
    axes = figure.subplots(1, len(maps), squeeze=False)[0]
    for axis, (name, values) in zip(axes, maps.items()):
        axis.imshow(values, "Blues", vmin=0, vmax=1)
        axis.set(title=name, xlabel="head", ylabel="layer")
        axis.set_xticks(range(num_heads), range(1, num_heads + 1))
        axis.set_yticks(range(num_layers), range(1, num_layers + 1))
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        for (layer, head), value in np.ndenumerate(values):
            colour = "white" if value > 0.5 else "0.2"
            options = {"ha": "center", "va": "center", "fontsize": 7}
            axis.text(head, layer, f"{value:z.2f}", color=colour, **options)
    write_picture(figure, path)
