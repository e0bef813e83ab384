"""Writes the scores and the pictures of attention heads as a page."""

import html

from keras_transformer.files.writing import atomic_write
from keras_transformer.visualization import page
from keras_transformer.visualization.head_table import head_name
from keras_transformer.visualization.head_table import head_notes
from keras_transformer.visualization.head_table import ranking
from keras_transformer.visualization.paper_figures import Panel
from keras_transformer.visualization.paper_page import lines_svg


def write_head_page(scores, words, weights, path, text_name):
    """Writes a page that ranks heads and shows each for one sentence.

    A table holds the scores of all heads on the text called `text_name`, sorted
    by any of them at a click. Each name in it is a link to the head's picture,
    drawn as in figure 5 of the paper. The page is a single HTML file that needs
    no other file and no network. The weights have the shape `(num_layers,
    num_heads, num_words, num_words)`.
    """
    names = list(scores.by_name())
    heads = ranking(scores.by_name()[names[0]])
    parts = {
        "style": page.asset("paper_page.css") + page.asset("head_page.css"),
        "counts": f"{scores.num_words:,} words of {scores.num_sentences:,} "
        f"sentences of {html.escape(text_name)}",
        "titles": "".join(_title(name) for name in names),
        "rows": "\n".join(_row(scores, head) for head in heads),
        "pictures": "\n".join(
            _picture(words, weights, *head) for head in sorted(heads)
        ),
        "script": page.asset("paper_page.js") + page.asset("head_page.js"),
    }
    with atomic_write(path) as file:
        file.write(page.fill("head_page.html", parts))


def _title(name):
    return f'<th><button type="button" data-score="{name}">{name}</button></th>'


def _row(scores, head):
    name = head_name(*head)
    notes = head_notes(scores, head)
    cells = "".join(
        f'<td data-score="{score}" style="--score:{values[head]:.4f}">'
        f"{values[head]:z.3f} <small>{notes.get(score, '')}</small></td>"
        for score, values in scores.by_name().items()
    )
    return f'<tr><th><a href="#head-{name}">{name}</a></th>{cells}</tr>'


def _picture(words, weights, layer, head):
    name = head_name(layer, head)
    panel = Panel([head], weights[layer, [head]])
    return (
        f'<section id="head-{name}"><h3>Layer {layer + 1}, head {head + 1}</h3>'
        f'<div class="scroll">{lines_svg(panel, words)}</div></section>'
    )
