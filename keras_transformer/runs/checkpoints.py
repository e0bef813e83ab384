"""The checkpoints of a run: one complete `.npz` file for each step."""

import concurrent.futures
import contextlib
import glob
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import typing

from keras_transformer.data.vocabulary.subwords import VOCABULARY_FILE
from keras_transformer.errors import UserError
from keras_transformer.files import array_files
from keras_transformer.files import directories
from keras_transformer.files import writing
from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import file_error
from keras_transformer.files.reading import read_record
from keras_transformer.runs.weights import LORA_ALPHA

# The names that `Checkpoints.path` gives. A file with another name, such as
# `ckpt-007.npz`, is not a checkpoint.
FILE_NAME = re.compile(r"ckpt-(0|[1-9][0-9]{0,17})\.npz")
CONVERTED_NAME = re.compile(
    r"ckpt-(?P<step>[0-9]{1,18})\.converted-(?P<key>[0-9a-f]{16})"
    rf"(?P<incomplete>{re.escape(writing.INCOMPLETE)})?"
)
BASE_FILE = "base.npz"  # the weights that a run with adapters does not change
_EVALUATION = {"step": WHOLE, "seconds?": float, "score?": (float, None)}
_EVALUATIONS_REMEDY = (
    "Delete it. Every checkpoint then counts as made at an evaluation, and "
    "none as the best."
)
_TIMED_REMEDY = "Delete it. No checkpoint then counts as a timed one."


class Evaluation(typing.NamedTuple):
    """The record of a checkpoint that was made at an evaluation."""

    step: int  # number of updates done
    seconds: float = 0.0  # training time until then
    score: float | None = None  # on dev; greater is better, None is unknown


