"""Training on several virtual devices in another process."""

import subprocess
import sys

import numpy as np
import pytest
from processes import environment
from runs import metrics
from runs import state_of
from runs import train

from keras_transformer.training import trainer as training

HPARAMS = {
    "d_model": 16,
    "d_ff": 32,
    "num_heads": 2,
    "dropout": 0.3,
    "attention_dropout": 0.1,
    "learning_rate": 0.1,  # a greater one would amplify rounding errors
    "warmup_steps": 10,
    "batch_tokens": 64,
    "effective_batch_tokens": 200,
    "gradient_clip_norm": 1.0,
    "ema_decay": 0.9,
    "extra_length": 4,
}
NUM_UPDATES, NUM_MORE = 20, 5

SCRIPT = f"""
import sys
from keras_transformer.bin.shared.backend import load_backend

load_backend()

import tensorflow as tf

cpus = tf.config.list_physical_devices("CPU")
devices = [tf.config.LogicalDeviceConfiguration()] * int(sys.argv[2])
tf.config.set_logical_device_configuration(cpus[0], devices)

from keras_transformer.training import trainer as training
from keras_transformer.training.backends import tensorflow_backend
from keras_transformer.runs.run_directory import RunDirectory
from runs import train

training.LOG_FREQUENCY = 1
run = RunDirectory(sys.argv[1])
try:
    tensorflow_backend.TensorflowBackend(run.hparams, "float16")
except ValueError as error:
    print(error)
trainer, _ = train(run, {NUM_UPDATES})
(update,) = trainer.backend._updates.values()
num_traces = update.experimental_get_tracing_count()
print(trainer.layout, "traces:", num_traces)
"""


def train_on_several(run, num_devices):
    """Trains a run in another process; returns its output."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, run.path, str(num_devices)],
        env=environment(__file__),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def figures(run, name):
    return np.array([float(row[name]) for row in metrics(run) if row[name]])


@pytest.fixture(scope="module", autouse=True)
def a_row_for_each_update():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "LOG_FREQUENCY", 1)
        yield


@pytest.fixture(scope="module")
def on_one(make_run):
    """A run on one device, with four rounds of accumulation."""
    run = make_run(**HPARAMS)
    options = {"eval_frequency": NUM_UPDATES}
    trainer, _ = train(run, NUM_UPDATES + NUM_MORE, **options)
    assert trainer.layout.num_rounds == 4
    return run


def check_same_losses(run, on_one, num_updates):
    losses = figures(run, "train_loss")
    assert len(losses) == num_updates
    expected = figures(on_one, "train_loss")[:num_updates]
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    # A single device evaluates the averages of the weights.
    evaluated = figures(run, "dev_loss")
    expected = figures(on_one, "dev_loss")[: len(evaluated)]
    np.testing.assert_allclose(evaluated, expected, rtol=1e-5)


class SeveralDevicesTest:
    def test_two_make_the_updates_of_one_which_can_resume(
        self, make_run, on_one
    ):
        run = make_run(**HPARAMS)
        output = train_on_several(run, 2)
        assert "num_rounds=2, num_replicas=2" in output
        assert "traces: 1\n" in output  # for all shapes
        assert "2 devices. Use bfloat16" in output  # instead of float16
        check_same_losses(run, on_one, NUM_UPDATES)
        trainer, _ = train(run, NUM_UPDATES + NUM_MORE)
        assert trainer.layout.num_replicas == 1
        check_same_losses(run, on_one, NUM_UPDATES + NUM_MORE)
        assert state_of(run).keys() == state_of(on_one).keys()

    @pytest.mark.slow
    @pytest.mark.parametrize("num_devices, num_rounds", [(3, 2), (4, 1)])
    def test_more_make_the_updates_of_one(
        self, make_run, on_one, num_devices, num_rounds
    ):
        run = make_run(**HPARAMS)
        output = train_on_several(run, num_devices)
        layout = f"num_rounds={num_rounds}, num_replicas={num_devices}"
        assert layout in output
        check_same_losses(run, on_one, NUM_UPDATES)

    @pytest.mark.slow
    def test_four_can_resume_a_run_of_one(self, make_run, on_one):
        run = make_run(**HPARAMS)
        train(run, NUM_UPDATES // 2)
        train_on_several(run, 4)
        losses = figures(run, "train_loss")
        expected = figures(on_one, "train_loss")[:NUM_UPDATES]
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
