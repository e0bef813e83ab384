"""Checkpoints: one `.npz` file a step, whole or not there at all."""

import os
import re

import numpy as np

from keras_transformer.files import written_aside
from keras_transformer.runs import retention

FILE_NAME = re.compile(r"ckpt-(\d+)\.npz")
EVALUATIONS = "evaluations.json"


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
        return retention.read_evaluations(self._record, self.steps)

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

    def record(self, *evaluations):
        """Writes down evaluations, each in place of an earlier one of its step.

        From the first call on, only what is written down counts as evaluated.

        Args:
            *evaluations: `Evaluation`s.
        """
        known = {e.step: e for e in self.evaluations}
        known.update((e.step, e) for e in evaluations)
        os.makedirs(self.directory, exist_ok=True)
        retention.write_evaluations(
            self._record, [known[step] for step in sorted(known)]
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
                if name.endswith(".incomplete"):
                    os.remove(os.path.join(self.directory, name))

    @property
    def _record(self):
        return os.path.join(self.directory, EVALUATIONS)

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


def weights(arrays):
    """Returns the weights in a checkpoint that a model is used with.

    Args:
        arrays: dictionary of name to array.

    Returns:
        dictionary of the names `model/...` to arrays: where the checkpoint
        holds a moving average, `average/...`, that in place of the weights
        which the training goes on from.
    """
    found = {}
    for name, array in arrays.items():
        kind, _, place = name.partition("/")
        if kind == "model":
            found[name] = arrays.get(f"average/{place}", array)
    return found


def average(checkpoints, num_last):
    """Averages the model's weights over the last checkpoints.

    Section 6.1 of Vaswani et al. (2017): the last 5 for the base, the last 20
    for the big model. The mean is taken in float64. Optimizer state, random
    state and progress are left out: nothing can be trained further from an
    average.

    Args:
        checkpoints: a `Checkpoints`.
        num_last: how many of the newest to average.

    Returns:
        the steps that were averaged, and a dictionary of name to array.

    Raises:
        ValueError: if there are fewer checkpoints, or two do not hold the same
            weights.
    """
    steps = retention.newest_evaluated(
        checkpoints.steps, checkpoints.evaluations
    )
    if not 1 <= num_last <= len(steps):
        raise ValueError(
            "`num_last_checkpoints` must be from 1 to the number of newest "
            "checkpoints made at evaluations. Received: num_last_checkpoints="
            f"{num_last}, and {len(steps)} checkpoints in "
            f"{checkpoints.directory}. Lower the number, or train on with a "
            "greater --keep_checkpoint_max."
        )
    steps = steps[-num_last:]
    sums = weights(checkpoints.load(steps[0]))
    dtypes = {name: array.dtype for name, array in sums.items()}
    sums = {name: array.astype("float64") for name, array in sums.items()}
    for step in steps[1:]:
        arrays = weights(checkpoints.load(step))
        _check_same(sums, arrays, checkpoints.path(step))
        for name, array in arrays.items():
            sums[name] += array
    means = {
        name: (array / len(steps)).astype(dtypes[name])
        for name, array in sums.items()
    }
    return steps, means


def _check_same(expected, arrays, path):
    for name in sorted(expected.keys() | arrays.keys()):
        shapes = [
            held[name].shape if name in held else "absent"
            for held in (expected, arrays)
        ]
        if shapes[0] != shapes[1]:
            raise ValueError(
                "Averaged checkpoints must hold the same weights. Received: "
                f"{name} with shape {shapes[1]} in {path}, but {shapes[0]} in "
                "the one before. Average checkpoints of one run only."
            )
