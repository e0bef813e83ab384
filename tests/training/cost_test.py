import math
import types

import numpy as np
import pytest

from keras_transformer.cost.arithmetic import training_flops
from keras_transformer.hparam import HParams
from keras_transformer.runs.metrics_table import COSTS
from keras_transformer.training.cost import TrainingCost
from keras_transformer.training.cost import known_costs

HPARAMS = HParams(num_layers=1, d_model=4, d_ff=8, num_heads=2)
# One round of one replica with three rows of which one is empty.
BATCH = {
    "inputs": np.zeros((1, 1, 3, 6), "int32"),
    "targets": np.zeros((1, 1, 3, 4), "int32"),
    "lengths": np.array([[6, 2], [3, 4]]),
}


def make_cost(device="", name="", progress=None):
    engine = types.SimpleNamespace(
        hparams=HPARAMS,
        num_replicas=8,
        num_workers=2,
        device_name=lambda: name,
    )
    progress = progress or dict.fromkeys(COSTS, 0.0)
    return TrainingCost(progress, engine, 10, device)


class TrainingCostTest:
    def test_time_counts_for_all_devices(self):
        cost = make_cost("P100")
        for hours in (4, 8):
            cost.time(hours * 3600)
        assert f"{cost.progress['device_flops']:.1e}" == "3.3e+18"

    def test_a_gpu_is_known_by_its_name_unless_the_user_names_it(self):
        assert make_cost(name="Tesla K80").flops == 2.8e12
        assert make_cost("M40", name="Tesla K80").flops == 6e12

    def test_an_unknown_device_leaves_the_paper_formula_empty(self):
        cost = make_cost(name="cpu")
        cost.time(1.0)
        cost.update(BATCH)
        assert known_costs(cost.progress).keys() == set(COSTS[1:])

    def test_tokens_and_positions_are_counted_apart(self):
        cost = make_cost()
        for _ in range(2):
            cost.update(BATCH)
        tokens = training_flops(HPARAMS.model, 10, BATCH["lengths"])
        assert cost.progress["token_flops"] == 2 * tokens
        # Three rows on each of two workers.
        row = training_flops(HPARAMS.model, 10, [(6, 4)])
        assert cost.progress["position_flops"] == 2 * 6 * row

    def test_a_cost_that_nobody_counted_stays_unknown(self):
        cost = make_cost(progress=dict.fromkeys(COSTS, math.nan))
        cost.update(BATCH)
        assert known_costs(cost.progress) == {}

    def test_figures_of_a_table_have_six_digits(self):
        assert known_costs({"token_flops": 1234567890.0}) == {
            "token_flops": pytest.approx(1234570000.0)
        }
