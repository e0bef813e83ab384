"""The training loop."""

import contextlib
import math
import random
import signal
import sys
import time
import typing

from keras_transformer.data.batches.update_batches import Layout
from keras_transformer.data.batches.update_batches import UpdateBatches
from keras_transformer.errors import UserError
from keras_transformer.files.signals import list_stop_signals
from keras_transformer.optimizers import find_peak
from keras_transformer.optimizers import find_timed_rate
from keras_transformer.runs.model_card import write_model_card
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import write_adapter
from keras_transformer.training import evaluator
from keras_transformer.training.backends.backend import Backend
from keras_transformer.training.backends.make_backend import make_backend
from keras_transformer.training.epochs import Epochs
from keras_transformer.training.log import Profiler
from keras_transformer.training.log import TrainingCost
from keras_transformer.training.log import TrainingLog
from keras_transformer.training.options import TrainingOptions
from keras_transformer.training.state import TrainingState

if typing.TYPE_CHECKING:
    from keras_transformer.problem import Problem

LOG_FREQUENCY = 100  # updates between lines of the log


class Trainer:
    """Trains the model of a run.

    The training continues from the newest checkpoint of the run. A checkpoint
    holds the weights, the optimizer and the position in the data, and dropout
    is a function of that position, so a resumed run equals an uninterrupted
    one. The updates are the same on any number of devices.

    Args:
        problem: A `Problem` with generated data.
        run: The `RunDirectory`.
        backend: The `Backend` that updates the model. Defaults to
            all devices and float32.
        **options: Fields of `TrainingOptions`.

    Example:

        run = RunDirectory.create(path, record, hparams, model_bytes)
        Trainer(problem, run).train(train_steps=1000)
    """

    def __init__(
        self,
        problem: "Problem",
        run: RunDirectory,
        backend: Backend | None = None,
        **options,
    ):
        self.problem = problem
        self.run = run
        self.options = TrainingOptions(**options)
        self.hparams = hparams = run.hparams
        self.seed = run.record["random_seed"]
        self.backend = backend or make_backend(self.hparams)
        # Keras draws the seeds of initializers from this generator. The
        # function of Keras that seeds it imports TensorFlow even on JAX.
        random.seed(self.seed)
        self.backend.build(*run.vocabularies.sizes)
        measure = run.record.get("measure")
        num_batches = self.options.eval_steps
        self.evaluate = evaluator.Evaluator(
            problem, self.backend, hparams, measure, num_batches
        )
        if self.backend.is_chief:
            run.record_train_steps()
        self.state = TrainingState(run, self.backend, self.options)
        self.progress = self.state.progress
        if "positions" not in self.progress:
            self.progress["positions"] = self._update_positions()
        self.epochs = Epochs(
            problem, run, self.progress["positions"], self.progress["rules"]
        )
        self.guidance = problem.make_guidance(hparams)
        # After the state, because the log continues from the restored step.
        self.log = TrainingLog(
            run, self.step, self.backend.is_chief, self.state.counts
        )
        size = run.vocabulary.vocab_size
        self.cost = TrainingCost(
            self.progress, self.backend, size, self.options.device
        )
        steps = self.options.profile_steps if self.backend.is_chief else ()
        self.profiler = Profiler(self.backend, run.file("tensorboard"), steps)
        self.layout = None  # of the batches, once an epoch has been planned
        self.stop_signal: int | None = None
        self._asks_to_stop = False
        self._agreed_last_step = math.inf  # of several workers
        # Progress, size and metrics of the update whose metrics are unread.
        self._pending = None
        self.results: dict[str, float] = {}  # of the last evaluation

    @property
    def step(self) -> int:
        """Number of updates done."""
        return self.progress["step"]

    @property
    def measure(self) -> str:
        """Name of the measure that decides which checkpoint is best."""
        return self.evaluate.measure

    @property
    def _must_stop(self):
        # Several workers must stop after the same update. They agree on it by
        # summing their wishes in an update.
        if self.backend.num_workers == 1:
            return self._asks_to_stop
        return self.step >= self._agreed_last_step

    @property
    def _is_time_over(self):
        # The other workers go by the clock of the chief.
        limit = 60 * self.hparams.train_minutes if self.backend.is_chief else 0
        return 0 < limit <= self.progress["seconds"]

    def train(self, train_steps: int | float) -> dict[str, float]:
        """Trains until `train_steps` updates are done.

        `train_minutes` of the hparams, a stop signal and early stopping end
        training after the current update, with a checkpoint.

        Args:
            train_steps: Number of updates, those before a resume included.

        Returns:
            A dictionary of the metrics of the last evaluation. It is empty
            after a signal.

        Raises:
            UserError: If the loss is not finite. Earlier checkpoints stay.
        """
        self._forget_signals()
        # The callbacks run at the end in reverse order, all of them even if one
        # fails.
        with contextlib.ExitStack() as at_end:
            # The last checkpoint is completed even after an error.
            at_end.callback(self.state.wait)
            # A signal must not end the process in the middle of an update.
            for number in list_stop_signals():
                handler = signal.signal(number, self._receive)
                at_end.callback(signal.signal, number, handler)
            at_end.callback(self.log.close)
            at_end.callback(self.profiler.stop)
            if self.backend.is_chief:
                self._catch_up()
            # The chief decides about early stopping for all workers.
            if self.backend.broadcast_from_chief(int(self._asks_to_stop)):
                self._agreed_last_step = self.step
            while self.step < train_steps and not self._must_stop:
                self._train_epoch(train_steps)
            # Metrics are read one update late, so the last ones are unread.
            self._finish_update()
            if not self.state.is_saved:
                self._save()
            # The card describes the newest checkpoint, which must be complete.
            self.state.wait()
            if self.backend.is_chief and self.run.checkpoints.steps:
                write_model_card(self.run.path, self.run)
                if self.hparams.lora_rank:
                    write_adapter(self.run)
                if self._is_time_over and self.step < self.hparams.warmup_steps:
                    print(
                        f"The time was over after {self.step} of the "
                        f"{self.hparams.warmup_steps} updates of the warm-up. "
                        "Lower warmup_steps.",
                        file=sys.stderr,
                    )
            self.backend.wait_for_workers()
            if self.stop_signal:
                self.results = {}
            return self.results

    def _forget_signals(self):
        # A notebook may go on after the signal that ended an earlier call.
        self.stop_signal, self._asks_to_stop = None, False
        self._agreed_last_step = math.inf

    def _catch_up(self):
        """Brings evaluations up to date, and stops if training is over."""
        if evaluations := self.log.evaluations:
            self.results = {
                name: float(value)
                for name, value in evaluations[-1].items()
                if name.startswith("dev_")
            }
        # A killed process may not have evaluated its last checkpoint.
        saved = {e.step for e in self.run.checkpoints.evaluations}
        logged = {int(row["step"]) for row in evaluations}
        if self.step in saved - logged:
            self._evaluate()
        # Otherwise one more update, at rate 0, ends with an evaluation.
        self._asks_to_stop |= self._is_time_over and self.step in saved
        self._stop_early()

    def _train_epoch(self, train_steps):
        """Trains on the rest of the epoch, or until training must stop."""
        begin = time.perf_counter()
        token_pairs, plan = self.epochs.plan(self.progress["epoch"])
        self._count_time(begin, waited=time.perf_counter() - begin)
        if self.progress["batch"] >= len(plan):
            raise UserError(
                f"The data in {self.problem.directory} have changed since the "
                f"run was started: it stopped in batch "
                f"{self.progress['batch']} of an epoch, which now has "
                f"{len(plan)} batches. Restore the data, or use another "
                "--output_dir."
            )
        self.layout = Layout.from_plan(
            plan, self.hparams.batch_tokens, self.backend
        )
        if self.step == 0:
            self._describe(plan)
        batches = UpdateBatches(
            token_pairs,
            plan,
            self.layout,
            self.seed,
            self.progress["epoch"],
            self.guidance,
        )
        # After a resume the first batch is inside the epoch.
        feed = self.backend.feed(batches, self.progress["batch"])
        # Closing ends the threads that prepare batches, even after an error.
        with contextlib.closing(feed):
            while self.step < train_steps and not self._must_stop:
                begin = time.perf_counter()
                if (batch := next(feed, None)) is None:
                    break
                size = batches.size(self.progress["batch"])
                self._update(batch, size, time.perf_counter() - begin)
                if self.progress["batch"] == len(plan):
                    self.progress["epoch"] += 1
                    self.progress["batch"] = 0
                self._asks_to_stop |= self._is_time_over
                is_timed_out = self._is_time_over and self._must_stop
                is_last = self.step == train_steps or is_timed_out
                if self.step % LOG_FREQUENCY == 0 or is_last:
                    # The row needs the metrics of this update.
                    self._finish_update()
                    self._log_training(train_steps)
                if self.step % self.options.eval_frequency == 0 or is_last:
                    self._evaluate_and_save()
                elif self.state.is_save_due:
                    self._save()

    def _describe(self, plan):
        peak = find_peak(self.hparams)
        self.log.describe(plan, self.layout, self.backend, peak)
        if self.options.eval_steps != 0:
            signatures = self.problem.dev_signatures(self.measure)
            self.log.describe_scores(self.measure, signatures)

    def _update_positions(self):
        """Returns the positions of an update, if no checkpoint records them."""
        hparams = self.hparams
        # Version 0.1 recorded none: `effective_batch_tokens` was their number.
        if self.run.checkpoints.steps:
            return hparams.effective_batch_tokens or hparams.batch_tokens
        return self.problem.update_positions(hparams)

    def _update(self, batch, size, waited):
        """Starts an update, then reads the metrics of the update before it."""
        # The device is busy while this process handles them and gets a batch.
        if self.options.profile_steps:
            self.profiler.begin(self.step + 1, self._finish_update)
        begin = time.perf_counter() - waited
        rate = 0.0
        if self.hparams.train_minutes:
            seconds = self.progress["seconds"]
            rate = find_timed_rate(self.hparams, self.step + 1, seconds)
        metrics = self.backend.update(batch, self._asks_to_stop, rate)
        self._read_metrics()
        self._pending = dict(self.progress), size, metrics
        self.progress["step"] += 1
        self.progress["batch"] += 1
        self._count_time(begin, waited)

    def _finish_update(self):
        """Waits for the last update, before its metrics are written."""
        begin = time.perf_counter()
        self._read_metrics()
        self._count_time(begin)
        if self.backend.is_chief:
            self.run.check_in_place()

    def _read_metrics(self):
        if self._pending is None:
            return
        (at, size, metrics), self._pending = self._pending, None
        metrics = self.backend.read_metrics(metrics)
        self._check_finite(metrics, at)
        self.cost.count_update(size)
        self.log.count_update(size, metrics)
        if metrics["stop"]:
            # Metrics are read one update late, so all workers know by then.
            self._agreed_last_step = min(at["step"] + 2, self._agreed_last_step)

    def _check_finite(self, metrics, at):
        """Raises an error before weights that are not finite are saved."""
        # `at` is the progress before the update of these metrics.
        names = ["loss_sum", "gradient_norm"]
        # With float16 a gradient that is not finite is expected now and then,
        # and the optimizer skips its update.
        if self.backend.precision == "float16":
            names.remove("gradient_norm")
        name = next((n for n in names if not math.isfinite(metrics[n])), None)
        if not name:
            return
        way_out, ending = "Run the command again", ""
        # The recipe of a run can change until it has a checkpoint.
        if self.run.checkpoints.steps:
            way_out = "Start another --output_dir"
            ending = "; --warm_start_from keeps the weights of this run"
        raise UserError(
            f"The run diverged: {name}={metrics[name]} at step "
            f"{at['step'] + 1}, epoch {at['epoch']}, batch {at['batch']}. "
            f"{way_out} with a lower learning_rate, more warmup_steps or "
            f"gradient_clip_norm{ending}."
        )

    def _count_time(self, begin, waited=0.0):
        seconds = time.perf_counter() - begin
        self.progress["seconds"] += seconds
        self.cost.count_time(seconds)
        self.log.count_time(seconds, waited)

    def _log_training(self, train_steps):
        if minutes := self.hparams.train_minutes:
            share = self.progress["seconds"] / (60 * minutes)
            train_steps = max(self.step, round(self.step / share))
        self.log.write_training(
            self.progress, train_steps, self.backend.peak_bytes()
        )

    def _evaluate_and_save(self):
        # An evaluation can take long. The checkpoint is written meanwhile, so
        # that a kill loses no updates.
        self._save(is_evaluated=True)
        if self.backend.is_chief:
            self._evaluate()
            self._stop_early()

    def _evaluate(self):
        """Measures the model, unless a signal arrives meanwhile."""
        if self.options.eval_steps == 0:
            return
        evaluation = self.evaluate(lambda: self.stop_signal is not None)
        if evaluation is None:
            return
        self.run.check_in_place()
        self.results, samples = evaluation
        score = evaluator.get_score(self._find_metric(), self.results)
        self.state.writer.score(self.step, score)
        self.log.write_samples(self.step, samples)
        # The row comes last: if it is missing, the next process evaluates.
        self.log.write_evaluation(self.progress, self.results)

    def _find_metric(self):
        # If the scores of a problem lack its measure, the loss decides.
        is_measured = f"dev_{self.measure}" in self.results
        return self.measure if is_measured else "loss"

    def _stop_early(self):
        """Asks to stop if the last evaluations brought no improvement."""
        metric = self.options.early_stopping_metric
        if metric == "none":
            return
        if metric == "measure":
            metric = self._find_metric()
        scores = [
            evaluator.get_score(metric, metrics)
            for metrics in self.log.evaluations
        ]
        patience = self.options.early_stopping_patience
        self._asks_to_stop |= evaluator.has_stalled(scores, patience)

    def _save(self, is_evaluated=False):
        self._finish_update()
        self.state.save(self.log.counts, is_evaluated)

    def _receive(self, number, frame):
        # Training and evaluation check these between their batches.
        self.stop_signal = number
        self._asks_to_stop = True
