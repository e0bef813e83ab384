"""Kills, stops and resumes trainings, and counts what went wrong."""

import dataclasses
import glob
import random
import signal
import time

from runs import differences
from runs import metrics
from runs import start_trainer
from runs import train

from keras_transformer.engines.tensorflow_engine import TensorflowEngine
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.run_directory import RunDirectory

EVAL_FREQUENCY = 25
# Keeps all evaluated checkpoints, and saves after every update.
SAVE_ALWAYS = ("--keep_checkpoint_max=100000", "--save_checkpoints_secs=0")
WATCH_SECONDS = 0.002


@dataclasses.dataclass
class Kills:
    """What came of SIGKILLs."""

    kills: int = 0
    while_saving: int = 0  # of these, a checkpoint was being written
    unusable: int = 0  # directories that did not load afterwards
    lost: int = 0  # complete checkpoints that were gone
    not_resumed: int = 0  # restarts that did not begin at the newest one
    updates: int = 0  # in all, at the end
    differences: tuple = ()  # from a run that was never interrupted


@dataclasses.dataclass
class Resumes:
    """What came of going on from checkpoints at random steps."""

    resumes: int = 0
    identical: int = 0  # in runs that equal one never interrupted, bit for bit


@dataclasses.dataclass
class Stops:
    """What came of SIGTERM and SIGINT."""

    stops: int = 0
    clean: int = 0  # the right status, and a checkpoint at the step reported
    longest_seconds: float = 0.0  # from the signal to the end of the process


def kill_often(run, expected, num_kills, seed=0):
    """Kills the trainer of a run again and again, then lets it end.

    Args:
        run, expected: two new runs, alike; the second is trained in one go.
        num_kills: number of SIGKILLs.
        seed: of the random moments.

    Returns:
        a `Kills`.
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
        # One of five while it starts, two at any moment after its first
        # checkpoint, two as soon as another one is seen to be written.
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
        says_where = "Resuming from step " in messages
        is_right = not before or f"from step {before[-1]}." in messages
        report.not_resumed += says_where and not is_right
    options = {"eval_frequency": EVAL_FREQUENCY}
    report.updates = run.checkpoints.steps[-1] + 10
    train(run, report.updates, **options)
    train(expected, report.updates, **options)
    report.differences = tuple(differences(run, expected))
    return report


def resume_often(make_run, num_resumes, all_changes, seed=0):
    """Interrupts each run twice, at random steps, and lets it end.

    Args:
        make_run: function of changed hparams that makes a run.
        num_resumes: how often to go on, an even number.
        all_changes: list of dictionaries of changed hparams, taken in turn.
        seed: of the random steps.

    Returns:
        a `Resumes`.
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
            engine = SignallingEngine(run.hparams, stop - done)
            trainer, _ = train(run, steps, engine, **options)
            done = run.checkpoints.steps[-1]
            if not trainer.step == done == stop:
                raise AssertionError(f"Stopped at {trainer.step}, not {stop}.")
        train(run, steps, **options)
        report.resumes += 2
        report.identical += 0 if differences(run, wholes[turn]) else 2
    return report


def stop_often(run, num_stops, numbers, seed=0):
    """Stops the trainer of a run with signals, each time going on with it.

    Args:
        run: a new run.
        num_stops: how many signals to send.
        numbers: the signals, taken in turn.
        seed: of the random moments.

    Returns:
        a `Stops`.
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


class SignallingEngine(TensorflowEngine):
    """Sends SIGTERM to its own process in the middle of an update."""

    def __init__(self, hparams, number):
        super().__init__(hparams)
        self.updates_left = number

    def update(self, batch, stop=False):
        self.updates_left -= 1
        if self.updates_left == 0:
            signal.raise_signal(signal.SIGTERM)
        return super().update(batch, stop)


def _wait_for_a_checkpoint(process, run, before):
    while run.checkpoints.steps == before:
        if process.poll() is not None:
            raise AssertionError(process.stderr.read())
        time.sleep(WATCH_SECONDS)


def _wait_for_a_save(process, run):
    while not _half_written(run) and process.poll() is None:
        pass  # it takes but a few milliseconds


def _half_written(run):
    return glob.glob(run.file("checkpoints", "*.npz.incomplete"))


def _watch(run, seconds):
    """Steps of all checkpoints that are complete at some moment."""
    seen = set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        seen.update(run.checkpoints.steps)
        time.sleep(WATCH_SECONDS)
    return seen | set(run.checkpoints.steps)


def _lost(seen, steps):
    """Steps that should be there; those between evaluations need not."""
    newest = max(seen, default=0)
    return [
        step
        for step in seen
        if step not in steps
        and (step % EVAL_FREQUENCY == 0 or max(steps, default=0) < newest)
    ]


def _is_usable(path):
    """Whether all that a run's directory holds can be read."""
    try:
        run = RunDirectory(path)
        checkpoints = Checkpoints(run.file("checkpoints"))
        for step in checkpoints.steps[-3:]:
            if checkpoints.load(step)["progress/step"] != step:
                return False
        return len(metrics(run)) >= 0 and len(checkpoints.evaluations) >= 0
    except (OSError, ValueError):
        return False
