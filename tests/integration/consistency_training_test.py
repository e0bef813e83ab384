"""Whole trainings with consistency."""

import numpy as np
import pytest
from runs import differences
from runs import evaluations
from runs import metrics
from runs import train
from several_devices_test import HPARAMS as SMALL
from several_devices_test import NUM_UPDATES
from several_devices_test import train_on_several

from keras_transformer.training import trainer as training

KINDS = pytest.mark.parametrize("kind", ["simcut", "r_drop"])


def figures(run, name):
    return [float(row[name]) for row in metrics(run) if row[name]]


@pytest.mark.slow
class ConsistencyTrainingTest:
    def test_resumed_run_is_the_same_bit_for_bit(self, make_run, monkeypatch):
        monkeypatch.setattr(training, "LOG_FREQUENCY", 1)
        options = {**SMALL, "consistency": "simcut", "packed": True}
        whole, stopped = make_run(**options), make_run(**options)
        train(whole, 6, eval_frequency=3)
        for step in (3, 6):
            train(stopped, step, eval_frequency=3)
        assert differences(stopped, whole) == []
        divergences = figures(whole, "train_consistency")
        assert len(divergences) == 6
        assert min(divergences) > 0

    @KINDS
    def test_two_devices_make_the_updates_of_one(
        self, make_run, monkeypatch, kind
    ):
        monkeypatch.setattr(training, "LOG_FREQUENCY", 1)
        options = {**SMALL, "consistency": kind}
        one, two = make_run(**options), make_run(**options)
        train(one, NUM_UPDATES)
        output = train_on_several(two, 2)
        assert "num_rounds=2, num_replicas=2" in output
        for name in ("train_loss", "train_consistency", "gradient_norm"):
            np.testing.assert_allclose(
                figures(two, name), figures(one, name), rtol=1e-3
            )

    @KINDS
    def test_copying_is_learned(self, make_run, kind):
        run = make_run(dropout=0.1, consistency=kind)
        train(run, 1200, eval_frequency=600)
        assert float(evaluations(run)[-1]["dev_bleu"]) > 95
