import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.checkpoints import CheckpointWriter
from keras_transformer.runs.checkpoints import Evaluation

WRITE_ON = """
import sys
import numpy as np
from keras_transformer.runs.checkpoints import CheckpointWriter
from keras_transformer.runs.checkpoints import Checkpoints

checkpoints = Checkpoints(sys.argv[1])
checkpoints.remove_incomplete()
writer = CheckpointWriter(checkpoints, keep_max=3)
step = (checkpoints.steps or [0])[-1]
while True:
    step += 1
    array = np.full(3_000_000, step, "float32")
    arrays = {"model/a": array, "step": np.int64(step)}
    writer.save(step, arrays, is_evaluated=step % 2 == 0)
    if step % 2 == 0:
        writer.score(step, step)
    else:
        writer.wait()
    print(step, flush=True)
"""
ARRAYS = {"model/a": np.zeros(1000)}


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(str(tmp_path / "checkpoints"))


class CheckpointWriterTest:
    def test_checkpoint_is_complete_after_waiting(self, checkpoints):
        writer = CheckpointWriter(checkpoints)
        writer.save(7, {"model/a": np.arange(3.0)})
        writer.wait()
        np.testing.assert_array_equal(checkpoints.load()["model/a"], [0, 1, 2])

    def test_caller_continues_while_a_thread_writes(self, checkpoints):
        # Opening a pipe for writing blocks until it is opened for reading.
        writer = CheckpointWriter(checkpoints)
        aside = checkpoints.path(1) + ".kt-incomplete"
        os.mkfifo(aside)
        writer.save(1, ARRAYS)
        steps_meanwhile = checkpoints.steps
        with open(aside, "rb"), pytest.raises(OSError):  # a pipe has no fsync
            writer.wait()
        assert steps_meanwhile == []

    def test_next_save_completes_the_one_before(self, checkpoints):
        writer = CheckpointWriter(checkpoints)
        for step in (1, 2, 3):
            writer.save(step, ARRAYS, is_evaluated=True)
            assert checkpoints.steps[: step - 1] == list(range(1, step))
        writer.wait()
        assert checkpoints.steps == [1, 2, 3]

    def test_intermediate_checkpoint_is_deleted_after_the_next(
        self, checkpoints
    ):
        writer = CheckpointWriter(checkpoints, keep_max=2)
        steps = []
        for step in range(1, 7):
            writer.save(step, ARRAYS, is_evaluated=step % 2 == 0)
            writer.wait()
            steps.append(checkpoints.steps)
        assert steps[:3] == [[1], [2], [2, 3]]
        assert steps[3:] == [[2, 4], [2, 4, 5], [4, 6]]

    def test_best_is_remembered_by_the_next_process(self, checkpoints):
        for step in (1, 2, 3, 4):
            writer = CheckpointWriter(checkpoints, keep_max=1)
            writer.save(step, ARRAYS, is_evaluated=True)
            writer.score(step, 9.0 if step == 2 else step)
        assert checkpoints.steps == [2, 4]
        assert checkpoints.best_step == 2

    def test_earlier_best_is_deleted_after_a_better_one(self, checkpoints):
        writer = CheckpointWriter(checkpoints, keep_max=1)
        for step, score in ((1, 5.0), (2, 4.0), (3, 6.0)):
            writer.save(step, ARRAYS, is_evaluated=True)
            writer.score(step, score)
        assert checkpoints.steps == [3]

    def test_one_per_hour_is_kept(self, checkpoints):
        writer = CheckpointWriter(checkpoints, 1, keep_every_n_hours=1)
        for step in range(1, 6):
            writer.save(step, ARRAYS, is_evaluated=True, seconds=1500 * step)
        writer.wait()
        assert checkpoints.steps == [3, 5]

    def test_newest_timed_are_kept_beside_the_newest_evaluated(
        self, checkpoints
    ):
        writer = CheckpointWriter(checkpoints, keep_max=2)
        for step in range(1, 10):
            kinds = {"is_evaluated": step % 4 == 0, "is_timed": step % 3 == 0}
            writer.save(step, ARRAYS, **kinds)
        writer.wait()
        assert checkpoints.timed_steps == [3, 6, 9]
        assert checkpoints.steps == [4, 6, 8, 9]

    def test_score_that_is_not_finite_does_not_count(self, checkpoints):
        writer = CheckpointWriter(checkpoints)
        for step, score in ((1, 1.0), (2, float("nan"))):
            writer.save(step, ARRAYS, is_evaluated=True)
            writer.score(step, score)
        assert checkpoints.best_step == 1

    def test_a_checkpoint_may_be_deleted_during_its_evaluation(
        self, checkpoints
    ):
        writer = CheckpointWriter(checkpoints)
        writer.save(1, ARRAYS, is_evaluated=True)
        writer.wait()
        os.remove(checkpoints.path(1))
        writer.score(1, 5.0)
        writer.save(2, ARRAYS, is_evaluated=True)
        writer.score(2, 4.0)
        assert checkpoints.best_step == 2

    def test_checkpoints_of_an_older_version_count_as_evaluated(
        self, checkpoints
    ):
        for step in (1, 2):
            checkpoints.save(step, ARRAYS)
        writer = CheckpointWriter(checkpoints)
        writer.save(3, ARRAYS)
        writer.wait()
        assert checkpoints.evaluations == [Evaluation(1), Evaluation(2)]

    def test_records_of_a_lost_checkpoint_are_dropped_at_the_start(
        self, checkpoints
    ):
        checkpoints.save(1, ARRAYS)
        checkpoints.add_evaluations(Evaluation(1), Evaluation(2))
        checkpoints.add_timed_steps(1)
        # As if the process had been killed before it wrote the checkpoint.
        checkpoints.add_timed_steps(2)
        writer = CheckpointWriter(checkpoints)
        writer.save(3, ARRAYS)
        writer.wait()
        assert checkpoints.evaluations == [Evaluation(1)]
        assert checkpoints.timed_steps == [1]


