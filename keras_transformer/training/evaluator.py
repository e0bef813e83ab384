"""How good a model in training is, on dev."""

import contextlib
import math

from keras_transformer.data.batch_plan import padded_batches
from keras_transformer.decoding.translator import Translator
from keras_transformer.runs import variables

NUM_SAMPLES = 5  # sentences whose translations are returned
MAX_EXPONENT = 700.0  # e to this fits into a float


class _BrokenOff(Exception):
    """Somebody asked to stop in the middle of an evaluation."""


class Evaluator:
    """Measures the model of an engine on a problem's dev split.

    With `ema_decay` it is the moving average of the weights that is measured:
    that is what a checkpoint is decoded with.

    Args:
        problem: a `Problem` whose data was generated.
        engine: an engine whose model is built.
        hparams: the model's `HParams`.
    """

    def __init__(self, problem, engine, hparams):
        self.problem = problem
        self.engine = engine
        self.hparams = hparams
        self.translator = Translator(engine.model, problem.vocabulary, hparams)

    def __call__(self, must_stop=lambda: False):
        """Returns the figures, and some translations.

        Args:
            must_stop: function that is asked after each batch whether to break
                off.

        Returns:
            dictionary of `dev_loss` (per token, natural logarithm),
            `dev_perplexity`, `dev_accuracy` and the problem's own scores of
            greedy translations, such as `dev_bleu`; and a list of (source,
            reference, translation). None if it broke off.
        """

        def check(_):
            if must_stop():
                raise _BrokenOff

        sources, references = self.problem.text_split("dev")
        try:
            with self._weights_to_measure():
                negative_log, num_right, num_tokens = self._sums(check)
                decoded = list(
                    self.translator.translate(sources, check, beam_size=1)
                )
        except _BrokenOff:
            return None
        hypotheses = list(map(self.problem.output, sources, decoded))
        loss = negative_log / num_tokens
        scores = self.problem.score(hypotheses, references)
        results = {
            "dev_loss": loss,
            "dev_perplexity": math.exp(min(loss, MAX_EXPONENT)),
            "dev_accuracy": num_right / num_tokens,
            **{f"dev_{name}": value for name, value in scores.items()},
        }
        samples = list(zip(sources, references, hypotheses))[:NUM_SAMPLES]
        return results, samples

    def _sums(self, check):
        sums = [0.0, 0.0, 0.0]
        plan = self.problem.evaluation_batches(self.hparams.batch_tokens)
        for batch in padded_batches(self.problem.token_pairs("dev"), plan):
            found = self.engine.evaluate(*batch)
            sums = [a + float(b) for a, b in zip(sums, found)]
            check(len(batch))
        return sums

    @contextlib.contextmanager
    def _weights_to_measure(self):
        """Puts the averaged weights in place, if there are any."""
        self.engine.synchronise()
        averages = variables.averaged_variables(
            self.engine.model, self.engine.optimizer
        )
        if not averages:
            yield
            return
        weights = variables.model_variables(self.engine.model)
        weights = {
            name: weights[name.replace("average/", "model/")]
            for name in averages
        }
        in_training = variables.read(weights)
        averaged = dict(zip(weights, variables.read(averages).values()))
        try:
            self._assign(weights, averaged)
            yield
        finally:
            self._assign(weights, in_training)

    def _assign(self, weights, arrays):
        """Assigns values to the weights."""
        for weight, array in zip(weights.values(), arrays.values()):
            weight.assign(array)
        self.engine.reload()
