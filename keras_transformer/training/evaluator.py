"""Evaluation on the dev split, of a model in training and of an average."""

import contextlib
import dataclasses
import functools
import math
import os
import sys

import numpy as np

from keras_transformer.data.batches.batch_plan import EMPTY_ROW
from keras_transformer.data.batches.batch_plan import pad_batches
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.runs.model import average_variables
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.model import write_variables
from keras_transformer.runs.weights import read_weights
from keras_transformer.scoring.measures import LOWER_IS_BETTER
from keras_transformer.training.backends.make_backend import make_backend

NUM_SAMPLES = 5  # number of translations that are returned
MAX_EXPONENT = 700.0  # exp of a greater number overflows a float


class _Interrupted(Exception):
    """A request to stop in the middle of an evaluation."""


class Evaluator:
    """Measures the model of a backend on the dev split of a problem.

    With `ema_decay` it measures the moving averages of the weights, since a
    checkpoint is decoded with those. `measure` decides which checkpoint is best
    and defaults to the problem's. `num_batches` are measured, of all lengths,
    or all for None. With 0, for a training run without evaluations, the problem
    needs no dev split.
    """

    def __init__(
        self, problem, backend, hparams, measure=None, num_batches=None
    ):
        self.problem = problem
        self.num_batches = num_batches
        self.measure = measure or problem.measure
        self.backend = backend
        self.hparams = hparams
        if num_batches != 0:
            self._dev  # read now, because kt-datagen may replace it later
        self.translator = Translator(
            KerasEngine(
                backend.model,
                problem.vocabulary,
                hparams,
                source_vocabulary=problem.source_vocabulary,
            )
        )

    def __call__(self, must_stop=lambda: False):
        """Computes the metrics of the current weights.

        Returns a dictionary of metrics, and a few samples (source, reference,
        translation). The metrics are `dev_loss` (per token, natural logarithm),
        `dev_perplexity`, `dev_accuracy` and the problem's scores of greedy
        translations, such as `dev_bleu`. `must_stop` is called after each
        batch. If it returns True, the evaluation ends and the result is None.
        """

        def check(_):
            if must_stop():
                raise _Interrupted

        _, _, (sources, references) = self._dev
        try:
            with self._weights_to_measure():
                negative_log, num_right, num_tokens = self._sums(check)
                # Greedy search, because evaluations should be short.
                decoded = list(
                    self.translator.translate(sources, check, beam_size=1)
                )
        except _Interrupted:
            return None
        hypotheses = list(map(self.problem.output, sources, decoded))
        loss = negative_log / num_tokens
        scores = self.problem.dev_scores(hypotheses, references, self.measure)
        results = {
            "dev_loss": loss,
            "dev_perplexity": math.exp(min(loss, MAX_EXPONENT)),
            "dev_accuracy": num_right / num_tokens,
            **{f"dev_{name}": value for name, value in scores.items()},
        }
        samples = list(zip(sources, references, hypotheses))[:NUM_SAMPLES]
        return results, samples

    @functools.cached_property
    def _dev(self):
        """The ids of dev, the batches to measure, and their pairs as texts."""
        token_pairs = self.problem.token_pairs("dev")
        plan = self.problem.evaluation_batches(self.hparams.batch_tokens)
        texts = self.problem.text_split("dev")
        if (self.num_batches or len(plan)) >= len(plan):
            return token_pairs, plan, texts
        # One from the middle of each of `num_batches` parts, by length.
        by_length = sorted(plan, key=lambda batch: sum(batch[1][1:]))
        middles = (np.arange(self.num_batches) + 0.5) / self.num_batches
        batches = [by_length[int(m * len(plan))] for m in middles]
        rows = np.sort(np.concatenate([indices for indices, _ in batches]))
        rows = rows[rows != EMPTY_ROW]
        texts = [[side[row] for row in rows] for side in texts]
        return token_pairs, batches, texts

    def _sums(self, check):
        token_pairs, plan, _ = self._dev
        sums = [0.0, 0.0, 0.0]
        for batch in pad_batches(token_pairs, plan):
            batch_sums = self.backend.evaluate(*batch)
            # In double precision, since a float32 sum of a split loses digits.
            sums = [a + float(b) for a, b in zip(sums, batch_sums)]
            check(len(batch))
        return sums

    @contextlib.contextmanager
    def _weights_to_measure(self):
        """Gives the model the averaged weights, if there are any."""
        self.backend.synchronise()
        averages = average_variables(self.backend.model, self.backend.optimizer)
        if not averages:
            yield
            return
        weights = model_variables(self.backend.model)
        # Each weight under the name of its average.
        weights = {
            name: weights[name.replace("average/", "model/")]
            for name in averages
        }
        # The averages overwrite the weights, so these need a copy.
        in_training = read_variables(weights)
        try:
            self._assign(weights, read_variables(averages))
            yield
        finally:
            # Training continues from its weights, even after an interruption.
            self._assign(weights, in_training)

    def _assign(self, weights, arrays):
        for name, weight in weights.items():
            weight.assign(arrays[name])
        self.backend.reload()


