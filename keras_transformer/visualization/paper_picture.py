"""Draws figures 3 to 5 of the paper as pictures."""

from keras_transformer.visualization.paper_figures import head_colour
from keras_transformer.visualization.picture import num_columns
from keras_transformer.visualization.picture import shorten_label
from keras_transformer.visualization.picture import write_picture

# All lengths are in inches.
PITCH = 0.21  # from one word to the next
CHARACTER = 0.085  # length of a character of a word
HEADING = 0.34  # height of the line that names the heads
FIRST_HEAD = 0.5  # from the start of that line to its first number
HEAD_PITCH = 0.22  # from one number to the next
MARGIN = 0.15
FONT_SIZE = 9.5
MIN_WIDTH = 2.4


def write_paper_picture(figure, path):
    """Draws a figure in the paper's style.

    Each panel has two rows of words. Lines lead from the words above, which
    attend, to the words below. A colour stands for a head and the opacity of a
    line for its weight. Where a single word attends, stripes behind the words
    below repeat the weights. Weights below `MIN_WEIGHT` are left out.
    """
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    labels = [shorten_label(word) for word in figure.words]
    room = CHARACTER * max(map(num_columns, labels)) + 0.1
    length = PITCH * len(labels)
    gap = min(2.4, max(1.2, 0.3 * length))  # between the two rows
    panel_height = HEADING + room + gap + room + MARGIN
    num_heads = max(len(panel.heads) for panel in figure.panels)
    heading = FIRST_HEAD + HEAD_PITCH * num_heads
    width = max(MIN_WIDTH, length, heading) + 2 * MARGIN
    height = len(figure.panels) * panel_height
    picture = Figure((width, height), dpi=200)
    axis = picture.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axis.set_axis_off()
    left = (width - length) / 2
    for number, panel in enumerate(figure.panels):
        top = number * panel_height
        _write_heads(axis, panel.heads, top + HEADING / 2)
        upper = top + HEADING + room
        _draw_panel(axis, panel, labels, (left, upper, upper + gap), room)
    write_picture(picture, path)


def _write_heads(axis, heads, y):
    """Writes the names of the heads in their colours."""
    options = {"fontsize": FONT_SIZE, "va": "center"}
    text = "head" if len(heads) == 1 else "heads"
    axis.text(MARGIN, y, text, color="0.35", **options)
    for place, head in enumerate(heads):
        axis.text(
            MARGIN + FIRST_HEAD + HEAD_PITCH * place,
            y,
            head + 1,
            color=head_colour(head),
            fontweight="bold",
            **options,
        )


def _draw_panel(axis, panel, labels, place, room):
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    left, upper, lower = place
    centres = [left + PITCH * (word + 0.5) for word in range(len(labels))]
    lines = list(panel.lines())
    colours = [to_rgba(line.colour, line.weight) for line in lines]
    starts = [centres[line.query] + PITCH * line.shift for line in lines]
    ends = [centres[line.key] + PITCH * line.shift for line in lines]
    if panel.query is not None:
        # The word that attends, and the weights of the others.
        width = PITCH / len(panel.heads)
        corners = [end - width / 2 for end in ends]
        axis.bar(
            centres[panel.query], -room, PITCH, upper, color="0.5", alpha=0.3
        )
        axis.bar(corners, room, width, lower, align="edge", color=colours)
    segments = [
        [(start, upper), (end, lower)] for start, end in zip(starts, ends)
    ]
    axis.add_collection(LineCollection(segments, colors=colours, linewidth=1.5))
    options = {
        "rotation": 90,
        "ha": "center",
        "fontsize": FONT_SIZE,
        "parse_math": False,  # otherwise "$" in a word would start a formula
    }
    for x, label in zip(centres, labels):
        axis.text(x, upper - 0.05, label, va="bottom", **options)
        axis.text(x, lower + 0.05, label, va="top", **options)
