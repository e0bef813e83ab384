"""Writes checkpoints while the training goes on."""

import concurrent.futures
import math

from keras_transformer.runs.retention import Evaluation


class CheckpointWriter:
    """Writes a run's checkpoints in the background, and deletes old ones.

    The caller takes a snapshot of the state (`variables.read`), which is all
    that training waits for; a thread of its own writes it, one checkpoint at a
    time. What the thread fails at is raised in the caller's thread, at the next
    call. A checkpoint is complete, and those it replaces are deleted, at the
    latest when `wait` returns; a process that ends by itself completes it too.

    Args:
        checkpoints: the run's `Checkpoints`. What a killed process left
            half-written is removed from their record of evaluations.
        keep_max: how many of the newest evaluated checkpoints to keep.
        keep_every_n_hours: training time between checkpoints that are kept for
            good; 0 keeps none. See `kept_steps`.

    Example:

    >>> import tempfile
    >>> import numpy as np
    >>> from keras_transformer.runs.checkpoints import Checkpoints
    >>> checkpoints = Checkpoints(tempfile.mkdtemp())
    >>> writer = CheckpointWriter(checkpoints)
    >>> writer.save(7, {"model/bias": np.zeros(3)}, is_evaluated=True)
    >>> writer.score(7, 28.4)
    >>> checkpoints.best_step
    7
    """

    def __init__(self, checkpoints, keep_max=20, keep_every_n_hours=0.0):
        self.checkpoints = checkpoints
        self.keep_max = keep_max
        self.keep_every_n_hours = keep_every_n_hours
        checkpoints.add_evaluations()
        self._executor = concurrent.futures.ThreadPoolExecutor(
            max_workers=1, thread_name_prefix="checkpoint_writer"
        )
        self._under_way = None

    def save(self, step, arrays, is_evaluated=False, seconds=0.0):
        """Begins to write a checkpoint, after the one before is complete.

        Args:
            step: number of updates done.
            arrays: dictionary of name to NumPy array, which nobody changes any
                more.
            is_evaluated: whether this one is made at an evaluation, or else is
                only there to resume from until the next one.
            seconds: training time so far, for `keep_every_n_hours`.

        Raises:
            OSError: if the checkpoint before could not be written; it names
                the file and the reason.
        """
        self.wait()
        evaluations = [Evaluation(step, seconds)] if is_evaluated else []
        self._under_way = self._executor.submit(
            self._write, step, arrays, evaluations
        )

    def score(self, step, score):
        """Tells how good an evaluated checkpoint is, once that is known.

        Args:
            step: a step that was saved as evaluated.
            score: on dev, greater is better; one that is not finite does not
                count.
        """
        self.wait()
        by_step = {e.step: e for e in self.checkpoints.evaluations}
        score = float(score) if math.isfinite(score) else None
        self.checkpoints.add_evaluations(by_step[step]._replace(score=score))
        self._remove_outdated()

    def wait(self):
        """Returns once nothing is being written; raises as `save` does."""
        under_way, self._under_way = self._under_way, None
        if under_way:
            under_way.result()

    def _write(self, step, arrays, evaluations):
        # The record comes first: killed in between, it tells of a checkpoint
        # that is not there, which readers leave out.
        self.checkpoints.add_evaluations(*evaluations)
        self.checkpoints.save(step, arrays)
        self._remove_outdated()

    def _remove_outdated(self):
        self.checkpoints.remove_outdated(self.keep_max, self.keep_every_n_hours)
