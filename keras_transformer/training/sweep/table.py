"""The table of a sweep as CSV, as Markdown and as a picture."""

import csv
import dataclasses
import statistics

from keras_transformer.files import markdown
from keras_transformer.files.writing import atomic_write
from keras_transformer.training.sweep.results import SPLITS
from keras_transformer.training.sweep.results import is_trained
from keras_transformer.visualization import picture

# The columns of the paper's Table 3 that describe a model.
MODEL = ("num_layers", "d_model", "d_ff", "num_heads", "d_k", "d_v")
MODEL += ("dropout", "label_smoothing")
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
PAPER = "paper_"  # those of the paper's begin with this
# The points of the picture.
OURS = {"label": "ours", "color": "tab:blue", "marker": "o", "zorder": 3}
THEIRS = {"label": "paper", "color": "tab:orange", "marker": "D"}


def make_lines(rows, results, measure, quoted=()):
    """Returns the lines of the table: quoted figures, then a line for each row.

    `results` holds a `Result` or None by the directory of a row, and `quoted`
    pairs of a name and figures of the paper. A line is a dictionary of column
    to value, without the columns that it has no value for.
    """
    others = _find_other_columns(rows)
    lines = [
        {"row": name, **_paper_columns(figures)} for name, figures in quoted
    ]
    for row in rows:
        result = results[row.directory]
        line = {"row": row.variant.name, "seed": row.seed}
        line |= _model_columns(row.hparams, others)
        if is_trained(row, result):
            line |= _collect_figures(result, measure)
        lines.append(line | _paper_columns(row.variant.paper))
    return lines


def write_csv(path, lines):
    """Writes the lines of a table as CSV."""
    with atomic_write(path) as file:
        writer = csv.DictWriter(
            file, _list_columns(lines), restval="", lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(lines)


def write_markdown(path, title, lines, failures):
    """Writes the lines of a table as Markdown."""
    columns = _list_columns(lines)
    head = [_make_heading(column) for column in columns]
    cells = [
        [_make_cell(column, line.get(column)) for column in columns]
        for line in lines
    ]
    parts = [
        title,
        markdown.table(head, cells, numbers=True),
        *_describe_spreads(lines),
    ]
    parts += [f"{name} failed: {why}" for name, why in failures.items()]
    with atomic_write(path) as file:
        file.write("\n\n".join(parts) + "\n")


def _find_other_columns(rows):
    """Returns the other hyper-parameters that are not the same in all rows."""
    # They include the depth of the decoder unless it is N in all rows.
    all_values = [dataclasses.asdict(row.hparams) for row in rows]
    depth = "num_decoder_layers"
    varied = [
        name
        for name in all_values[0]
        if name not in (*MODEL, depth, "train_steps")
        and len({values[name] for values in all_values}) > 1
    ]
    unequal = any(
        row.hparams.decoder_depth != row.hparams.num_layers for row in rows
    )
    return [depth, *varied] if unequal else varied


def _model_columns(hparams, others):
    values = {name: getattr(hparams, name) for name in (*MODEL, *others)}
    if "num_decoder_layers" in values:
        values["num_decoder_layers"] = hparams.decoder_depth
    values["d_k"], values["d_v"] = hparams.head_widths
    return {**values, "steps": hparams.train_steps}


def _collect_figures(result, measure):
    # A problem need not report its measure.
    scores = {
        f"{split}_{measure}": scores[measure]
        for split, scores in result.scores.items()
        if measure in scores
    }
    return {
        "seconds": result.seconds,
        "parameters": result.parameters,
        "dev_perplexity": result.perplexity,
        **scores,
    }


def _paper_columns(figures):
    return {f"{PAPER}{name}": value for name, value in figures.items()}


def _list_columns(lines):
    """Returns the columns of all lines, with those of the paper at the end."""
    columns = dict.fromkeys(column for line in lines for column in line)
    return sorted(columns, key=lambda column: column.startswith(PAPER))


def _make_heading(column):
    is_figure = column.startswith((*MEASURED, PAPER))
    return HEADINGS.get(
        column, picture.name_metric(column) if is_figure else column
    )


def _make_cell(column, value):
    if value is None:
        return ""
    if column.endswith("parameters"):
        return f"{value / 1e6:.4g}"
    if column == "seconds":
        return f"{value / 60:.1f}"
    if column.endswith("perplexity"):
        return f"{value:.2f}"
    is_score = column.startswith((*MEASURED, PAPER))
    return f"{value:.1f}" if is_score else str(value)


def _describe_spreads(lines):
    """Yields a sentence on each row that was trained with several seeds."""
    for name in dict.fromkeys(line["row"] for line in lines):
        seeds = [
            line
            for line in lines
            if line["row"] == name and "dev_perplexity" in line
        ]
        if len(seeds) > 1:
            figures = [
                _describe_spread(column, [line[column] for line in seeds])
                for column in seeds[0]
                if column.startswith(MEASURED)
                and all(column in line for line in seeds)
            ]
            yield f"{name}, {len(seeds)} seeds: {'; '.join(figures)}."


def _describe_spread(column, values):
    low, mean, high = min(values), statistics.mean(values), max(values)
    name = picture.name_metric(column)
    return f"{name} {low:.2f} to {high:.2f}, mean {mean:.2f}"


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
    columns = dict.fromkeys(column for line in lines for column in line)
    columns = [name for name in columns if name.startswith(MEASURED)]
    size = 2.5 + 3.2 * len(columns), 1.2 + 0.24 * len(names)
    figure, (axes,) = picture.make_axes(size, 1, len(columns), sharey=True)
    for axis, column in zip(axes, columns):
        _draw(axis, lines, names, column, base)
    axes[0].set_yticks(range(len(names)), list(map(picture.printable, names)))
    axes[0].invert_yaxis()  # the first row on top
    axes[-1].legend(framealpha=0.8, edgecolor="none")
    picture.write_picture(figure, path)


def _draw(axis, lines, names, column, base):
    ours = _find_points(lines, column)
    # The paper has one column for all splits.
    paper = _find_points(lines, PAPER + column.partition("_")[2])
    label = picture.name_metric(column)
    if any(name == base for name, _ in ours):
        is_ratio = column.endswith("perplexity")
        label += ", % above base" if is_ratio else ", points above base"
        ours = _subtract_base(ours, base, is_ratio)
        paper = _subtract_base(paper, base, is_ratio)
        bases = [value for name, value in ours if name == base]
        axis.axvspan(min(bases), max(bases), color="0.85")
        axis.axvline(0, color="0.6", linewidth=0.8)
    for points, style in ((paper, THEIRS), (ours, OURS)):
        points = [point for point in points if point[0] in names]
        if points:
            x = [value for _, value in points]
            axis.scatter(x, [names.index(name) for name, _ in points], **style)
    axis.set_xlabel(label)


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
