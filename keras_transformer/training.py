"""Trains a model on a problem, from a run's directory and into it."""

import math
import signal
import sys
import time

import keras

from keras_transformer import variables
from keras_transformer.data.batching import padded_batches
from keras_transformer.decoding import Translator
from keras_transformer.train_step import make_eval_step
from keras_transformer.train_step import make_optimizer
from keras_transformer.train_step import make_schedule
from keras_transformer.train_step import make_train_step
from keras_transformer.training_log import TrainingLog
from keras_transformer.transformer import build_transformer

LOG_FREQUENCY = 100  # updates between lines of the log
NUM_SAMPLES = 5  # dev sentences whose translations are kept


class Trainer:
    """Trains the model of a run's directory until `train_steps`.

    Begins where the newest checkpoint stands: the weights, the optimizer, the
    random state of dropout and the position in the data are all in it, so that
    a run that was stopped and resumed equals one that was not.

    Args:
        problem: a `Problem` whose data was generated.
        run: the `RunDirectory`.
        eval_frequency: updates between evaluations on dev; each saves a
            checkpoint as well.
        keep_checkpoint_max: how many checkpoints to keep.

    Example:

        run = RunDirectory.create(path, record, hparams, model_bytes)
        Trainer(problem, run).train(train_steps=1000)
    """

    def __init__(
        self, problem, run, eval_frequency=1000, keep_checkpoint_max=20
    ):
        self.problem = problem
        self.run = run
        self.hparams = run.hparams
        self.eval_frequency = eval_frequency
        self.keep_checkpoint_max = keep_checkpoint_max
        self.seed = run.record["random_seed"]
        keras.utils.set_random_seed(self.seed)
        vocabulary = run.vocabulary
        self.model = build_transformer(self.hparams, vocabulary.vocab_size)
        self.optimizer = make_optimizer(self.model, self.hparams)
        self.translator = Translator(self.model, vocabulary, self.hparams)
        self.train_step = make_train_step(
            self.model, self.optimizer, self.hparams.label_smoothing
        )
        self.eval_step = make_eval_step(self.model)
        self.progress = {"step": 0, "epoch": 0, "batch": 0, "seconds": 0.0}
        self.stop_signal = None
        self._restore()
        self.log = TrainingLog(run, self.progress["step"])

    @property
    def step(self):
        """Number of updates done."""
        return self.progress["step"]

    def train(self, train_steps):
        """Trains until `train_steps` updates are done or a signal says stop.

        SIGINT and SIGTERM end the training after the current update, with a
        checkpoint.

        Args:
            train_steps: number of updates in all, earlier runs included.

        Returns:
            the figures of the last evaluation, a dictionary; an empty one
            after a signal.

        Raises:
            ValueError: if the loss is not finite; the checkpoints before it
                are kept.
        """
        handlers = {
            number: signal.signal(number, self._ask_to_stop)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            return self._train(train_steps)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self.log.close()

    def _train(self, train_steps):
        results = {}
        while self.step < train_steps and not self.stop_signal:
            plan = self.problem.batches(
                "train",
                self.hparams.batch_tokens,
                self.hparams.max_length,
                self.seed,
                self.progress["epoch"],
            )
            if self.step == 0:
                peak = make_schedule(self.hparams).peak
                self.log.describe(plan, self.model.count_params(), peak)
            batches = padded_batches(
                self.problem.token_pairs("train"), plan, self.progress["batch"]
            )
            for inputs, targets in batches:
                self._update(inputs, targets, train_steps)
                is_last = self.step == train_steps
                if self.progress["batch"] == len(plan):
                    self.progress["epoch"] += 1
                    self.progress["batch"] = 0
                if self.step % self.eval_frequency == 0 or is_last:
                    self._save()
                    results = self.evaluate()
                if is_last or self.stop_signal:
                    break
        if not self.stop_signal:
            return results
        self._save()
        return {}

    def evaluate(self):
        """Measures the model on dev; writes and returns the figures.

        Returns:
            dictionary of `dev_loss` (per token, natural logarithm),
            `dev_perplexity`, `dev_accuracy` and the problem's own scores of
            greedy translations, such as `dev_bleu`.
        """
        sums = [0.0, 0.0, 0.0]
        plan = self.problem.batches(
            "dev", self.hparams.batch_tokens, shuffle=False
        )
        for batch in padded_batches(self.problem.token_pairs("dev"), plan):
            sums = [a + float(b) for a, b in zip(sums, self.eval_step(*batch))]
        loss = sums[0] / sums[2]
        sources, references = self.problem.text_split("dev")
        hypotheses = self.translator(sources, beam_size=1)
        scores = self.problem.score(hypotheses, references)
        results = {
            "dev_loss": loss,
            "dev_perplexity": math.exp(loss),
            "dev_accuracy": sums[1] / sums[2],
            **{f"dev_{name}": value for name, value in scores.items()},
        }
        self.log.evaluation(self.progress, results)
        samples = list(zip(sources, references, hypotheses))[:NUM_SAMPLES]
        self.log.samples(self.step, samples)
        return results

    def _update(self, inputs, targets, train_steps):
        begin = time.perf_counter()
        loss_sum, num_tokens = map(float, self.train_step(inputs, targets))
        if not math.isfinite(loss_sum):
            raise ValueError(
                "The loss must be finite. Received: "
                f"loss={loss_sum} at step {self.step + 1}, epoch "
                f"{self.progress['epoch']}, batch {self.progress['batch']}. "
                "Lower learning_rate or raise warmup_steps, and resume."
            )
        seconds = time.perf_counter() - begin
        self.progress["step"] += 1
        self.progress["batch"] += 1
        self.progress["seconds"] += seconds
        self.log.update(inputs, targets, loss_sum, num_tokens, seconds)
        if self.step % LOG_FREQUENCY == 0 or self.step == train_steps:
            rate = float(self.optimizer.learning_rate)
            self.log.training(self.progress, rate, train_steps)

    def _save(self):
        arrays = variables.read(self._state())
        for name, value in self.progress.items():
            arrays[f"progress/{name}"] = value
        self.run.checkpoints.save(self.step, arrays, self.keep_checkpoint_max)

    def _restore(self):
        checkpoints = self.run.checkpoints
        checkpoints.remove_incomplete()
        if not checkpoints.steps:
            return
        arrays = checkpoints.load()
        variables.write(self._state(), arrays, checkpoints.directory)
        for name in self.progress:
            self.progress[name] = arrays[f"progress/{name}"].item()
        print(f"Resuming from step {self.step}.", file=sys.stderr)

    def _state(self):
        return {
            **variables.model_variables(self.model),
            **variables.optimizer_variables(self.optimizer),
        }

    def _ask_to_stop(self, number, frame):
        self.stop_signal = number
