"""Training with JAX by two processes that act as machines.

The rows are packed, so there is one shape to compile.
"""

import json
import signal
import time

import keras
import pytest
from runs import differences
from workers import ALWAYS
from workers import Workers
from workers import check_same_losses

from keras_transformer.runs.run_directory import RunDirectory

if keras.backend.backend() != "tensorflow":
    pytest.skip("starts processes on JAX", allow_module_level=True)
pytest.importorskip("jax")

NUM_UPDATES = 200
FLAGS = (
    "--hparams=num_layers=1,d_model=16,d_ff=32,num_heads=2,dropout=0.2,"
    "learning_rate=0.1,warmup_steps=50,batch_tokens=64,max_length=24,"
    "extra_length=4,ema_decay=0.9,packed=true",
    "--effective_batch_tokens=192",
)


def start(path, data_dir, num_workers, *flags, num_updates=NUM_UPDATES):
    return Workers(
        str(path),
        data_dir,
        num_workers,
        *FLAGS,
        f"--train_steps={num_updates}",
        f"--eval_frequency={num_updates // 2}",
        *flags,
        KERAS_BACKEND="jax",
    )


def lose(number, path, data_dir):
    """Kills a worker; returns how the other ends, and after how long."""
    workers = start(path, data_dir, 2, ALWAYS)
    workers.wait_for(max(workers.checkpoints.steps, default=0) + 5)
    workers.processes[number].kill()
    begin = time.monotonic()
    statuses, _, messages = workers.end()
    assert statuses[number] == -signal.SIGKILL
    seconds = time.monotonic() - begin
    return statuses[1 - number], messages[1 - number], seconds


@pytest.fixture(scope="module")
def whole(copy_data, tmp_path_factory):
    """Path of a run that two workers trained without interruption."""
    path = str(tmp_path_factory.mktemp("jax") / "whole")
    assert start(path, copy_data, 2).end()[0] == [0, 0]
    return path


class TwoJaxWorkersTest:
    @pytest.mark.slow
    def test_losses_equal_those_of_one_process(self, copy_data, tmp_path):
        runs = []
        for number in (1, 2):
            path = str(tmp_path / f"run{number}")
            workers = start(path, copy_data, number, num_updates=102)
            statuses, outputs, messages = workers.end()
            assert statuses == [0] * number, messages
            assert json.loads(outputs[0])["step"] == 102
            assert not any(outputs[1:])
            runs.append(RunDirectory(path))
        check_same_losses(*runs)

    @pytest.mark.slow
    def test_interruptions_change_no_bit(self, whole, copy_data, tmp_path):
        path = str(tmp_path / "run")
        workers = start(path, copy_data, 2, ALWAYS)
        workers.wait_for(5)
        workers.processes[1].send_signal(signal.SIGTERM)
        assert workers.end()[0] == [0, 128 + signal.SIGTERM]

        status, message, seconds = lose(1, path, copy_data)
        assert seconds < 60
        assert status == 2
        line = message.splitlines()[-1]
        assert "error: Another worker no longer answers" in line
        assert "Traceback" not in message

        # JAX itself ends the workers of a chief that is lost.
        status, _, seconds = lose(0, path, copy_data)
        assert seconds < 60
        assert status in (2, -signal.SIGABRT)

        newest = workers.checkpoints.steps[-1]
        assert newest < NUM_UPDATES
        statuses, _, messages = start(path, copy_data, 2).end()
        assert statuses == [0, 0]
        for each in messages:
            assert f"Resuming from step {newest}." in each
        assert differences(RunDirectory(path), RunDirectory(whole)) == []

    @pytest.mark.slow
    def test_a_hanging_worker_ends_the_other(self, copy_data, tmp_path):
        workers = start(tmp_path / "run", copy_data, 2, ALWAYS)
        workers.wait_for(5)
        hanging = workers.processes.pop(1)
        hanging.send_signal(signal.SIGSTOP)
        (status,), *_ = workers.end()
        hanging.kill()
        hanging.communicate()
        assert status in (2, -signal.SIGABRT)
