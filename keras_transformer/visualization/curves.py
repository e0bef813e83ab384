"""Draws the learning curve of a run, or one metric of several runs."""

import math
import os

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.errors import did_you_mean
from keras_transformer.files.directories import shorten_paths
from keras_transformer.runs.metrics_table import METRICS_FILE
from keras_transformer.runs.metrics_table import read_rows
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.visualization import picture

MAX_VALUE = 1e300
# The names of the axes; "pairs" is no column of `metrics.csv`.
X_AXES = {
    "step": "updates",
    "seconds": "seconds of training",
    "epoch": "epochs",
    "pairs": "training pairs",
}
# These have no separate plot: dev_loss is drawn beside the training loss,
# and perplexity and accuracy move with it.
LOSS_COLUMNS = ("dev_loss", "dev_perplexity", "dev_accuracy")


def plot_learning_curve(rows, path, label_smoothing=0.0):
    """Draws the losses and scores in the rows of `metrics.csv` as one picture.

    The legend mentions label smoothing, because the loss on dev has none.
    """
    names = dict.fromkeys(name for row in rows for name in row)
    scores = [
        name
        for name in names
        if name.startswith("dev_") and name not in LOSS_COLUMNS
    ]
    num_axes = 1 + len(scores)
    size = (5 * num_axes, 3.6)
    figure, (axes,) = picture.make_axes(size, 1, num_axes, dpi=120, sharex=True)
    train = "train, with label smoothing" if label_smoothing else "train"
    for name, label in (("train_loss", train), ("dev_loss", "dev")):
        _plot(axes[0], rows, name, label=label)
    axes[0].set_title("loss per token")
    axes[0].legend(frameon=False)
    for axis, name in zip(axes[1:], scores):
        _plot(axis, rows, name, color="tab:green")
        axis.set_title(picture.name_metric(name), parse_math=False)
    for axis in axes:
        axis.set_xlabel("updates")
        axis.xaxis.set_major_formatter("{x:,.10g}")
    axes[0].set_xlim(left=0)  # applies to all, which share the axis
    picture.write_picture(figure, path)


def _plot(axis, rows, name, **options):
    # Rows between two evaluations have no scores.
    rows = [row for row in rows if row.get(name)]
    axis.plot(
        [int(row["step"]) for row in rows],
        [float(row[name]) for row in rows],
        marker="." if len(rows) <= picture.MAX_MARKERS else None,
        **options,
    )


def plot_comparison(runs, metric, x_axis, path):
    """Draws a curve of a column of `metrics.csv` for each run.

    The runs may still be training. "seconds" are those without evaluations. On
    an axis of "pairs", each run is a point; see `read_scaling`.
    """
    picture.check_picture_path(path)
    is_scaling = x_axis == "pairs"
    if is_scaling:
        curves = read_scaling(runs, metric)
    else:
        curves = read_curves(runs, metric, x_axis)
    x_size, x_label = 1, X_AXES[x_axis]
    longest = max(x for points in curves.values() for x, _ in points)
    for seconds, name in ((60, "minutes"), (3600, "hours")):
        if x_axis == "seconds" and longest >= 2 * seconds:
            x_size, x_label = seconds, f"{name} of training"
    y_size, y_label = 1, picture.name_metric(metric)
    if metric == "memory_bytes":
        y_size, y_label = 1e9, "memory in GB"
    figure, ((axis,),) = picture.make_axes((7, 4.2))
    for number, points in enumerate(curves.values()):
        style = {"marker": "."}
        if len(points) > picture.MAX_MARKERS:
            # They are noisy: thin and transparent lines keep all visible.
            style = {"linewidth": 1.0, "alpha": 0.75}
        x, y = np.transpose(points)
        axis.plot(x / x_size, y / y_size, label=f"{number}", **style)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label, parse_math=False)
    if is_scaling:  # a corpus is often several times as large as the next one
        axis.set_xscale("log")
        axis.xaxis.get_major_locator().set_params(subs=(1, 2, 5))
        axis.xaxis.set_minor_formatter("")
    axis.xaxis.set_major_formatter("{x:,.10g}")
    # An offset beside the axis would hide the values themselves.
    axis.ticklabel_format(axis="y", useOffset=False)
    legend = axis.legend(framealpha=0.8, edgecolor="none")
    for text, name in zip(legend.get_texts(), curves):
        # As a label, a name with "_" in front would be left out, and "$" would
        # start a formula.
        text.set(text=picture.printable(name), parse_math=False)
    picture.write_picture(figure, path)


