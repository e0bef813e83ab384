"""The comparison of an average with the checkpoints of its run on dev."""

import dataclasses
import os
import sys

from keras_transformer.runs import variables
from keras_transformer.runs.weights import read_weights
from keras_transformer.scoring.measures import LOWER_IS_BETTER
from keras_transformer.training.backends.make_backend import make_backend
from keras_transformer.training.evaluator import Evaluator


def report_average(problem, run, num_averaged, averaged, warn=True):
    """Measures an average and single checkpoints on dev and prints a table.

    The table has a row for the newest checkpoint, one for the best if that is
    another, and one for the average. If a checkpoint is better than the
    average, a line below the table says so and what to do, unless `warn` is
    false. All of it goes to standard error. Returns the figures of the average
    by name.
    """
    # In float32, like decoding, whatever the run's precision is. The weights
    # are measured as they are: a moving average of them exists only over the
    # updates of a run, and adapters are merged into them.
    hparams = run.hparams.without_lora()
    hparams = dataclasses.replace(hparams, ema_decay=0.0)
    backend = make_backend(hparams, num_devices=1)
    backend.build(*run.vocabularies.sizes)
    evaluate = Evaluator(problem, backend, hparams, run.record.get("measure"))
    measure = evaluate.measure
    table = {}
    steps = {"newest": run.checkpoints.find()}
    if run.checkpoints.best_step not in (None, steps["newest"]):
        steps["best"] = run.checkpoints.best_step
    for name, step in steps.items():
        # A training in progress may have deleted it by now.
        if os.path.exists(run.checkpoints.path(step)):
            weights = read_weights(run.checkpoints, step)
            table[name] = _measure(evaluate, weights, run.path)
            _print_row(f"{name}, {step}", table[name], measure)
    average = _measure(evaluate, averaged, run.path)
    _print_row(f"average of {num_averaged}", average, measure)
    warning = compare(table, average, measure)
    if warn and warning:
        print(warning, file=sys.stderr)
    return average


def compare(table, average, measure):
    """Says which single checkpoint is better than an average, and what to do.

    `table` holds the figures of the "newest" and the "best" checkpoint, or of
    one of them. `measure` decides, or the loss where it was not measured.
    Returns None if no checkpoint is better.
    """
    measure = measure if measure in average else "loss"
    sign = -1 if measure in LOWER_IS_BETTER else 1
    better = max(table, key=lambda n: sign * table[n][measure], default=None)
    if not better or sign * table[better][measure] <= sign * average[measure]:
        return None
    step = ", with --checkpoint_step=best" if better == "best" else ""
    return (
        f"The average is worse than the {better} checkpoint: {measure} "
        f"{average[measure]:.4g} instead of {table[better][measure]:.4g} on "
        "dev. Average fewer checkpoints, with --num_last_checkpoints, or "
        f"use the {better} one: name the run itself as --output_dir{step}."
    )


def _print_row(name, figures, measure):
    row = f"dev  {name:<20}  loss {figures['loss']:8.4f}"
    if measure != "loss" and measure in figures:
        row += f"  {measure} {figures[measure]:6.2f}"
    print(row, file=sys.stderr, flush=True)


def _measure(evaluate, arrays, source):
    """Returns the figures, named without `dev_`, of weights in `arrays`."""
    named = variables.model_variables(evaluate.backend.model)
    variables.write(named, arrays, source)
    evaluate.backend.reload()
    figures, _ = evaluate()
    return {name.removeprefix("dev_"): value for name, value in figures.items()}