class FaultTest:
    def test_full_disk_is_raised_in_the_thread_of_the_caller(
        self, checkpoints, limit_files
    ):
        writer = CheckpointWriter(checkpoints)
        writer.save(1, ARRAYS, is_evaluated=True)
        writer.wait()
        limit_files(50_000)
        writer.save(2, {"model/a": np.zeros(100_000)}, is_evaluated=True)
        with pytest.raises(OSError, match="ckpt-2.npz: .*Make room"):
            writer.save(3, ARRAYS)
        writer.wait()  # an error is raised once
        assert checkpoints.steps == [1]
        assert checkpoints.evaluations == [Evaluation(1)]
        np.testing.assert_array_equal(checkpoints.load()["model/a"], 0)
        names = ["ckpt-1.npz", "evaluations.json"]
        assert sorted(os.listdir(checkpoints.directory)) == names

    def test_writes_again_once_there_is_room(self, checkpoints, limit_files):
        writer = CheckpointWriter(checkpoints)
        limit_files(5_000)
        writer.save(1, ARRAYS)
        with pytest.raises(OSError, match="File too large"):
            writer.wait()
        limit_files(50_000)
        writer.save(2, ARRAYS)
        writer.wait()
        assert checkpoints.steps == [2]

    def test_kill_at_any_moment_leaves_a_complete_newest_one(self, tmp_path):
        checkpoints = Checkpoints(str(tmp_path))
        rng = np.random.default_rng()
        for _ in range(6):
            process = subprocess.Popen(
                [sys.executable, "-c", WRITE_ON, str(tmp_path)],
                stdout=subprocess.PIPE,
            )
            printed_steps = [int(process.stdout.readline()) for _ in range(2)]
            time.sleep(rng.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
            printed_steps += map(int, process.stdout.read().split())
            process.wait()
            process.stdout.close()
            arrays = checkpoints.load()
            assert (arrays["model/a"] == arrays["step"]).all()
            assert checkpoints.steps[-1] >= printed_steps[-1]
            for evaluation in checkpoints.evaluations:
                assert evaluation.step % 2 == 0
            for step in checkpoints.steps[:-2]:
                assert step % 2 == 0

    def test_process_that_ends_completes_its_last_checkpoint(self, tmp_path):
        head, _ = WRITE_ON.split("while True")
        script = head + 'writer.save(5, {"a": np.zeros(5_000_000)})'
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path)], check=True
        )
        assert Checkpoints(str(tmp_path)).load()["a"].shape == (5_000_000,)