def has_stalled(scores, patience):
    """Returns whether the last `patience` evaluations brought no improvement.

    The scores are in the order of the evaluations; greater is better.

    >>> has_stalled([1.0, 3.0, 2.0, 3.0], patience=2)
    True
    """
    # An equal score is not an improvement, so training that is stuck ends.
    before, last = scores[:-patience], scores[-patience:]
    return bool(before) and max(last) <= max(before)


def get_score(metric, results):
    """Returns the metric of an evaluation that decides which one is best.

    The metric is "loss", or the name of a score. A greater result is better,
    and NaN counts as minus infinity.
    """
    name, sign = f"dev_{metric}", -1 if metric in LOWER_IS_BETTER else 1
    if name not in results:
        raise UserError(
            "`early_stopping_metric` must be a metric of the evaluations. "
            f"Received: early_stopping_metric={metric}, while evaluations give "
            f"{', '.join(results)}. Use loss."
        )
    score = sign * float(results[name])
    # NaN would count as better or as worse, depending on its place in a list.
    return -math.inf if math.isnan(score) else score


def report_average(problem, run, num_averaged, averaged, warn=True):
    """Measures an average and single checkpoints on dev and prints a table.

    The table has a row for the newest checkpoint, one for the best if that is
    another, and one for the average. If a checkpoint is better than the
    average, a line below the table says so and what to do, unless `warn` is
    false. All of it goes to standard error. Returns the metrics of the average
    by name.
    """
    # In float32, like decoding, whatever the run's precision is. The weights
    # are measured as they are: a moving average of them exists only over the
    # updates of a run, and adapters are merged into them.
    hparams = run.hparams.without_lora()
    hparams = dataclasses.replace(hparams, ema_decay=0.0)
    backend = make_backend(hparams, num_devices=1)
    backend.build(*run.vocabularies.sizes)
    evaluate = Evaluator(problem, backend, hparams, run.record.get("measure"))
    measure = evaluate.measure
    table = {}
    steps = {"newest": run.checkpoints.find()}
    if run.checkpoints.best_step not in (None, steps["newest"]):
        steps["best"] = run.checkpoints.best_step
    for name, step in steps.items():
        # A training in progress may have deleted it by now.
        if os.path.exists(run.checkpoints.path(step)):
            weights = read_weights(run.checkpoints, step)
            table[name] = _measure(evaluate, weights, run.path)
            _print_row(f"{name}, {step}", table[name], measure)
    average = _measure(evaluate, averaged, run.path)
    _print_row(f"average of {num_averaged}", average, measure)
    warning = compare(table, average, measure)
    if warn and warning:
        print(warning, file=sys.stderr)
    return average


def compare(table, average, measure):
    """Says which single checkpoint is better than an average, and what to do.

    `table` holds the metrics of the "newest" and the "best" checkpoint, or of
    one of them. `measure` decides, or the loss where it was not measured.
    Returns None if no checkpoint is better.
    """
    measure = measure if measure in average else "loss"
    sign = -1 if measure in LOWER_IS_BETTER else 1
    better = max(table, key=lambda n: sign * table[n][measure], default=None)
    if not better or sign * table[better][measure] <= sign * average[measure]:
        return None
    step = ", with --checkpoint_step=best" if better == "best" else ""
    return (
        f"The average is worse than the {better} checkpoint: {measure} "
        f"{average[measure]:.4g} instead of {table[better][measure]:.4g} on "
        "dev. Average fewer checkpoints, with --num_last_checkpoints, or "
        f"use the {better} one: name the run itself as --output_dir{step}."
    )


def _print_row(name, metrics, measure):
    row = f"dev  {name:<20}  loss {metrics['loss']:8.4f}"
    if measure != "loss" and measure in metrics:
        row += f"  {measure} {metrics[measure]:6.2f}"
    print(row, file=sys.stderr, flush=True)


def _measure(evaluate, arrays, source):
    """Returns the metrics, named without `dev_`, of weights in `arrays`."""
    named = model_variables(evaluate.backend.model)
    write_variables(named, arrays, source)
    evaluate.backend.reload()
    metrics, _ = evaluate()
    return {name.removeprefix("dev_"): value for name, value in metrics.items()}