class Checkpoints:
    """Reads, writes and deletes the checkpoints in a directory.

    A checkpoint is a flat dictionary of arrays under names such as
    `model/encoder/layer_0/self_attention/query`, in the `.npz` format of NumPy.
    Every backend reads it, and no code in it is ever executed. Each file is
    complete, even if a process is killed while it writes. `evaluations.json`
    lists the checkpoints that were made at an evaluation, with the time and the
    score of each. `timed.json` lists those that were made at intervals of
    training time. The first save creates the directory.

    >>> import tempfile
    >>> checkpoints = Checkpoints(tempfile.mkdtemp())
    >>> path = checkpoints.save(7, {"model/bias": [0.0, 0.0, 0.0]})
    >>> checkpoints.steps, checkpoints.load(7)["model/bias"].shape
    ([7], (3,))
    """

    def __init__(self, directory):
        self.directory = directory
        self._evaluations_path = os.path.join(directory, "evaluations.json")
        self._timed_path = os.path.join(directory, "timed.json")

    @property
    def steps(self):
        """Steps of all checkpoints, in ascending order."""
        if not os.path.isdir(self.directory):
            return []
        # `fullmatch` skips incomplete files, whose names have a suffix.
        matches = map(FILE_NAME.fullmatch, os.listdir(self.directory))
        return sorted(int(match[1]) for match in matches if match)

    def path(self, step):
        """Returns the path of the checkpoint of a step."""
        return os.path.join(self.directory, f"ckpt-{step}.npz")

    def converted_path(self, step, key):
        """Returns the path of a converted checkpoint, a directory beside it."""
        return os.path.join(self.directory, f"ckpt-{step}.converted-{key}")

    @property
    def evaluations(self):
        """All `Evaluation`s, including those of deleted checkpoints.

        Without their file every checkpoint counts as evaluated, because version
        0.1 wrote no such file. Evaluations newer than all checkpoints are
        ignored: a killed process did not complete their checkpoints.
        """
        entries = self._read_entries(
            self._evaluations_path, _EVALUATION, _EVALUATIONS_REMEDY
        )
        if entries is None:
            return [Evaluation(step) for step in self.steps]
        return [
            Evaluation(e["step"], e.get("seconds", 0.0), e.get("score"))
            for e in entries
        ]

    @property
    def timed_steps(self):
        """Steps of all timed checkpoints, including deleted ones."""
        return self._read_entries(self._timed_path, WHOLE, _TIMED_REMEDY) or []

    def _read_entries(self, path, shape, remedy):
        """Reads records of steps up to the newest checkpoint, or None."""
        # Read anew each time, since a trainer may be adding to the file.
        newest = max(self.steps, default=-1)
        # `exists` would overlook a link to nothing.
        if not os.path.lexists(path):
            return None
        entries = read_record(path, [shape], remedy)
        by_step = {e if shape is WHOLE else e["step"]: e for e in entries}
        if len(by_step) < len(entries) or list(by_step) != sorted(by_step):
            raise file_error(path, "where the steps do not ascend", remedy)
        return [by_step[step] for step in by_step if step <= newest]

    @property
    def best_step(self):
        """Step of the checkpoint with the best score on dev, or None."""
        return find_best_step(self.steps, self.evaluations)

    def save(self, step, arrays):
        """Writes a checkpoint to the disk completely; returns its path."""
        return self._write(self.path(step), arrays)

    def add_evaluations(self, *evaluations):
        """Records evaluations; each replaces an earlier one of its step.

        From the first call on, only recorded evaluations count.
        """
        # Reading drops those after all checkpoints: a resumed run repeats them.
        by_step = {e.step: e for e in self.evaluations}
        by_step.update((e.step, e) for e in evaluations)
        os.makedirs(self.directory, exist_ok=True)
        # One line for each evaluation, so that people can compare them.
        lines = ",\n".join(
            json.dumps(by_step[step]._asdict()) for step in sorted(by_step)
        )
        writing.write_file(self._evaluations_path, f"[\n{lines}\n]\n")

    def add_timed_steps(self, *steps):
        """Records checkpoints as made at intervals of training time."""
        # A run without any needs no file.
        if steps or os.path.lexists(self._timed_path):
            os.makedirs(self.directory, exist_ok=True)
            timed_steps = sorted({*self.timed_steps, *steps})
            writing.write_file(self._timed_path, f"{json.dumps(timed_steps)}\n")

    def remove_outdated(self, keep_max=None, keep_every_n_hours=0.0):
        """Deletes all checkpoints except those that `select_kept` chooses."""
        steps, limits = self.steps, (keep_max, keep_every_n_hours)
        kept = select_kept(steps, self.evaluations, *limits, self.timed_steps)
        for step in set(steps) - set(kept):
            os.remove(self.path(step))
        self.remove_converted(lambda step, key: step not in kept)

    def remove_converted(self, is_outdated):
        """Deletes converted checkpoints if `is_outdated(step, key)` is true.

        A conversion in progress in another process is deleted as well; that
        process then keeps the result for itself.
        """
        for name in glob.glob("ckpt-*", root_dir=self.directory):
            match = CONVERTED_NAME.fullmatch(name)
            if not match or not is_outdated(int(match["step"]), match["key"]):
                continue
            path = os.path.join(self.directory, name)
            if match["incomplete"]:
                with contextlib.suppress(OSError, UserError):
                    directories.finish_replacing(path)
                    os.rmdir(path)
            # Only a model that was converted here holds this file.
            elif os.path.isfile(os.path.join(path, VOCABULARY_FILE)):
                shutil.rmtree(path, ignore_errors=True)

    def load(self, step=None, kinds=None):
        """Reads the arrays of a checkpoint by name; see `find` for the step.

        `kinds` are beginnings of names, such as `{"model"}`; None reads all.
        """
        return self._read(step, array_files.read_arrays, kinds)

    def headers(self, step=None):
        """Returns the `Header` of each array by name, reading no array."""
        return self._read(step, array_files.read_headers)

    def checksums(self, step=None):
        """Returns a checksum of each array by name, reading no array."""
        return self._read(step, array_files.read_checksums)

    def save_base(self, arrays):
        """Writes the weights that do not change in a run with adapters."""
        self._write(os.path.join(self.directory, BASE_FILE), arrays)

    def _write(self, path, arrays):
        os.makedirs(self.directory, exist_ok=True)
        array_files.write_arrays(path, arrays)
        return path

    def _read(self, step, read, *options):
        """Returns what `read` finds in the one or two files of a checkpoint."""
        path = self.path(self.find(step))
        if LORA_ALPHA not in array_files.read_headers(path):
            return read(path, *options)
        # If it is missing, `files.reading` raises the error.
        base = os.path.join(self.directory, BASE_FILE)
        return read(base, *options) | read(path, *options)

    def remove_incomplete(self):
        """Deletes the files that a killed process did not complete."""
        # Only the trainer calls this. For any other process, an incomplete file
        # may be one that the trainer is writing at this moment.
        for path in pathlib.Path(self.directory).glob(f"*{writing.INCOMPLETE}"):
            if path.is_file():
                path.unlink()

    def find(self, step=None):
        """Returns the step of an existing checkpoint.

        "best" is the one with the best score on dev, and None the newest.
        """
        steps = self.steps
        if step is None:
            number, kind = max(steps, default=None), "checkpoint"
        elif step == "best":
            number, kind = self.best_step, "checkpoint with a score on dev"
        else:
            number, kind = step, f"checkpoint of step {step}"
        if number not in steps:
            listed = ", ".join(map(str, steps))
            has = f"It has the steps {listed}." if steps else "It is empty."
            raise UserError(
                f"{self.directory} holds no {kind}. {has} Train with "
                "kt-trainer first, or name another directory."
            )
        return number


