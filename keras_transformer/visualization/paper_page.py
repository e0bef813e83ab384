"""Writes figures 3 to 5 of the paper as a page for a browser."""

import html

from keras_transformer.visualization import page
from keras_transformer.visualization import picture
from keras_transformer.visualization.paper_figures import head_colour

# All lengths are in pixels.
PITCH = 27  # from one word to the next
CHARACTER = 9.5  # length of a character of a word
SPACE = 6  # between words and lines
TEXT_WIDTH = 736  # of the caption
MAX_SCALE = 2  # of the drawing of a short sentence
MIN_SCALE = 0.6  # on a narrow page, which scrolls beyond it


def write_paper_page(figure, path):
    """Writes a page that shows a figure as `write_paper_picture` draws it.

    The page is a single HTML file that needs no other file and no network. It
    follows the light or dark theme of the system. Pointing at a word shows the
    lines of that word alone.
    """
    parts = {
        "title": html.escape(f"Figure {figure.number}"),
        "panels": "\n".join(
            _panel(panel, figure.words) for panel in figure.panels
        ),
        "number": figure.number,
        "caption": html.escape(figure.caption),
    }
    page.write_page(path, "paper", parts, ["paper_page"], ["paper_page"])


def _panel(panel, words):
    """Returns the HTML of a panel: the names of its heads, and its lines."""
    heads = "".join(
        f' <b style="color:{head_colour(head)}">{head + 1}</b>'
        for head in panel.heads
    )
    name = "head" if len(panel.heads) == 1 else "heads"
    # A short sentence fills the width of the text, as a long one does.
    scale = min(MAX_SCALE, max(1, TEXT_WIDTH / (PITCH * len(words))))
    return (
        f'<p class="heads">{name}{heads}</p>\n'
        f'<div class="scroll">{lines_svg(panel, words, scale)}</div>'
    )


def lines_svg(panel, words, scale=1):
    """Returns the SVG of a panel: two rows of words and the lines between."""
    labels = [picture.shorten_label(word) for word in words]
    room = CHARACTER * max(map(picture.num_columns, labels)) + SPACE
    width = PITCH * len(words)
    upper = room  # where the lines begin
    lower = room + min(300, max(130, 0.32 * width))  # where they end
    size = f"{width:g} {lower + room:g}"
    parts = [
        f'<svg viewBox="0 0 {size}" width="{scale * width:g}" '
        f'style="min-width:{MIN_SCALE * width:g}px">'
    ]
    if panel.query is not None:
        parts += _shades(panel, upper, lower, room)
    lines = (_line(line, upper, lower) for line in panel.lines())
    parts += ['<g class="lines">', *lines, "</g>"]
    for word, label in enumerate(labels):
        parts.append(_word("query", word, label, upper - SPACE))
        parts.append(_word("key", word, label, lower + SPACE))
    return "".join([*parts, "</svg>"])


def _shades(panel, upper, lower, room):
    """Marks the word that attends, and the weights of the others."""
    yield (
        f'<rect class="query" x="{PITCH * panel.query}" y="{upper - room:g}" '
        f'width="{PITCH}" height="{room:g}"/>'
    )
    width = PITCH / len(panel.heads)
    for line in panel.lines():
        x = PITCH * (line.key + 0.5 + line.shift) - width / 2
        yield (
            f'<rect x="{x:g}" y="{lower:g}" width="{width:g}" '
            f'height="{room:g}" fill="{line.colour}" '
            f'fill-opacity="{line.weight:.3f}"/>'
        )


def _line(line, upper, lower):
    start, end = (
        PITCH * (word + 0.5 + line.shift) for word in (line.query, line.key)
    )
    return (
        f'<line data-query="{line.query}" data-key="{line.key}" '
        f'x1="{start:g}" y1="{upper:g}" x2="{end:g}" y2="{lower:g}" '
        f'stroke="{line.colour}" stroke-opacity="{line.weight:.3f}"/>'
    )


def _word(side, word, label, y):
    # Words read upwards, as in the paper.
    x = PITCH * (word + 0.5)
    return (
        f'<text class="{side}" data-{side}="{word}" '
        f'transform="translate({x:g},{y:g}) rotate(-90)">'
        f"{html.escape(label)}</text>"
    )
