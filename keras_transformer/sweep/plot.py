"""The picture of a sweep: the figures of all rows, beside the paper's."""

import statistics

from keras_transformer.sweep.table import MEASURED
from keras_transformer.sweep.table import PAPER
from keras_transformer.visualization.picture import printable
from keras_transformer.visualization.picture import spelled
from keras_transformer.visualization.picture import write_picture

OURS = {"label": "ours", "color": "tab:blue", "marker": "o", "zorder": 3}
THEIRS = {"label": "paper", "color": "tab:orange", "marker": "D"}


def plot_lines(lines, path, base=None):
    """Draws a panel for each measured figure, with a line for each row.

    The figures of the paper and ours are far apart. With a base row, a panel
    therefore shows differences: ours from our base, and the paper's from its
    own. A grey band is the range of the seeds of our base.
    """
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(line["row"] for line in lines))
    columns = _find_columns(lines)
    size = 2.5 + 3.2 * len(columns), 1.2 + 0.24 * len(names)
    figure = Figure(figsize=size, dpi=150, layout="tight")
    axes = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    for axis, column in zip(axes, columns):
        _draw(axis, lines, names, column, base)
    axes[0].set_yticks(range(len(names)), list(map(printable, names)))
    axes[0].invert_yaxis()  # the first row on top
    axes[-1].legend(framealpha=0.8, edgecolor="none")
    write_picture(figure, path)


def _find_columns(lines):
    columns = dict.fromkeys(column for line in lines for column in line)
    return [column for column in columns if column.startswith(MEASURED)]


def _draw(axis, lines, names, column, base):
    ours = _find_points(lines, column)
    # The paper has one column for all splits.
    paper = _find_points(lines, PAPER + column.partition("_")[2])
    label = spelled(column)
    if any(name == base for name, _ in ours):
        is_ratio = column.endswith("perplexity")
        label += ", % above base" if is_ratio else ", points above base"
        ours = _subtract_base(ours, base, is_ratio)
        paper = _subtract_base(paper, base, is_ratio)
        bases = [value for name, value in ours if name == base]
        axis.axvspan(min(bases), max(bases), color="0.85")
        axis.axvline(0, color="0.6", linewidth=0.8)
    for points, style in ((paper, THEIRS), (ours, OURS)):
        if points:
            x = [value for _, value in points]
            axis.scatter(x, [names.index(name) for name, _ in points], **style)
    axis.set_xlabel(label)
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)


def _find_points(lines, column):
    return [(line["row"], line[column]) for line in lines if column in line]


def _subtract_base(points, base, is_ratio):
    """Returns the points with their differences from the mean of base."""
    if not points:
        return []
    reference = statistics.mean(v for name, v in points if name == base)
    if is_ratio:
        return [(n, 100 * (value / reference - 1)) for n, value in points]
    return [(name, value - reference) for name, value in points]