def read_curves(runs, metric, x_axis):
    """Returns the points `(position, value)` of each run's curve.

    `metrics.csv` records complete epochs only. Positions within an epoch are
    interpolated from the number of updates, accurate to about the distance
    between two rows. A run is named by its path without what all runs share.
    """
    runs = _drop_repetitions(runs)
    tables = [_read_run(run) for run in runs]
    _check_metric(tables, metric)
    curves = {}
    for run, name, rows in zip(runs, shorten_paths(runs), tables):
        factor, column = 1.0, x_axis
        if x_axis == "epoch":
            factor, column = _epochs_per_update(run, rows), "step"
        # Rows without an evaluation, for example, lack values.
        points = [
            (factor * float(row[column]), float(row[metric]))
            for row in rows
            if row.get(column) and row.get(metric)
        ]
        if not any(_can_be_drawn(*point) for point in points):
            raise UserError(
                f"{run} has no finite value of {metric}. Leave that run out, "
                "or choose another metric."
            )
        # Matplotlib draws no point at a NaN, but leaves a gap there.
        curves[name] = [
            (x, y if _can_be_drawn(x, y) else math.nan) for x, y in points
        ]
    return curves


def read_scaling(runs, metric):
    """Returns the newest value of each run over its number of training pairs.

    The runs in one directory are the points `(pairs, value)` of one curve,
    which is named by that directory.
    """
    runs = _drop_repetitions(runs)
    directories = [os.path.dirname(os.path.abspath(run)) for run in runs]
    histories = read_curves(runs, metric, "step").values()
    curves = {}
    for run, name, points in zip(runs, shorten_paths(directories), histories):
        data = RunDirectory(run).record.get("data")
        if data is None:
            raise UserError(
                "`x_axis` must not be pairs for a run whose data are unknown. "
                f"Received: x_axis=pairs, {run}. Use step or seconds."
            )
        newest = [value for _, value in points if not math.isnan(value)][-1]
        point = data["splits"]["train"]["pairs"], newest
        curves.setdefault(name, []).append(point)
    return {name: sorted(points) for name, points in curves.items()}


def _drop_repetitions(runs):
    return list({os.path.abspath(run): run for run in runs}.values())


def _can_be_drawn(x, y):
    # The margins of the axes would overflow for the largest numbers.
    return abs(x) < MAX_VALUE and abs(y) < MAX_VALUE


def _read_run(run):
    path = os.path.join(run, METRICS_FILE)
    if run and not os.path.lexists(path) and RunDirectory.exists(run):
        raise UserError(
            f"The run in {run} has no {METRICS_FILE}. If it stopped before its "
            "first 100 updates and its first evaluation, resume it; an "
            "average or an import has no curves."
        )
    if not run or not os.path.isfile(path):
        raise UserError(
            "`output_dir` must name directories of kt-trainer. Received: "
            f"{run!r}, which has no {METRICS_FILE}. Check the path."
        )
    rows = read_rows(path)
    if not rows:
        raise UserError(
            f"{METRICS_FILE} of {run!r} has no figures to draw yet. Wait until "
            "the run has written some, or leave it out."
        )
    return rows


def _check_metric(tables, metric):
    # Each row of a table has all its columns.
    names = dict.fromkeys(name for first, *_ in tables for name in first)
    names = [name for name in names if name not in X_AXES]
    if metric not in names:
        raise UserError(
            "`metric` must be a column of metrics.csv. Received: "
            f"metric={metric!r}. {did_you_mean(metric, names)}The columns are: "
            f"{', '.join(names)}."
        )


def _epochs_per_update(run, rows):
    epochs = [int(row.get("epoch") or 0) for row in rows]
    newest = max(epochs, default=0)
    if not newest:
        raise UserError(
            "`x_axis` must not be epoch for a run in its first epoch. "
            f"Received: x_axis=epoch, {run}. Use step or seconds."
        )
    # The first row of an epoch is closest to the epoch's beginning.
    first = rows[epochs.index(newest)]
    return newest / max(1, int(first["step"]))
