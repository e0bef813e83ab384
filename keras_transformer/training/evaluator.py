"""Evaluation of the model in training on the dev split."""

import contextlib
import math

import numpy as np

from keras_transformer.data.batches.batch_plan import EMPTY_ROW
from keras_transformer.data.batches.batch_plan import pad_batches
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.runs import variables
from keras_transformer.scoring.measures import LOWER_IS_BETTER

NUM_SAMPLES = 5  # number of translations that are returned
MAX_EXPONENT = 700.0  # exp of a greater number overflows a float


class _Interrupted(Exception):
    """A request to stop in the middle of an evaluation."""


class Evaluator:
    """Measures the model of a backend on the dev split of a problem.

    With `ema_decay` it measures the moving averages of the weights, since a
    checkpoint is decoded with those. `measure` decides which checkpoint is best
    and defaults to the problem's. `num_batches` are measured, of all lengths,
    or all for None.
    """

    def __init__(
        self, problem, backend, hparams, measure=None, num_batches=None
    ):
        self.problem = problem
        self.num_batches = num_batches
        self.measure = measure or problem.measure
        self.backend = backend
        self.hparams = hparams
        self.translator = Translator(
            KerasEngine(
                backend.model,
                problem.vocabulary,
                hparams,
                source_vocabulary=problem.source_vocabulary,
            )
        )

    def __call__(self, must_stop=lambda: False):
        """Computes the figures of the current weights.

        Returns a dictionary of figures, and a few samples (source, reference,
        translation). The figures are `dev_loss` (per token, natural logarithm),
        `dev_perplexity`, `dev_accuracy` and the problem's scores of greedy
        translations, such as `dev_bleu`. `must_stop` is called after each
        batch. If it returns True, the evaluation ends and the result is None.
        """

        def check(_):
            if must_stop():
                raise _Interrupted

        plan, (sources, references) = self._plan()
        try:
            with self._weights_to_measure():
                negative_log, num_right, num_tokens = self._sums(plan, check)
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

    def _plan(self):
        """Returns the batches to measure, and the texts of their pairs."""
        plan = self.problem.evaluation_batches(self.hparams.batch_tokens)
        texts = self.problem.text_split("dev")
        if (self.num_batches or len(plan)) >= len(plan):
            return plan, texts
        # The batches are in the order of their lengths.
        numbers = np.linspace(0, len(plan) - 1, self.num_batches).round()
        batches = [plan[int(number)] for number in numbers]
        rows = np.sort(np.concatenate([indices for indices, _ in batches]))
        rows = rows[rows != EMPTY_ROW]
        return batches, [[side[row] for row in rows] for side in texts]

    def _sums(self, plan, check):
        sums = [0.0, 0.0, 0.0]
        for batch in pad_batches(self.problem.token_pairs("dev"), plan):
            batch_sums = self.backend.evaluate(*batch)
            # In double precision, since a float32 sum of a split loses digits.
            sums = [a + float(b) for a, b in zip(sums, batch_sums)]
            check(len(batch))
        return sums

    @contextlib.contextmanager
    def _weights_to_measure(self):
        """Gives the model the averaged weights, if there are any."""
        self.backend.synchronise()
        averages = variables.average_variables(
            self.backend.model, self.backend.optimizer
        )
        if not averages:
            yield
            return
        weights = variables.model_variables(self.backend.model)
        # Each weight under the name of its average.
        weights = {
            name: weights[name.replace("average/", "model/")]
            for name in averages
        }
        # The averages overwrite the weights, so these need a copy.
        in_training = variables.read(weights)
        try:
            self._assign(weights, variables.read(averages))
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
    """Returns the figure of an evaluation that decides which one is best.

    The metric is "loss", or the name of a score. A greater result is better.
    """
    name, sign = f"dev_{metric}", -1 if metric in LOWER_IS_BETTER else 1
    if name not in results:
        raise UserError(
            "`early_stopping_metric` must be a figure of the evaluations. "
            f"Received: early_stopping_metric={metric}, while evaluations give "
            f"{', '.join(results)}. Use loss."
        )
    return sign * float(results[name])
