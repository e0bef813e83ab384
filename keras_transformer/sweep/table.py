"""The table of a sweep: its lines, and its forms as CSV and Markdown."""

import csv
import dataclasses
import statistics

from keras_transformer import markdown
from keras_transformer.files.writing import atomic_write
from keras_transformer.sweep.results import SPLITS
from keras_transformer.sweep.results import is_trained
from keras_transformer.visualization.picture import spelled

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
            line |= _measured_columns(result, measure)
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
    """Returns the other hyper-parameters that are not the same in all rows.

    The depth of the decoder is one of them if it is not N in some row.
    """
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


def _measured_columns(result, measure):
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
    return HEADINGS.get(column, spelled(column) if is_figure else column)


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
    return f"{spelled(column)} {low:.2f} to {high:.2f}, mean {mean:.2f}"
