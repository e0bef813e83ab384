"""Evaluation on dev of weights that are not in training."""

import dataclasses

from keras_transformer.engines.make_engine import make_engine
from keras_transformer.runs import variables
from keras_transformer.training.evaluator import Evaluator


class WeightsEvaluator:
    """Measures any weights of a run's model as a training measures its own.

    The computation is in float32, like decoding, whatever the precision of the
    training.

    Args:
        problem: The `Problem` of the run, with generated data.
        run: The `RunDirectory`.
    """

    def __init__(self, problem, run):
        # The weights are measured as they are. A moving average of them exists
        # only over the updates of a training.
        hparams = dataclasses.replace(run.hparams, ema_decay=0.0)
        self.run = run
        self.engine = make_engine(hparams, num_devices=1)
        self.engine.build(*run.vocabularies.sizes)
        self.evaluate = Evaluator(
            problem, self.engine, hparams, run.record.get("measure")
        )

    @property
    def measure(self):
        """Name of the measure that decides between weights."""
        return self.evaluate.measure

    def __call__(self, arrays):
        """Computes the figures of weights.

        Args:
            arrays: Dictionary of the names `model/...` to arrays, as
                `read_weights` returns it.

        Returns:
            A dictionary of figures as in the rows of `metrics.csv`, without
            `dev_` before their names.
        """
        named = variables.model_variables(self.engine.model)
        variables.write(named, arrays, self.run.path)
        self.engine.reload()
        figures, _ = self.evaluate()
        return {
            name.removeprefix("dev_"): value for name, value in figures.items()
        }
