"""Writing checkpoints in the background while the training continues."""

import concurrent.futures
import math

from keras_transformer.runs.checkpoint_history import Evaluation


class CheckpointWriter:
    """Writes the checkpoints of a run in a thread, and deletes old ones.

    The training waits only while the caller copies its state
    (`variables.read`). A thread then writes the copy, one checkpoint at a time.
    An error in that thread is raised at the caller's next call. When `wait`
    returns, the checkpoint is complete and those it replaces are deleted; see
    `select_kept`. A process that ends normally also completes its last
    checkpoint. Records of checkpoints that a killed process did not complete
    are removed.

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
        self.checkpoints.add_evaluations(by_step[step]._replace(score=score))
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
