"""The progress of runs, which may still be training."""

import math
import os
import re

from keras_transformer.files.directories import shorten_paths
from keras_transformer.files.reading import read_text
from keras_transformer.runs.data_record import find_languages
from keras_transformer.runs.metrics_table import METRICS_FILE
from keras_transformer.runs.metrics_table import read_rows

MAX_POINTS = 500  # of a curve; a screen has no more columns
_SHOWN = re.compile("train_loss|learning_rate|dev_.*")  # columns
_SAMPLES = re.compile(r"step-([0-9]{1,18})\.txt")


def describe_runs(studio):
    """Returns a description of the `runs` for the page."""
    return {
        "runs": [
            {
                "name": name,
                "path": run.path,
                "problem": run.problem_name,
                "parses": studio.parses[number],
                "step": step,
                # The trainer may have deleted the one that the page opened.
                "steps": sorted({*run.checkpoints.steps, step} - {None}),
                "languages": find_languages(run) or [],
                "beam_size": run.hparams.beam_size,
                "alpha": run.hparams.alpha,
                "num_layers": run.hparams.num_layers,
                "num_heads": run.hparams.num_heads,
                "is_open": studio.is_open(number),
                "has_memory": studio.get_memory(number) is not None,
            }
            for number, (run, step, name) in enumerate(
                zip(studio.runs, studio.steps, name_runs(studio))
            )
        ]
    }


def name_runs(studio):
    """Returns short names of the runs, which differ."""
    return shorten_paths([run.path for run in studio.runs])


def show_progress(studio):
    """Returns how many steps of the running request are `done`, and `total`."""
    return {"done": studio.job.done, "total": studio.job.total}


def show_training(studio):
    """Returns the `curves` of each run, and its newest `samples`.

    A curve is a list of [step, value] by the name of a column of `metrics.csv`.
    """
    return {
        "runs": [
            {
                "curves": _read_curves(read_rows(run.file(METRICS_FILE))),
                **_read_samples(run.file("samples")),
            }
            for run in studio.runs
        ]
    }


def _read_curves(rows):
    curves: dict[str, list] = {}
    for row in rows:
        for name, value in row.items():
            is_shown = _SHOWN.fullmatch(name) and value
            if is_shown and math.isfinite(float(value)):
                point = [int(row["step"]), float(value)]
                curves.setdefault(name, []).append(point)
    return {
        # Backwards, so that the newest point is always among them.
        name: points[:: -max(1, math.ceil(len(points) / MAX_POINTS))][::-1]
        for name, points in curves.items()
    }


def _read_samples(directory):
    """Returns the newest samples as they were written, and their step."""
    names = os.listdir(directory) if os.path.isdir(directory) else []
    steps = [int(match[1]) for match in map(_SAMPLES.fullmatch, names) if match]
    if not steps:
        return {"samples": [], "samples_step": None}
    path = os.path.join(directory, f"step-{max(steps)}.txt")
    parts = read_text(path, remedy="Delete it.").strip("\n").split("\n\n")
    samples = [[line[12:] for line in part.split("\n")] for part in parts]
    return {"samples": samples, "samples_step": max(steps)}