class CheckpointWriter:
    """Writes the checkpoints of a run in a thread, and deletes old ones.

    The training waits only while the caller copies its state
    (`read_variables`). A thread then writes the copy, one checkpoint at a time.
    Its errors are raised at the caller's next call. When `wait` returns, the
    checkpoint is complete and those it replaces are deleted; see `select_kept`.
    A process that ends normally also completes its last checkpoint. Records of
    checkpoints that a killed process did not complete are removed.

    >>> import tempfile
    >>> checkpoints = Checkpoints(tempfile.mkdtemp())
    >>> writer = CheckpointWriter(checkpoints)
    >>> writer.save(7, {"model/bias": [0.0, 0.0, 0.0]}, is_evaluated=True)
    >>> writer.score(7, 28.4)
    >>> checkpoints.best_step
    7
    """

    def __init__(self, checkpoints, keep_max=20, keep_every_n_hours=0.0):
        self.checkpoints = checkpoints
        self.keep_max = keep_max
        self.keep_every_n_hours = keep_every_n_hours
        # Creates the file of evaluations for a new run.
        checkpoints.add_evaluations()
        checkpoints.add_timed_steps()
        # With one thread, checkpoints become complete in their order.
        self._executor = concurrent.futures.ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="checkpoint_writer"
        )
        self._unfinished_save = None

    def save(
        self, step, arrays, is_evaluated=False, is_timed=False, seconds=0.0
    ):
        """Begins to write a checkpoint once the previous one is complete.

        The arrays must not change afterwards. A checkpoint that is made neither
        at an evaluation nor at an interval of training time only serves to
        resume from. `seconds` of training so far are for `keep_every_n_hours`.
        """
        # At most one copy of the state is in memory at any time.
        self.wait()
        evaluations = [Evaluation(step, seconds)] if is_evaluated else []
        timed_steps = [step] if is_timed else []
        self._unfinished_save = self._executor.submit(
            self._write, step, arrays, evaluations, timed_steps
        )

    def score(self, step, score):
        """Records the score on dev of a checkpoint that was saved as evaluated.

        Greater is better. A score that is not finite is recorded as unknown.
        """
        # The thread may still be about to write this evaluation.
        self.wait()
        by_step = {e.step: e for e in self.checkpoints.evaluations}
        # NaN is not valid JSON, and would compare as neither better nor worse.
        score = float(score) if math.isfinite(score) else None
        # The user may have deleted the checkpoint during the evaluation.
        evaluation = by_step.get(step, Evaluation(step))
        self.checkpoints.add_evaluations(evaluation._replace(score=score))
        self._remove_outdated()

    def wait(self):
        """Waits for the save in progress, and raises its errors as `save`."""
        # Cleared before its result is read, so an error is raised only once.
        save, self._unfinished_save = self._unfinished_save, None
        if save:
            save.result()

    def _write(self, step, arrays, evaluations, timed_steps):
        # Readers ignore the record of a checkpoint that does not exist. A
        # checkpoint without its record would be deleted as an intermediate
        # one, so the records are written first. Old checkpoints go last, when
        # the new one is safely on the disk.
        self.checkpoints.add_evaluations(*evaluations)
        self.checkpoints.add_timed_steps(*timed_steps)
        self.checkpoints.save(step, arrays)
        self._remove_outdated()

    def _remove_outdated(self):
        self.checkpoints.remove_outdated(self.keep_max, self.keep_every_n_hours)


def select_kept(
    steps, evaluations, keep_max=None, keep_every_n_hours=0.0, timed_steps=()
):
    """Selects the checkpoints to keep, of those with the ascending `steps`.

    The rule keeps the newest checkpoint, the newest `keep_max` (or all) that
    were made at an evaluation, the newest `keep_max` timed ones, the one with
    the best score, and the first one evaluated in every period of
    `keep_every_n_hours` of training. Any other checkpoint only serves to resume
    from, so it goes as soon as there is a newer one. The evaluations and timed
    steps ascend and include deleted checkpoints.

    >>> evaluations = [Evaluation(10, score=3.0), Evaluation(20, score=2.0)]
    >>> select_kept([10, 15, 20, 25], evaluations, keep_max=1)
    [10, 20, 25]
    """
    kept = set(steps[-1:])
    # Some of these checkpoints may be gone; the last line sorts them out.
    newest = slice(-keep_max if keep_max else None, None)
    kept.update(evaluation.step for evaluation in evaluations[newest])
    kept.update(timed_steps[newest])
    kept.add(find_best_step(steps, evaluations))
    if period := 3600 * keep_every_n_hours:
        # In period 0 training has just started, so none is kept from it.
        firsts = {e.seconds // period: e.step for e in reversed(evaluations)}
        kept.update(step for number, step in firsts.items() if number)
    return [step for step in steps if step in kept]


def find_best_step(steps, evaluations):
    """Returns the step among `steps` with the highest score, or None."""
    scored = [e for e in evaluations if e.step in steps and e.score is not None]
    # Among equal scores the earliest wins, so `best` does not move needlessly.
    best = max(scored, key=lambda evaluation: evaluation.score, default=None)
    return best and best.step


def find_newest_without_gap(steps, recorded_steps):
    """Returns the newest of the recorded steps, back to the first gap.

    A gap is a checkpoint that was deleted. A much older one that is kept as the
    best or as an hourly one lies before a gap, so it is not among the last
    checkpoints of the run. Both lists and the result ascend.
    """
    newest_first = reversed(recorded_steps)
    return sorted(itertools.takewhile(steps.__contains__, newest_first))
