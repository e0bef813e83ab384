"""The table of a sweep as Markdown and as a picture."""

import dataclasses
import statistics

from keras_transformer.files import markdown
from keras_transformer.files.writing import atomic_write
from keras_transformer.training.sweep.rows import PAPER
from keras_transformer.training.sweep.rows import SPLITS
from keras_transformer.visualization import picture

# The columns of the paper's Table 3 that describe a model.
MODEL = ("num_layers", "d_model", "d_ff", "num_heads", "d_k", "d_v")
MODEL += ("dropout", "label_smoothing")
DEPTH = "num_decoder_layers"
# Headings other than the name of the column: the paper's symbols, and units.
HEADINGS = {
    "num_layers": "N",
    "num_heads": "h",
    "dropout": "P_drop",
    "label_smoothing": "ε_ls",
    "seconds": "minutes",
    "parameters": "10⁶ parameters",
    "paper_parameters": "paper 10⁶ parameters",
}
# The columns of our figures begin with these.
MEASURED = tuple(f"{split}_" for split in SPLITS)
# The points of the picture.
OURS = {"label": "ours", "color": "tab:blue", "marker": "o", "zorder": 3}
THEIRS = {"label": "paper", "color": "tab:orange", "marker": "D"}


def make_lines(rows, figures, quoted=()):
    """Returns the lines of the table: quoted lines, then a line for each row.

    `figures` holds the measured columns of a row by its directory. A line is a
    dictionary of column to value, without the columns that it has no value for.
    """
    all_values = []
    for row in rows:
        values = dataclasses.asdict(row.hparams)
        values["d_k"], values["d_v"] = row.hparams.head_widths
        values[DEPTH] = row.hparams.decoder_depth
        all_values.append(values)
    # The other hyper-parameters that are not the same in all rows. They include
    # the depth of the decoder unless it is N in all rows.
    is_unequal = any(v[DEPTH] != v["num_layers"] for v in all_values)
    columns = [DEPTH] if is_unequal else []
    columns += [
        name
        for name in (all_values[0] if rows else ())
        if name not in (*MODEL, DEPTH, "train_steps")
        and len({values[name] for values in all_values}) > 1
    ]
    return [*quoted] + [
        {"row": row.name, "seed": row.seed}
        | {name: values[name] for name in (*MODEL, *columns)}
        | {"steps": row.hparams.train_steps}
        | figures[row.directory]
        | row.paper
        for row, values in zip(rows, all_values)
    ]


def _list_columns(lines):
    """Returns the columns of all lines, with those of the paper at the end."""
    columns = dict.fromkeys(column for line in lines for column in line)
    return sorted(columns, key=lambda column: column.startswith(PAPER))


def write_markdown(path, title, lines, failures):
    """Writes the lines of a table as Markdown."""
    columns = _list_columns(lines)
    head = [_make_heading(column) for column in columns]
    cells = [
        [_make_cell(column, line.get(column)) for column in columns]
        for line in lines
    ]
    parts = [title]
    if lines:
        parts.append(markdown.table(head, cells, numbers=True))
    parts += _describe_spreads(lines)
    parts += [f"{name} failed: {why}" for name, why in failures.items()]
    with atomic_write(path) as file:
        file.write("\n\n".join(parts) + "\n")


def _make_heading(column):
    is_figure = column.startswith((*MEASURED, PAPER))
    name = picture.name_metric(column) if is_figure else column
    return HEADINGS.get(column, name)


def _make_cell(column, value):
    if value is None:
        return ""
    if column.endswith("parameters"):
        return f"{value / 1e6:.4g}"
    if column == "seconds":
        return f"{value / 60:.1f}"
    if column.startswith((*MEASURED, PAPER)):
        return f"{value:.{2 if column.endswith('perplexity') else 1}f}"
    return str(value)


def _describe_spreads(lines):
    """Yields a sentence on each row that was trained with several seeds."""
    trained = [line for line in lines if "dev_perplexity" in line]
    for name in dict.fromkeys(line["row"] for line in trained):
        seeds = [line for line in trained if line["row"] == name]
        spreads = []
        for column in seeds[0]:
            values = [line.get(column) for line in seeds]
            if column.startswith(MEASURED) and None not in values:
                spreads.append(
                    f"{picture.name_metric(column)} {min(values):.2f} to "
                    f"{max(values):.2f}, mean {statistics.mean(values):.2f}"
                )
        if len(seeds) > 1:
            yield f"{name}, {len(seeds)} seeds: {'; '.join(spreads)}."


def plot_lines(lines, path, base=None):
    """Draws a panel for each measured figure, with a line for each row.

    The figures of the paper and ours are far apart. With a base row, a panel
    therefore shows differences: ours from our base, and the paper's from its
    own. The base is the line at 0, and a grey band is the range of its seeds.
    """
    names = list(dict.fromkeys(line["row"] for line in lines))
    # Without other rows, there is nothing to compare the base with.
    if names == [base]:
        base = None
    names = [name for name in names if name != base]
    columns = [n for n in _list_columns(lines) if n.startswith(MEASURED)]
    size = 2.5 + 3.2 * len(columns), 1.2 + 0.24 * len(names)
    figure, (axes,) = picture.make_axes(size, 1, len(columns), sharey=True)
    for axis, column in zip(axes, columns):
        _draw(axis, lines, names, column, base)
    axes[0].set_yticks(range(len(names)), list(map(picture.printable, names)))
    axes[0].invert_yaxis()  # the first row on top
    axes[-1].legend(framealpha=0.8, edgecolor="none")
    picture.write_picture(figure, path)


def _draw(axis, lines, names, column, base):
    label = picture.name_metric(column)
    is_ratio = column.endswith("perplexity")
    has_base = any(line["row"] == base and column in line for line in lines)
    if has_base:
        label += ", % above base" if is_ratio else ", points above base"
    # The paper has one column for all splits.
    of_paper = PAPER + column.partition("_")[2]
    for column, style in ((of_paper, THEIRS), (column, OURS)):
        points = [(e["row"], e[column]) for e in lines if column in e]
        if has_base and points:
            mean = statistics.mean(v for name, v in points if name == base)
            points = [
                (name, 100 * (v / mean - 1) if is_ratio else v - mean)
                for name, v in points
            ]
        x = [value for name, value in points if name in names]
        y = [names.index(name) for name, _ in points if name in names]
        if x:
            axis.scatter(x, y, **style)
    if has_base:
        bases = [value for name, value in points if name == base]
        axis.axvspan(min(bases), max(bases), color="0.85", zorder=0)
        axis.axvline(0, color="0.6", linewidth=0.8)
    axis.set_xlabel(label)
