"""The processes that train and evaluate the rows of a sweep."""

import os
import signal
import subprocess
import sys

from keras_transformer.sweep.results import is_trained
from keras_transformer.sweep.results import read_result

LOG_FILE = "log.txt"  # what the processes of a row print


def run_row(row, path, splits, flags=(), trainer_flags=()):
    """Trains and evaluates a row, as far as this is not done yet.

    kt-trainer and kt-evaluate do the work in processes of their own, which can
    crash or run out of memory without harm to the sweep. A row that was
    interrupted continues from its newest checkpoint. `flags` are for both
    commands. Returns None, or a line on why the row failed.
    """
    os.makedirs(path, exist_ok=True)
    failure = None
    # The data may have moved since the run recorded its place.
    flags = [f"--data_dir={row.variant.problem.data_dir}", *flags]
    if not is_trained(row, read_result(row, path)):
        trainer_flags = [*_recipe_flags(row), *flags, *trainer_flags]
        failure = _run("trainer", path, trainer_flags)
    for split in splits:
        if not failure and split not in read_result(row, path).scores:
            failure = _run("evaluate", path, [f"--split={split}", *flags])
    return failure


def is_finished(row, path, splits):
    """Returns whether a row needs neither training nor evaluation."""
    result = read_result(row, path)
    return is_trained(row, result) and set(splits) <= result.scores.keys()


def _recipe_flags(row):
    return [
        f"--problem={row.variant.problem.name}",
        f"--hparams_set={row.variant.hparams_set}",
        f"--hparams={row.overrides}",
        f"--random_seed={row.seed}",
        # The newest checkpoint is evaluated; a full sweep has many rows.
        "--keep_checkpoint_max=1",
    ]


def _run(command, path, flags):
    """Runs a command on a run; returns None, or a line on why it failed."""
    module = f"keras_transformer.bin.{command}"
    log = os.path.join(path, LOG_FILE)
    with open(log, "ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", module, f"--output_dir={path}", *flags],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )
        status = _wait(process)
    if status == 0:
        return None
    reason = f"ended with status {status}"
    if status < 0:
        reason = f"was ended by signal {-status}"
    return f"kt-{command} {reason}. {_read_last_line(log)}"


def _wait(process):
    try:
        return process.wait()
    except KeyboardInterrupt as error:
        # Control-C on a terminal also reaches the process itself, to which a
        # second signal while it trains and saves does no harm.
        process.send_signal(signal.SIGINT)
        process.wait()
        error.add_note("The same command continues the sweep.")
        raise


def _read_last_line(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line for line in map(str.strip, file) if line]
    return lines[-1] if lines else ""
