"""The state of a run, written to checkpoints and restored from them."""

import math
import sys
import time

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.optimizers import find_peak
from keras_transformer.optimizers import make_schedule
from keras_transformer.runs.checkpoints import CheckpointWriter
from keras_transformer.runs.metrics_table import COSTS
from keras_transformer.runs.model import average_variables
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import optimizer_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.model import warm_start
from keras_transformer.runs.model import write_variables
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import LORA_ALPHA
from keras_transformer.runs.weights import count_shared_pieces
from keras_transformer.training.start import read_progress

# The rules that a run follows to its end, whatever version resumes it. With 0,
# which earlier runs have, the steps of a cosine count from 0, and an epoch that
# segments or disturbs its text anew has shapes of its own.
RULES = 1


class TrainingState:
    """Saves and restores everything that a run continues from.

    That is the weights and the optimizer, which belong to the backend, the
    position in the data, `progress`, and the `counts` of the log.
    """

    def __init__(self, run, backend, options):
        self.run = run
        self.backend = backend
        self.options = options
        self.progress = {"step": 0, "epoch": 0, "batch": 0, "seconds": 0.0}
        self.progress["rules"] = RULES
        self.progress.update(dict.fromkeys(COSTS, 0.0))
        self.counts = {}
        self.writer = None
        # Another worker could remove the file that the chief is writing.
        if backend.is_chief:
            run.checkpoints.remove_incomplete()
            self.writer = CheckpointWriter(
                run.checkpoints,
                options.keep_checkpoint_max,
                options.keep_checkpoint_every_n_hours,
            )
        self._restore()
        self._mark()
        # The frozen weights of a run with adapters are written only once.
        named = model_variables(backend.model)
        self._fixed = {n: v for n, v in named.items() if not v.trainable}
        is_new = not run.checkpoints.steps
        if run.hparams.lora_rank and is_new and backend.is_chief:
            run.checkpoints.save_base(read_variables(self._fixed))

    @property
    def is_saved(self):
        """Whether the current step has been saved."""
        return self._saved_step == self.progress["step"]

    @property
    def is_save_due(self):
        """Whether it is time for a checkpoint, timed or to resume from."""
        elapsed = time.monotonic() - self._saved_at
        is_old = elapsed >= self.options.save_checkpoints_secs
        return is_old or self._is_interval_over

    def save(self, counts, is_evaluated=False):
        """Begins to write a checkpoint; see `CheckpointWriter.save`."""
        is_timed = self._is_interval_over
        # The other workers save nothing, but no save is due for them either.
        self._mark()
        if not self.backend.is_chief:
            return
        # The training only waits for this copy. A thread writes it.
        self.backend.synchronise()
        arrays = read_variables(self._variables())
        if lora_rank := self.run.hparams.lora_rank:
            arrays = {n: a for n, a in arrays.items() if n not in self._fixed}
            alpha = self.run.hparams.lora_alpha or lora_rank
            arrays[LORA_ALPHA] = np.float32(alpha)
        # With the counts, the row after a restart covers the same updates as
        # in an uninterrupted run.
        for kind, numbers in (("progress", self.progress), ("log", counts)):
            for name, value in numbers.items():
                arrays[f"{kind}/{name}"] = value
        step, seconds = self.progress["step"], self.progress["seconds"]
        self.writer.save(step, arrays, is_evaluated, is_timed, seconds)

    def wait(self):
        """Waits until the last checkpoint is on the disk."""
        if self.backend.is_chief:
            self.writer.wait()

    @property
    def _num_intervals(self):
        """Number of complete `timed_checkpoint_minutes` of training."""
        # Training time, which a resumed training continues.
        seconds = 60 * self.options.timed_checkpoint_minutes
        return self.progress["seconds"] // seconds if seconds else 0

    @property
    def _is_interval_over(self):
        return self._num_intervals > self._saved_intervals

    def _mark(self):
        self._saved_step = self.progress["step"]
        self._saved_at = time.monotonic()
        self._saved_intervals = self._num_intervals

    def _restore(self):
        checkpoints = self.run.checkpoints
        # A shared directory may show a new checkpoint to some workers only.
        newest = max(checkpoints.steps, default=0)
        chiefs = self.backend.broadcast_from_chief(newest)
        if newest != chiefs:
            raise UserError(
                "This worker and the chief see different checkpoints in "
                f"{self.run.path}: the newest is that of step {newest} here "
                f"and of step {chiefs} for the chief. Start all workers again."
            )
        if checkpoints.steps:
            progress, self.counts = read_progress(checkpoints)
            # Earlier runs recorded no rules and counted no cost.
            self.progress.update(dict.fromkeys(COSTS, math.nan), rules=0)
            self.progress.update(progress)
            if not self.progress["rules"]:
                schedule = make_schedule(self.run.hparams, first_step=0)
                self.backend.optimizer.learning_rate = schedule
            arrays = checkpoints.load()
            write_variables(self._variables(), arrays, checkpoints.directory)
            step = self.progress["step"]
            print(f"Resuming from step {step}.", file=sys.stderr)
        # A resumed run keeps its weights, whatever warm start is named.
        elif self.options.warm_start_from:
            other = RunDirectory(self.options.warm_start_from)
            step = self.run.record.get("warm_start_step")
            step = other.checkpoints.find(step)
            warm_start(self.backend.model, other, self.run, step)
            print(
                f"Starting with the weights of step {step} of {other.path}.",
                file=sys.stderr,
            )
            _report_peak(other, self.run)
            _report_vocabulary(other.vocabulary, self.run.vocabulary)
            if not self.run.vocabularies.is_shared:
                _report_vocabulary(
                    other.source_vocabulary, self.run.source_vocabulary
                )
        self.backend.reload()

    def _variables(self):
        model, optimizer = self.backend.model, self.backend.optimizer
        return {
            **model_variables(model),
            **optimizer_variables(optimizer),
            **average_variables(model, optimizer),
        }


def _report_peak(other, run):
    """Warns of a learning rate that may destroy what the other run learned."""
    # Adapters leave the model as it is, and learn at several times the rate.
    # Adafactor's is relative to the size of the weights.
    is_relative = {r.hparams.optimizer == "adafactor" for r in (other, run)}
    if run.hparams.lora_rank or len(is_relative) > 1:
        return
    earlier, peak = (find_peak(r.hparams) for r in (other, run))
    if peak > 1.01 * earlier:
        print(
            f"Warning: the learning rate peaks at {peak:.2e}, and that of "
            f"{other.path} at {earlier:.2e}. A model forgets what it knows at "
            "a high rate; set a lower one with --hparams=peak_learning_rate="
            f"{earlier / 4:.0e}, for example.",
            file=sys.stderr,
        )


def _report_vocabulary(earlier, vocabulary):
    if earlier.sha256 != vocabulary.sha256:
        num_shared = count_shared_pieces(earlier, vocabulary)
        print(
            f"{num_shared:,} of the {vocabulary.vocab_size:,} subwords keep "
            "the embeddings of the warm start. The others begin with the mean "
            "embedding of the subwords that spell them.",
            file=sys.stderr,
        )
