"""Draws figures 3 to 5 of the paper, as a page and as a picture."""

import typing

from keras_transformer.visualization import page
from keras_transformer.visualization import picture
from keras_transformer.visualization.paper_figures import Panel
from keras_transformer.visualization.paper_figures import head_colour

# All lengths are in pixels of the page.
PITCH = 27  # from one word to the next
CHARACTER = 9.5  # length of a character of a word
SPACE = 6  # between words and lines
TEXT_WIDTH = 736  # of the caption
MAX_SCALE = 2  # of the drawing of a short sentence
# The others are of a picture.
INCH = 114  # so that letters have the size of `FONT_SIZE`
FONT_SIZE = 9.5
HEADING = 39  # height of the line that names the heads
FIRST_HEAD = 57  # from the start of that line to its first number
HEAD_PITCH = 25  # from one number to the next
MARGIN = 17


class Drawing(typing.NamedTuple):
    """A panel as two rows of words and the lines between, from the left top."""

    panel: Panel
    heads: list  # pairs of a number and a colour
    labels: list  # pairs of the middle of a word and its text
    lines: list  # triples of a `Line`, the places where it begins and ends
    stripe: float  # width of the slot of a head
    room: float  # height of a row; the lines begin below the upper one
    lower: float  # where the lines end
    width: float
    height: float


def draw_panel(panel, words):
    """Returns the `Drawing` of a panel."""
    labels = [picture.shorten_label(word) for word in words]
    room = CHARACTER * max(map(picture.num_columns, labels)) + SPACE
    width = PITCH * len(words)
    lower = round(room + min(300, max(130, 0.32 * width)), 2)

    def find_middle(word, shift=0):
        return round(PITCH * (word + 0.5 + shift), 2)

    return Drawing(
        panel,
        [(head + 1, head_colour(head)) for head in panel.heads],
        [(find_middle(word), label) for word, label in enumerate(labels)],
        [
            (
                line,
                find_middle(line.query, line.shift),
                find_middle(line.key, line.shift),
            )
            for line in panel.lines()
        ],
        PITCH / len(panel.heads),
        room,
        lower,
        width,
        lower + room,
    )


def write_paper_page(figure, path):
    """Writes a page that shows a figure as `write_paper_picture` draws it.

    The page is a single HTML file that needs no other file and no network. It
    follows the light or dark theme of the system. Pointing at a word shows the
    lines of that word alone.
    """
    drawings = [draw_panel(panel, figure.words) for panel in figure.panels]
    # A short sentence fills the width of the text, as a long one does.
    scale = min(MAX_SCALE, max(1, TEXT_WIDTH / drawings[0].width))
    page.write_page(
        path, "paper", figure=figure, drawings=drawings, scale=scale
    )


def write_paper_picture(figure, path):
    """Draws a figure in the paper's style.

    Each panel has two rows of words. Lines lead from the words above, which
    attend, to the words below. A colour stands for a head and the opacity of a
    line for its weight. Where a single word attends, stripes behind the words
    below repeat the weights. Weights below `MIN_WEIGHT` are left out.
    """
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    drawings = [draw_panel(panel, figure.words) for panel in figure.panels]
    (width, height), num_heads = drawings[0][-2:], len(drawings[-1].heads)
    panel_height = HEADING + height + MARGIN
    heading = FIRST_HEAD + HEAD_PITCH * num_heads
    size = max(width, heading) + 2 * MARGIN, panel_height * len(drawings)
    drawn = Figure([length / INCH for length in size], dpi=200)
    axis = drawn.add_axes((0, 0, 1, 1), xlim=(0, size[0]), ylim=(size[1], 0))
    axis.set_axis_off()
    for number, drawing in enumerate(drawings):
        top = number * panel_height
        _write_heads(axis, drawing.heads, top + HEADING / 2)
        _draw(axis, drawing, (size[0] - width) / 2, top + HEADING)
    picture.write_picture(drawn, path)


def _write_heads(axis, heads, y):
    """Writes the names of the heads in their colours."""
    options = {"fontsize": FONT_SIZE, "va": "center"}
    text = "head" if len(heads) == 1 else "heads"
    axis.text(MARGIN, y, text, color="0.35", **options)
    options["fontweight"] = "bold"
    for place, (head, colour) in enumerate(heads):
        x = MARGIN + FIRST_HEAD + HEAD_PITCH * place
        axis.text(x, y, head, color=colour, **options)


def _draw(axis, drawing, left, top):
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    room, query = drawing.room, drawing.panel.query
    upper, lower = top + room, top + drawing.lower
    lines = drawing.lines
    colours = [to_rgba(line.colour, line.weight) for line, *_ in lines]
    if query is not None:
        # The word that attends, and the weights of the others.
        middle = left + drawing.labels[query][0]
        axis.bar(middle, room, PITCH, top, color="0.5", alpha=0.3)
        ends = [left + end for *_, end in lines]
        axis.bar(ends, room, drawing.stripe, lower, color=colours)
    segments = [
        [(left + start, upper), (left + end, lower)] for _, start, end in lines
    ]
    axis.add_collection(LineCollection(segments, colors=colours, linewidth=1.5))
    options = {
        "rotation": 90,
        "ha": "center",
        "fontsize": FONT_SIZE,
        "parse_math": False,  # otherwise "$" in a word would start a formula
    }
    for x, label in drawing.labels:
        axis.text(left + x, upper - SPACE, label, va="bottom", **options)
        axis.text(left + x, lower + SPACE, label, va="top", **options)
