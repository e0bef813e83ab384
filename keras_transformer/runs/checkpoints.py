"""Checkpoints: one `.npz` file a step, whole or not there at all."""

import os
import re

import numpy as np

from keras_transformer.files import INCOMPLETE
from keras_transformer.files import written_aside
from keras_transformer.runs import retention

FILE_NAME = re.compile(r"ckpt-(\d+)\.npz")
EVALUATIONS_FILE = "evaluations.json"


class Checkpoints:
    """The checkpoints in a directory, by step.

    A checkpoint is a flat dictionary of arrays under names such as
    `model/encoder/layer_0/self_attention/query`, in NumPy's own format: every
    backend reads it, and nothing in it can run code. It is written aside and
    renamed, so that a process killed at any moment leaves the earlier ones
    whole. Beside them lies `evaluations.json`: which ones were made at an
    evaluation, when, and how well they did.

    Args:
        directory: where the files lie; made at the first save.

    Example:

    >>> import tempfile
    >>> checkpoints = Checkpoints(tempfile.mkdtemp())
    >>> path = checkpoints.save(7, {"model/bias": np.zeros(3)})
    >>> checkpoints.steps, checkpoints.load(7)["model/bias"].shape
    ([7], (3,))
    """

    def __init__(self, directory):
        self.directory = directory

    @property
    def steps(self):
        """Steps of all checkpoints, in ascending order."""
        if not os.path.isdir(self.directory):
            return []
        found = map(FILE_NAME.fullmatch, os.listdir(self.directory))
        return sorted(int(match[1]) for match in found if match)

    def path(self, step):
        """Returns the file of the checkpoint of `step`."""
        return os.path.join(self.directory, f"ckpt-{step}.npz")

    @property
    def evaluations(self):
        """List of `Evaluation`, also of checkpoints that were deleted since."""
        return retention.read_evaluations(self._evaluations_path, self.steps)

    @property
    def best_step(self):
        """Step of the checkpoint with the best score on dev, or None."""
        return retention.best_step(self.steps, self.evaluations)

    def save(self, step, arrays):
        """Writes a checkpoint and waits until it is on the disk.

        Args:
            step: number of updates done.
            arrays: dictionary of name to NumPy array.

        Returns:
            the file's path.

        Raises:
            OSError: if it cannot be written, such as for lack of room. The
                checkpoints before it are whole.
        """
        os.makedirs(self.directory, exist_ok=True)
        path = self.path(step)
        with written_aside(path, "wb") as file:
            np.savez(file, **arrays)
        return path

    def add_evaluations(self, *evaluations):
        """Writes down evaluations, each in place of an earlier one of its step.

        From the first call on, only what is written down counts as evaluated.

        Args:
            *evaluations: `Evaluation`s.
        """
        by_step = {e.step: e for e in self.evaluations}
        by_step.update((e.step, e) for e in evaluations)
        os.makedirs(self.directory, exist_ok=True)
        retention.write_evaluations(
            self._evaluations_path, [by_step[step] for step in sorted(by_step)]
        )

    def remove_outdated(self, keep_max=None, keep_every_n_hours=0.0):
        """Deletes the checkpoints that need not stay, see `kept_steps`."""
        steps = self.steps
        kept = retention.kept_steps(
            steps, self.evaluations, keep_max, keep_every_n_hours
        )
        for step in set(steps) - set(kept):
            os.remove(self.path(step))

    def load(self, step=None):
        """Reads a checkpoint.

        Args:
            step: number of updates done, or "best" for the one with the best
                score on dev; by default the newest.

        Returns:
            dictionary of name to NumPy array.

        Raises:
            ValueError: if there is no such checkpoint.
        """
        path = self.path(self.find(step))
        try:
            with np.load(path, allow_pickle=False) as file:
                return dict(file)
        except Exception as error:  # zipfile and NumPy raise many kinds
            raise ValueError(
                "A checkpoint must be a complete .npz file. Received: "
                f"{path} ({error}). Delete it: the one before will be used."
            ) from error

    def remove_incomplete(self):
        """Deletes what a killed process left half-written."""
        if os.path.isdir(self.directory):
            for name in os.listdir(self.directory):
                if name.endswith(INCOMPLETE):
                    os.remove(os.path.join(self.directory, name))

    @property
    def _evaluations_path(self):
        return os.path.join(self.directory, EVALUATIONS_FILE)

    def find(self, step=None):
        """Returns the step of a checkpoint that is held.

        Args:
            step, and errors: as for `load`.
        """
        steps = self.steps
        found = self.best_step if step == "best" else step
        if step is None and steps:
            found = steps[-1]
        if found not in steps:
            wanted = {
                None: "a checkpoint",
                "best": "a checkpoint with a score on dev",
            }.get(step, f"step {step}")
            raise ValueError(
                f"The run's directory must hold {wanted}. Received: "
                f"{self.directory} with steps {steps}. Train with kt-trainer "
                "first, or name another directory."
            )
        return found
