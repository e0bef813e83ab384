"""The scores of attention heads as a text table, a page and a picture."""

import html

import numpy as np

from keras_transformer.visualization import page
from keras_transformer.visualization.paper_figures import Panel
from keras_transformer.visualization.paper_page import lines_svg
from keras_transformer.visualization.picture import write_picture

NUM_ROWS = 10  # of the text table
NEIGHBOURS = {-1: "previous", 0: "itself", 1: "next"}
# Of the picture, in inches.
CELL = 0.45
MARGIN = 0.6


def head_name(layer, head):
    """Returns the name of a head, such as "5.8" for head 8 of layer 5."""
    return f"{layer + 1}.{head + 1}"


def rank_heads(values):
    """Returns pairs `(layer, head)` from the highest to the lowest value.

    The values have the shape `(num_layers, num_heads)`.
    """
    order = np.argsort(-values, axis=None, kind="stable")
    return [divmod(int(place), values.shape[1]) for place in order]


def head_notes(scores, head):
    """Returns notes that explain scores of a head, by the scores' names."""
    return {
        "diagonal": NEIGHBOURS[int(scores.offset[head])],
        "local": f"{scores.distance[head]:.1f} words",
    }


def head_table(scores):
    """Returns the `NUM_ROWS` heads with the highest scores of each kind."""
    columns = []
    for name, values in scores.to_dictionary().items():
        best = rank_heads(values)[:NUM_ROWS]
        columns.append([name, *(_cell(scores, name, head) for head in best)])
    lines = zip(*columns)
    return "\n".join(
        "  ".join(cell.ljust(22) for cell in line).rstrip() for line in lines
    )


def _cell(scores, name, head):
    score = getattr(scores, name)[head]
    note = head_notes(scores, head).get(name, "")
    return f"{head_name(*head)} {score:z6.3f} {note}"


def write_head_page(scores, words, weights, path, text_name):
    """Writes a page that ranks heads and shows each for one sentence.

    A table holds the scores of all heads on the text called `text_name`, and a
    click sorts it by any of them. Each name in it links to the head's picture,
    drawn as in figure 5 of the paper. The page is a single HTML file that needs
    no other file and no network. The weights have the shape `(num_layers,
    num_heads, num_words, num_words)`.
    """
    names = list(scores.to_dictionary())
    heads = rank_heads(scores.to_dictionary()[names[0]])
    parts = {
        "title": "Attention heads of the encoder",
        "counts": f"{scores.num_words:,} words of {scores.num_sentences:,} "
        f"sentences of {html.escape(text_name)}",
        "titles": "".join(
            f'<th><button type="button" data-score="{name}">{name}</button>'
            "</th>"
            for name in names
        ),
        "rows": "\n".join(_row(scores, head) for head in heads),
        "pictures": "\n".join(
            _picture(words, weights, *head) for head in sorted(heads)
        ),
    }
    files = ["paper_page", "head_page"]
    page.write_page(path, "head", parts, files, files)


def _row(scores, head):
    name = head_name(*head)
    notes = head_notes(scores, head)
    cells = "".join(
        f'<td data-score="{score}" style="--score:{values[head]:.4f}">'
        f"{values[head]:z.3f} <small>{notes.get(score, '')}</small></td>"
        for score, values in scores.to_dictionary().items()
    )
    return f'<tr><th><a href="#head-{name}">{name}</a></th>{cells}</tr>'


def _picture(words, weights, layer, head):
    name = head_name(layer, head)
    panel = Panel([head], weights[layer, [head]])
    return (
        f'<section id="head-{name}"><h3>Layer {layer + 1}, head {head + 1}</h3>'
        f'<div class="scroll">{lines_svg(panel, words)}</div></section>'
    )


def write_head_picture(scores, path):
    """Draws a map for each score, with a row per layer, a column per head."""
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    maps = scores.to_dictionary()
    num_layers, num_heads = scores.diagonal.shape
    width = max(4, num_heads) * CELL + MARGIN
    height = num_layers * CELL + 2 * MARGIN
    figure = Figure((len(maps) * width, height), dpi=150, layout="constrained")
    axes = figure.subplots(1, len(maps), squeeze=False)[0]
    for axis, (name, values) in zip(axes, maps.items()):
        axis.imshow(values, "Blues", vmin=0, vmax=1)
        axis.set_title(name)
        axis.set_xlabel("head")
        axis.set_ylabel("layer")
        axis.set_xticks(range(num_heads), range(1, num_heads + 1))
        axis.set_yticks(range(num_layers), range(1, num_layers + 1))
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        for (layer, head), value in np.ndenumerate(values):
            colour = "white" if value > 0.5 else "0.2"
            options = {"ha": "center", "va": "center", "fontsize": 7}
            axis.text(head, layer, f"{value:z.2f}", color=colour, **options)
    write_picture(figure, path)
