from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_transformer.hparam import HParams
from keras_transformer.runs.averaging import average
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.metrics_table import COSTS
from keras_transformer.training.options import TrainingOptions
from keras_transformer.training.state import TrainingState
from keras_transformer.training.state import _report_peak

MINUTES = np.cumsum(np.random.default_rng(0).uniform(0.1, 7, 60))
# The first update after each 10 minutes of training.
TIMED_STEPS = [
    step
    for step in range(1, 61)
    if MINUTES[step - 1] // 10 > (MINUTES[step - 2] // 10 if step > 1 else 0)
]


class OneWeight:
    """An engine whose model is a single weight."""

    def __init__(self, is_chief=True):
        weight = keras.Variable([0.0], name="weight")
        self.model = SimpleNamespace(
            variables=[weight], trainable_variables=[weight]
        )
        self.optimizer = keras.optimizers.SGD()
        self.optimizer.build([weight])
        self.is_chief = is_chief

    def broadcast_from_chief(self, number):
        return number

    def synchronise(self):
        pass

    def reload(self):
        pass


@pytest.fixture
def run(tmp_path):
    checkpoints = Checkpoints(str(tmp_path / "ckpt"))
    return SimpleNamespace(checkpoints=checkpoints, hparams=HParams())


def train(run, until, is_chief=True, **options):
    """Counts updates and their training time; returns the steps saved."""
    options = {"timed_checkpoint_minutes": 10, **options}
    options = TrainingOptions(save_checkpoints_secs=1e9, **options)
    state = TrainingState(run, OneWeight(is_chief), options)
    saved = []
    while state.progress["step"] < until:
        state.progress["step"] += 1
        step = state.progress["step"]
        state.progress["seconds"] = 60 * MINUTES[step - 1]
        if state.is_save_due:
            state.save({})
            saved.append(step)
    state.wait()
    return saved


class TimedCheckpointTest:
    def test_each_interval_of_training_time_has_one(self, run):
        assert train(run, 60) == TIMED_STEPS
        assert run.checkpoints.timed_steps == TIMED_STEPS
        assert run.checkpoints.steps == TIMED_STEPS[-20:]
        assert run.checkpoints.evaluations == []

    def test_a_resumed_training_continues_its_clock(self, run):
        for until in range(3, 61, 3):
            train(run, until)
        assert run.checkpoints.timed_steps == TIMED_STEPS

    def test_save_for_another_reason_is_timed_when_it_is_due(self, run):
        options = TrainingOptions(timed_checkpoint_minutes=10)
        state = TrainingState(run, OneWeight(), options)
        for step, minutes in ((1, 9), (2, 11), (3, 19), (4, 31), (5, 35)):
            state.progress.update(step=step, seconds=60.0 * minutes)
            state.save({}, is_evaluated=True)
        state.wait()
        assert run.checkpoints.timed_steps == [2, 4]
        assert run.checkpoints.steps == [1, 2, 3, 4, 5]

    def test_by_default_there_are_none(self, run):
        assert train(run, 60, timed_checkpoint_minutes=0.0) == []
        assert run.checkpoints.timed_steps == []

    def test_the_newest_are_averaged(self, run):
        train(run, 60, keep_checkpoint_max=5)
        assert run.checkpoints.steps == TIMED_STEPS[-5:]
        steps, _ = average(run.checkpoints, 4, "timed")
        assert steps == TIMED_STEPS[-4:]

    def test_other_workers_write_none(self, run):
        assert train(run, 60, is_chief=False) == TIMED_STEPS
        assert run.checkpoints.steps == []


class WorkersTest:
    def test_another_checkpoint_than_the_chiefs_is_refused(self, run):
        train(run, 60)
        run.path = "run"
        engine = OneWeight(is_chief=False)
        engine.broadcast_from_chief = lambda number: number + 10
        message = "the newest is that of step .* for the chief. Start all"
        with pytest.raises(ValueError, match=message):
            TrainingState(run, engine, TrainingOptions())


class WarmStartTest:
    @pytest.mark.parametrize(
        "optimizers, is_warned",
        [
            (("adam", "adam"), True),
            (("adafactor", "adafactor"), True),
            (("adam", "adafactor"), False),  # whose rates mean other things
        ],
    )
    def test_a_higher_rate_of_the_same_kind_is_warned_of(
        self, capsys, optimizers, is_warned
    ):
        runs = [
            SimpleNamespace(
                path="run",
                hparams=HParams(optimizer=optimizer, peak_learning_rate=peak),
            )
            for optimizer, peak in zip(optimizers, (0.001, 0.01))
        ]
        _report_peak(*runs)
        assert ("rate peaks at 1.00e-02" in capsys.readouterr().err) is (
            is_warned
        )


class CostTest:
    def test_a_resumed_training_continues_its_cost(self, run):
        options = TrainingOptions()
        state = TrainingState(run, OneWeight(), options)
        state.progress.update(step=1, token_flops=3e15, device_flops=np.nan)
        state.save({})
        state.wait()
        resumed = TrainingState(run, OneWeight(), options).progress
        assert resumed["token_flops"] == 3e15
        assert np.isnan(resumed["device_flops"])

    def test_the_cost_of_a_run_of_an_earlier_version_is_unknown(self, run):
        state = TrainingState(run, OneWeight(), TrainingOptions())
        state.progress["step"] = 1
        for name in COSTS:
            del state.progress[name]
        state.save({})
        state.wait()
        resumed = TrainingState(run, OneWeight(), TrainingOptions()).progress
        assert all(np.isnan(resumed[name]) for name in COSTS)
