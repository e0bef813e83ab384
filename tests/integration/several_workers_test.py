"""Training with TensorFlow by several processes that act as machines."""

import json
import signal
import time

import pytest
from runs import differences
from runs import train
from workers import ALWAYS
from workers import Workers
from workers import check_same_losses

from keras_transformer.runs.run_directory import RunDirectory

HPARAMS = (
    "num_layers=1,d_model=16,d_ff=32,num_heads=2,dropout=0.2,learning_rate=0.1,"
    "warmup_steps=50,batch_tokens=64,extra_length=4,ema_decay=0.9"
)
NUM_UPDATES = 300
OPTIONS = {"eval_frequency": 150}
FLAGS = (
    f"--hparams={HPARAMS}",
    "--effective_batch_tokens=192",
    f"--train_steps={NUM_UPDATES}",
    f"--eval_frequency={OPTIONS['eval_frequency']}",
)


def train_alone(path, workers_run):
    """Trains the same run in this process without interruption."""
    alone = RunDirectory.create(
        str(path),
        workers_run.record,
        workers_run.hparams,
        workers_run.vocabulary.model_bytes,
    )
    train(alone, NUM_UPDATES, **OPTIONS)
    return alone


def interrupt(path, data_dir):
    """Stops two workers, later kills one of them, and lets them finish."""
    workers = Workers(path, data_dir, 2, *FLAGS, ALWAYS)
    workers.wait_for(10)
    workers.processes[1].send_signal(signal.SIGTERM)
    stopped = workers.end()
    arrays = workers.checkpoints.load()
    step = workers.checkpoints.steps[-1]

    workers = Workers(path, data_dir, 2, *FLAGS, ALWAYS)
    workers.wait_for(step + 10)
    workers.processes[1].kill()
    begin = time.monotonic()
    lost = *workers.end(), time.monotonic() - begin
    newest = workers.checkpoints.steps[-1]
    ended = Workers(path, data_dir, 2, *FLAGS).end()
    return (step, stopped, arrays), (newest, lost), ended


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("workers") / "run")


@pytest.fixture(scope="module")
def interrupted(copy_data, path):
    return interrupt(path, copy_data)


@pytest.mark.slow
class TwoWorkersTest:
    def test_signal_to_one_stops_both_with_a_checkpoint(self, interrupted):
        (step, (statuses, outs, _), _), _, _ = interrupted
        assert statuses == [0, 128 + signal.SIGTERM]
        assert json.loads(outs[0])["step"] == step < NUM_UPDATES

    def test_the_log_counts_the_rows_of_all_workers(self, interrupted):
        (*_, arrays), _, _ = interrupted
        # Sources and targets have the same length.
        assert arrays["log/filled"] == 2 * arrays["log/tokens"]
        assert arrays["log/positions"] >= arrays["log/filled"]

    def test_lost_worker_is_one_line_of_the_other(self, interrupted):
        _, (_, (statuses, _, messages, seconds)), _ = interrupted
        assert statuses == [2, -signal.SIGKILL]
        line = messages[0].splitlines()[-1]
        assert line.startswith(
            "kt-trainer: error: Another worker no longer answers"
        )
        assert "Received: Graph" not in line
        assert "Traceback" not in messages[0]
        assert seconds < 60

    def test_same_command_resumes_from_the_newest_checkpoint(self, interrupted):
        _, (newest, _), (statuses, outs, messages) = interrupted
        assert statuses == [0, 0]
        for each in messages:
            assert f"Resuming from step {newest}." in each
        assert json.loads(outs[0])["step"] == NUM_UPDATES

    def test_only_the_chief_prints(self, interrupted):
        _, _, (_, outs, messages) = interrupted
        assert outs[1] == ""
        assert "dev_loss" in messages[0]
        assert "dev_loss" not in messages[1]

    @pytest.mark.usefixtures("interrupted")
    def test_losses_equal_those_of_one_process(self, path, tmp_path):
        run = RunDirectory(path)
        check_same_losses(run, train_alone(tmp_path / "alone", run))

    @pytest.mark.slow
    @pytest.mark.usefixtures("interrupted")
    def test_interruptions_change_no_bit(self, path, copy_data, tmp_path):
        whole = str(tmp_path / "whole")
        assert Workers(whole, copy_data, 2, *FLAGS).end()[0] == [0, 0]
        assert differences(RunDirectory(path), RunDirectory(whole)) == []


@pytest.mark.slow
class MoreWorkersTest:
    def test_losses_of_three_equal_those_of_one(self, copy_data, tmp_path):
        path = str(tmp_path / "run")
        statuses, *_ = Workers(path, copy_data, 3, *FLAGS).end()
        assert statuses == [0, 0, 0]
        run = RunDirectory(path)
        check_same_losses(run, train_alone(tmp_path / "alone", run))

    def test_lost_chief_ends_all(self, copy_data, tmp_path):
        path = str(tmp_path / "run")
        workers = Workers(path, copy_data, 3, *FLAGS, ALWAYS)
        workers.wait_for(10)
        workers.processes[0].kill()
        statuses, _, messages = workers.end()
        assert statuses == [-signal.SIGKILL, 2, 2]
        for each in messages[1:]:
            assert (
                "error: Another worker no longer answers"
                in each.splitlines()[-1]
            )

    def test_hanging_worker_ends_the_others(self, copy_data, tmp_path):
        path = str(tmp_path / "run")
        workers = Workers(path, copy_data, 3, *FLAGS, ALWAYS)
        workers.wait_for(10)
        hanging = workers.processes.pop(1)
        hanging.send_signal(signal.SIGSTOP)
        statuses, *_ = workers.end()
        hanging.kill()
        hanging.communicate()
        assert statuses == [2, 2]
