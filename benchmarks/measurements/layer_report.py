"""The measured layers as a Markdown table, a CSV and a plot."""

import csv
import os

import numpy as np

from keras_transformer.files import markdown
from keras_transformer.files.writing import atomic_write
from keras_transformer.visualization.picture import make_axes
from keras_transformer.visualization.picture import write_picture
from measurements.layer_table import LAYERS

# The figures of a cell, with their titles, units and the size of a unit.
FIGURES = {
    "forward_seconds": ("forward", "ms", 1e-3),
    "training_seconds": ("training", "ms", 1e-3),
    "forward_bytes": ("forward", "MB", 1e6),
    "training_bytes": ("training", "MB", 1e6),
}
# Pairs of layers that are compared at their greatest length.
PAIRS = (
    ("self_attention", "restricted_self_attention"),
    ("bare_self_attention", "bare_restricted_self_attention"),
)
ASYMPTOTIC_LENGTH = 1024  # below it, the fixed cost of a call dominates


def fit_exponents(cells, figure, min_length=ASYMPTOTIC_LENGTH):
    """Fits the exponents of n and d by least squares of logarithms.

    Returns them as a list: the figure grows in proportion to `n ** first * d **
    second`. None if cells with `figure` have fewer than two lengths or widths.
    """
    used = [
        (cell.length, cell.width, cell.figures[figure])
        for cell in cells
        if cell.length >= min_length and cell.figures.get(figure, 0) > 0
    ]
    if not used or min(len(set(sizes)) for sizes in list(zip(*used))[:2]) < 2:
        return None
    lengths, widths, values = np.log(np.array(used, float).T)
    factors = np.stack([np.ones_like(lengths), lengths, widths], axis=1)
    solution, *_ = np.linalg.lstsq(factors, values, rcond=None)
    return solution[1:].tolist()


def write_report(cells, directory, settings):
    """Writes `table1.md`, `table1.csv` and `table1.png` into a directory.

    The report states the `settings`, names and values that the figures depend
    on. Returns the fitted exponents by layer and figure.
    """
    os.makedirs(directory, exist_ok=True)
    fits = {
        name: {
            figure: fit_exponents(_select_layer(cells, name), figure)
            for figure in FIGURES
        }
        for name in LAYERS
    }
    with atomic_write(os.path.join(directory, "table1.csv")) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["layer", "n", "d", *FIGURES, "note"])
        for cell in cells:
            figures = [cell.figures.get(key, "") for key in FIGURES]
            writer.writerow([*cell[:3], *figures, cell.note])
    with atomic_write(os.path.join(directory, "table1.md")) as file:
        file.write(as_markdown(cells, fits, settings))
    write_picture(_figure(cells), os.path.join(directory, "table1.png"))
    return fits


def as_markdown(cells, fits, settings):
    """Returns the report as Markdown."""
    parts = [
        "# Table 1: why self-attention",
        "Settings: "
        + ", ".join(f"{name} {value}" for name, value in settings.items())
        + ".",
        _growth_table(fits),
        "The three columns in the middle are the paper's; n is the length, d "
        "the width, k the kernel and r the neighbourhood. The last four say "
        "how the measured figures grow: exponents of n and of d, fitted by "
        "least squares of logarithms over all widths and the lengths from "
        f"{ASYMPTOTIC_LENGTH:,}. The paper counts attention without its "
        "projections, which take O(n·d²).",
        "## Restricted against full self-attention\n\n"
        + _comparison_table(cells),
    ]
    for width in sorted({cell.width for cell in cells}):
        of_width = [cell for cell in cells if cell.width == width]
        parts.append(f"## d = {width:,}\n\n{_width_table(of_width)}")
    skipped = [
        f"- {LAYERS[cell.name].title}, n = {cell.length:,}, "
        f"d = {cell.width:,}: {cell.note}"
        for cell in cells
        if cell.note
    ]
    if skipped:
        parts.append("## Not measured\n\n" + "\n".join(skipped))
    return "\n\n".join(parts) + "\n"


def _growth_table(fits):
    head = ["layer", "complexity", "sequential operations"]
    head += ["maximum path length"]
    head += [
        f"{title} {'time' if unit == 'ms' else 'memory'}"
        for title, unit, _ in FIGURES.values()
    ]
    rows = [
        [*layer, *(_power(fits[name][key]) for key in FIGURES)]
        for name, layer in LAYERS.items()
    ]
    return markdown.table(head, rows)


def _comparison_table(cells):
    """Returns how much faster and smaller restricted self-attention is."""
    head = ["restricted layer", "n", "d"]
    head += [
        f"{title}: {'times faster' if unit == 'ms' else 'share of memory'}"
        for title, unit, _ in FIGURES.values()
    ]
    rows = []
    by_place = {cell[:3]: cell.figures for cell in cells if cell.figures}
    for full, restricted in PAIRS:
        # By width, the greatest length at which both were measured.
        lengths = {
            width: length
            for name, length, width in sorted(by_place)
            if name == full and (restricted, length, width) in by_place
        }
        for width, length in sorted(lengths.items()):
            base = by_place[full, length, width]
            other = by_place[restricted, length, width]
            ratios = [
                f"{base[key] / other[key]:.1f}"
                if unit == "ms"
                else f"{other[key] / max(base[key], 1):.2f}"
                for key, (_, unit, _) in FIGURES.items()
            ]
            title = LAYERS[restricted].title
            rows.append([title, f"{length:,}", f"{width:,}", *ratios])
    return markdown.table(head, rows)


def _power(exponents):
    if exponents is None:
        return ""
    return "n^{:.2f} d^{:.2f}".format(*exponents)


def _width_table(cells):
    head = ["layer", "n"]
    head += [f"{title} {unit}" for title, unit, _ in FIGURES.values()]
    rows = []
    for name in LAYERS:
        for cell in _select_layer(cells, name):
            figures = [
                _number(cell.figures[key] / unit) if cell.figures else ""
                for key, (_, _, unit) in FIGURES.items()
            ]
            rows.append([LAYERS[name].title, f"{cell.length:,}", *figures])
    return markdown.table(head, rows)


def _number(value):
    """Returns a number with three digits, or with all before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _figure(cells):
    """Draws time and memory of training over the length, for each width."""
    widths = sorted({cell.width for cell in cells})
    size = (4 * len(widths), 7)
    shared = {"sharex": True, "sharey": "row"}
    figure, grid = make_axes(size, 2, len(widths), 120, "constrained", **shared)
    for axes, key in zip(grid, ("training_seconds", "training_bytes")):
        title, unit, size = FIGURES[key]
        for axis, width in zip(axes, widths):
            for name, layer in LAYERS.items():
                measured = [
                    (cell.length, cell.figures[key] / size)
                    for cell in _select_layer(cells, name)
                    if cell.width == width and cell.figures.get(key, 0) > 0
                ]
                lengths, values = zip(*measured) if measured else ((), ())
                axis.plot(lengths, values, marker=".", label=layer.title)
            axis.set(xscale="log", yscale="log", title=f"d = {width:,}")
            axis.set_xlabel("n")
        axes[0].set_ylabel(f"{title}, {unit}")
    figure.legend(
        *grid[0][0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(widths),
        fontsize="small",
        frameon=False,
    )
    return figure


def _select_layer(cells, name):
    return [cell for cell in cells if cell.name == name]
