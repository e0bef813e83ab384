"""Checkpoints: one `.npz` file a step, whole or not there at all."""

import os
import re

import numpy as np

from keras_transformer.files import written_aside

FILE_NAME = re.compile(r"ckpt-(\d+)\.npz")


class Checkpoints:
    """The checkpoints in a directory, by step.

    A checkpoint is a flat dictionary of arrays under names such as
    `model/encoder/layer_0/self_attention/query`, in NumPy's own format: every
    backend reads it, and nothing in it can run code. It is written aside and
    renamed, so that a process killed at any moment leaves the earlier ones
    whole.

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

    def save(self, step, arrays, keep=None):
        """Writes a checkpoint, then deletes all but the newest `keep`.

        Args:
            step: number of updates done.
            arrays: dictionary of name to NumPy array.
            keep: how many checkpoints to keep; None keeps all.

        Returns:
            the file's path.
        """
        os.makedirs(self.directory, exist_ok=True)
        path = self.path(step)
        with written_aside(path, "wb") as file:
            np.savez(file, **arrays)
        for old in self.steps[: -keep if keep else 0]:
            os.remove(self.path(old))
        return path

    def load(self, step=None):
        """Reads the checkpoint of `step`, by default the newest.

        Returns:
            dictionary of name to NumPy array.

        Raises:
            ValueError: if there is no such checkpoint.
        """
        steps = self.steps
        if not steps or (step is not None and step not in steps):
            wanted = "a checkpoint" if step is None else f"step {step}"
            raise ValueError(
                f"The run's directory must hold {wanted}. Received: "
                f"{self.directory} with steps {steps}. Train with kt-trainer "
                "first, or name another directory."
            )
        path = self.path(steps[-1] if step is None else step)
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
    steps = checkpoints.steps[-num_last:]
    if num_last < 1 or len(steps) < num_last:
        raise ValueError(
            "`num_last_checkpoints` must be from 1 to the number of "
            f"checkpoints. Received: num_last_checkpoints={num_last}, and "
            f"{len(steps)} checkpoints in {checkpoints.directory}. Lower the "
            "number, or train on with a greater --keep_checkpoint_max."
        )
    sums = _model_arrays(checkpoints, steps[0])
    dtypes = {name: array.dtype for name, array in sums.items()}
    sums = {name: array.astype("float64") for name, array in sums.items()}
    for step in steps[1:]:
        arrays = _model_arrays(checkpoints, step)
        _check_same(sums, arrays, checkpoints.path(step))
        for name, array in arrays.items():
            sums[name] += array
    means = {
        name: (array / len(steps)).astype(dtypes[name])
        for name, array in sums.items()
    }
    return steps, means


def _model_arrays(checkpoints, step):
    arrays = checkpoints.load(step)
    return {n: array for n, array in arrays.items() if n.startswith("model/")}


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
