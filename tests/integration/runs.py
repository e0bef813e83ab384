"""Helpers of the training tests: they start trainings and compare runs."""

import subprocess
import sys

import numpy as np

from keras_transformer import registry
from keras_transformer.runs.metrics_table import read_rows

# Endings of the names of figures that differ between any two runs.
TIMES = ("seconds", "waited", "tokens_per_second", "input_wait_share")
TIMES += ("memory_bytes",)


def start_trainer(*flags, **options):
    """Starts kt-trainer in another process, with its output in pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "keras_transformer.bin.trainer", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def run_trainer(*flags):
    """Runs kt-trainer to its end; returns status, output and messages."""
    process = start_trainer(*flags)
    out, messages = process.communicate(timeout=300)
    return process.returncode, out, messages


def train(run, step, engine=None, **options):
    """Trains a run in this process; returns the trainer and its results."""
    from keras_transformer.training.trainer import Trainer

    problem = registry.get_problem(run.problem_name, run.record["data_dir"])
    trainer = Trainer(problem, run, engine, **options)
    return trainer, trainer.train(step)


def metrics(run):
    """Returns the rows of metrics.csv, dictionaries of strings."""
    return read_rows(run.file("metrics.csv"))


def evaluations(run):
    return [row for row in metrics(run) if row["dev_loss"]]


def state_of(run):
    """Returns the arrays of the newest checkpoint, except for times."""
    arrays = run.checkpoints.load()
    return {n: a for n, a in arrays.items() if not n.endswith(TIMES)}


def differences(run, expected):
    """Returns the names of arrays that differ in the newest checkpoints.

    A difference between the tables adds "metrics.csv". The list is empty if the
    runs are bit for bit the same.
    """
    state, expected_state = state_of(run), state_of(expected)
    names = state.keys() ^ expected_state.keys()
    for name in state.keys() & expected_state.keys():
        if not np.array_equal(
            state[name], expected_state[name], equal_nan=True
        ):
            names.add(name)
    if _figures(run) != _figures(expected):
        names.add("metrics.csv")
    return sorted(names)


def _figures(run):
    return [
        {n: v for n, v in row.items() if not n.endswith(TIMES)}
        for row in metrics(run)
    ]
