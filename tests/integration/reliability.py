"""Kills, stops and resumes trainings, and counts the failures."""

import dataclasses
import glob
import random
import signal
import time

from runs import differences
from runs import metrics
from runs import start_trainer
from runs import train

from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.backends.tensorflow_backend import (
    TensorflowBackend,
)

EVAL_FREQUENCY = 25
# Keeps all evaluated checkpoints and saves after every update.
SAVE_ALWAYS = ("--keep_checkpoint_max=100000", "--save_checkpoints_secs=0")
WATCH_SECONDS = 0.002


@dataclasses.dataclass
class Kills:
    """The results of SIGKILLs."""

    kills: int = 0
    while_saving: int = 0  # kills while a checkpoint was being written
    unusable: int = 0  # directories that did not load afterwards
    lost: int = 0  # complete checkpoints that disappeared
    not_resumed: int = 0  # restarts that missed the newest checkpoint
    updates: int = 0  # updates of the finished run
    differences: tuple = ()  # names that differ from an uninterrupted run


@dataclasses.dataclass
class Resumes:
    """The results of resuming from checkpoints at random steps."""

    resumes: int = 0
    identical: int = 0  # bit for bit, in runs that equal an uninterrupted one


@dataclasses.dataclass
class Stops:
    """The results of SIGTERM and SIGINT."""

    stops: int = 0
    clean: int = 0  # right status, and a checkpoint at the reported step
    longest_seconds: float = 0.0  # from the signal to the end of the process


def kill_often(run, expected, num_kills, seed=0):
    """Kills the trainer of a run repeatedly, then lets it finish.

    Args:
        run: A new run.
        expected: A new run with the same hparams, trained without interruption.
        num_kills: Number of SIGKILLs.
        seed: Seed of the random moments. Defaults to 0.

    Returns:
        A `Kills`.
    """
    generator = random.Random(seed)
    report = Kills()
    while report.kills < num_kills:
        before = run.checkpoints.steps
        process = start_trainer(
            f"--output_dir={run.path}",
            "--train_steps=1000000",
            f"--eval_frequency={EVAL_FREQUENCY}",
            *SAVE_ALWAYS,
        )
        # Of five kills, one comes during the start, two come at any moment
        # after the first checkpoint, and two while another is being written.
        moment = generator.random()
        if moment < 0.2:
            seen = _watch(run, generator.uniform(0, 8.0))
        else:
            _wait_for_a_checkpoint(process, run, before)
            seen = _watch(run, generator.uniform(0, 1.0))
            if moment > 0.6:
                _wait_for_a_save(process, run)
        process.kill()
        messages = process.communicate()[1]
        report.kills += 1
        report.while_saving += len(_half_written(run))
        report.unusable += not _is_usable(run.path)
        report.lost += len(_lost(seen, run.checkpoints.steps))
        reports_step = "Resuming from step " in messages
        is_newest = not before or f"from step {before[-1]}." in messages
        report.not_resumed += reports_step and not is_newest
    options = {"eval_frequency": EVAL_FREQUENCY}
    report.updates = run.checkpoints.steps[-1] + 10
    train(run, report.updates, **options)
    train(expected, report.updates, **options)
    report.differences = tuple(differences(run, expected))
    return report


def resume_often(make_run, num_resumes, all_changes, seed=0):
    """Interrupts each run twice, at random steps, and lets it finish.

    Args:
        make_run: Function of changed hparams that makes a run.
        num_resumes: Number of resumes, an even number.
        all_changes: List of dictionaries of changed hparams, used in turn.
        seed: Seed of the random steps. Defaults to 0.

    Returns:
        A `Resumes`.
    """
    generator = random.Random(seed)
    report = Resumes()
    steps, options = 120, {"eval_frequency": 50}
    wholes = {}
    for number in range(num_resumes // 2):
        turn = number % len(all_changes)
        if turn not in wholes:
            wholes[turn] = make_run(**all_changes[turn])
            train(wholes[turn], steps, **options)
        run = make_run(**all_changes[turn])
        done = 0
        for stop in sorted(generator.sample(range(1, steps), 2)):
            backend = SignallingEngine(run.hparams, stop - done)
            trainer, _ = train(run, steps, backend, **options)
            done = run.checkpoints.steps[-1]
            if not trainer.step == done == stop:
                raise AssertionError(f"Stopped at {trainer.step}, not {stop}.")
        train(run, steps, **options)
        report.resumes += 2
        report.identical += 0 if differences(run, wholes[turn]) else 2
    return report


def stop_often(run, num_stops, numbers, seed=0):
    """Stops the trainer of a run with signals, and resumes it each time.

    Args:
        run: A new run.
        num_stops: Number of signals to send.
        numbers: List of the signals, used in turn.
        seed: Seed of the random moments. Defaults to 0.

    Returns:
        A `Stops`.
    """
    generator = random.Random(seed)
    report = Stops()
    for turn in range(num_stops):
        process = start_trainer(
            f"--output_dir={run.path}",
            "--train_steps=1000000",
            f"--eval_frequency={EVAL_FREQUENCY}",
        )
        for line in process.stderr:
            if line.startswith("step "):
                break
        time.sleep(generator.uniform(0, 1.0))
        number = numbers[turn % len(numbers)]
        begin = time.monotonic()
        process.send_signal(number)
        out, _ = process.communicate(timeout=300)
        seconds = time.monotonic() - begin
        report.stops += 1
        report.longest_seconds = max(seconds, report.longest_seconds)
        newest = run.checkpoints.steps[-1]
        report.clean += (
            process.returncode == 128 + number
            and f'{{"step": {newest}' in out
            and _is_usable(run.path)
        )
    return report


class SignallingEngine(TensorflowBackend):
    """Sends SIGTERM to its own process in the middle of an update."""

    def __init__(self, hparams, number):
        super().__init__(hparams)
        self.updates_left = number

    def update(self, batch, *signals):
        self.updates_left -= 1
        if self.updates_left == 0:
            signal.raise_signal(signal.SIGTERM)
        return super().update(batch, *signals)


def _wait_for_a_checkpoint(process, run, before):
    while run.checkpoints.steps == before:
        if process.poll() is not None:
            raise AssertionError(process.stderr.read())
        time.sleep(WATCH_SECONDS)


def _wait_for_a_save(process, run):
    while not _half_written(run) and process.poll() is None:
        pass  # a save takes only a few milliseconds


def _half_written(run):
    return glob.glob(run.file("checkpoints", "*.npz.kt-incomplete"))


def _watch(run, seconds):
    """Returns the steps of all checkpoints that are complete at some time."""
    seen = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        seen.update(run.checkpoints.steps)
        time.sleep(WATCH_SECONDS)
    return seen | set(run.checkpoints.steps)


def _lost(seen, steps):
    """Returns the missing steps, except for those between evaluations."""
    newest = max(seen, default=0)
    return [
        step
        for step in seen
        if step not in steps
        and (step % EVAL_FREQUENCY == 0 or max(steps, default=0) < newest)
    ]


def _is_usable(path):
    """Returns whether everything in the directory of a run can be read."""
    try:
        run = RunDirectory(path)
        checkpoints = Checkpoints(run.file("checkpoints"))
        for step in checkpoints.steps[-3:]:
            if checkpoints.load(step)["progress/step"] != step:
                return False
        return len(metrics(run)) >= 0 and len(checkpoints.evaluations) >= 0
    except (OSError, ValueError):
        return False
