"""The cost of a training, added up while it runs."""

import functools
import math

from keras_transformer.cost.arithmetic import training_flops
from keras_transformer.cost.devices import cost_by_time
from keras_transformer.cost.devices import flops_per_second
from keras_transformer.cost.devices import recognise
from keras_transformer.runs.metrics_table import COSTS


class TrainingCost:
    """Adds the cost of updates to the progress of a training.

    There are three sums of floating-point operations: `device_flops` by the
    formula of the paper's Table 2, `token_flops` by counting the arithmetic of
    the tokens, and `position_flops` by counting that of all positions, padding
    included. A sum is NaN from the first update whose cost is unknown.

    Args:
        progress: Dictionary that holds the sums. Checkpoints keep it.
        engine: An engine with its model built.
        vocab_size: Integer number of token ids.
        device: Value of `--device`. Defaults to "", which recognises the
            engine's device by its name.
    """

    def __init__(self, progress, engine, vocab_size, device=""):
        self.progress = progress
        self.engine = engine
        self.count = functools.partial(
            training_flops,
            engine.hparams.model,
            vocab_size,
            num_passes=engine.hparams.passes_per_update,
        )
        flops = flops_per_second(device) if device else None
        self.flops = flops or recognise(engine.device_name()) or math.nan

    def time(self, seconds):
        """Adds the cost of a duration."""
        self.progress["device_flops"] += cost_by_time(
            seconds, self.engine.num_replicas, self.flops
        )

    def update(self, batch):
        """Adds the arithmetic of an update.

        Args:
            batch: Dictionary as `update_batches` yields it.
        """
        self.progress["token_flops"] += self.count(batch["lengths"])
        *parts, input_len = batch["inputs"].shape
        rows = math.prod(parts) * self.engine.num_workers
        row = (input_len, batch["targets"].shape[-1])
        self.progress["position_flops"] += rows * self.count([row])


def known_costs(progress):
    """Returns the sums that are known, rounded for a table."""
    costs = {name: progress.get(name, math.nan) for name in COSTS}
    return {
        name: float(f"{cost:.6g}")
        for name, cost in costs.items()
        if not math.isnan(cost)
    }
