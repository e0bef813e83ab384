import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from keras_transformer.checkpoints import Checkpoints
from keras_transformer.checkpoints import average

WRITER = """
import sys
import numpy as np
from keras_transformer.checkpoints import Checkpoints

checkpoints = Checkpoints(sys.argv[1])
step = 0
while True:
    step += 1
    array = np.full(3_000_000, step, "float32")
    checkpoints.save(step, {"model/a": array, "step": np.int64(step)}, keep=3)
    print(step, flush=True)
"""


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(str(tmp_path / "checkpoints"))


class CheckpointsTest:
    def test_what_was_saved_is_loaded(self, checkpoints):
        arrays = {"model/a": np.arange(3.0), "progress/step": np.int64(7)}
        checkpoints.save(7, arrays)
        loaded = checkpoints.load()
        assert loaded.keys() == arrays.keys()
        np.testing.assert_array_equal(loaded["model/a"], arrays["model/a"])

    def test_newest_are_kept(self, checkpoints):
        for step in (1, 2, 10, 11):
            checkpoints.save(step, {"a": np.zeros(1)}, keep=2)
        assert checkpoints.steps == [10, 11]

    def test_without_a_limit_all_are_kept(self, checkpoints):
        for step in (1, 2, 3):
            checkpoints.save(step, {"a": np.zeros(1)})
        assert checkpoints.steps == [1, 2, 3]

    def test_steps_are_in_the_order_of_numbers(self, checkpoints):
        for step in (9, 100, 20):
            checkpoints.save(step, {"a": np.zeros(1)})
        assert checkpoints.steps == [9, 20, 100]

    def test_missing_checkpoint_is_refused_by_step(self, checkpoints):
        checkpoints.save(5, {"a": np.zeros(1)})
        with pytest.raises(ValueError, match=r"step 6.*steps \[5\]"):
            checkpoints.load(6)

    def test_empty_directory_is_refused(self, checkpoints):
        with pytest.raises(ValueError, match="Train with kt-trainer"):
            checkpoints.load()

    def test_truncated_file_is_refused_by_name(self, checkpoints):
        path = checkpoints.save(5, {"a": np.zeros(1000)})
        os.truncate(path, 900)
        with pytest.raises(ValueError, match="complete .npz.*ckpt-5.npz"):
            checkpoints.load()

    def test_failed_save_leaves_the_earlier_one_and_no_rest(self, checkpoints):
        checkpoints.save(1, {"a": np.zeros(1)})
        os.mkdir(checkpoints.path(2))
        with pytest.raises(ValueError, match="must be a file"):
            checkpoints.save(2, {"a": np.zeros(1)})
        assert os.listdir(checkpoints.directory) == ["ckpt-1.npz", "ckpt-2.npz"]
        np.testing.assert_array_equal(checkpoints.load(1)["a"], [0])

    def test_kill_at_any_moment_leaves_a_whole_newest_one(self, tmp_path):
        checkpoints = Checkpoints(str(tmp_path))
        rng = np.random.default_rng()
        for _ in range(5):
            process = subprocess.Popen(
                [sys.executable, "-c", WRITER, str(tmp_path)],
                stdout=subprocess.PIPE,
            )
            process.stdout.readline()
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stdout.close()
            arrays = checkpoints.load()
            assert (arrays["model/a"] == arrays["step"]).all()
            checkpoints.remove_incomplete()
            names = os.listdir(tmp_path)
            assert not [name for name in names if "incomplete" in name]


class AverageTest:
    def test_equals_the_float64_mean(self, checkpoints):
        rng = np.random.default_rng(0)
        arrays = rng.normal(size=(4, 50)).astype("float32")
        for step, array in enumerate(arrays):
            checkpoints.save(step, {"model/a": array})
        steps, means = average(checkpoints, 3)
        expected = arrays[1:].astype("float64").mean(axis=0)
        assert steps == [1, 2, 3]
        assert means["model/a"].dtype == np.float32
        np.testing.assert_array_equal(
            means["model/a"], expected.astype("float32")
        )

    def test_leaves_out_all_but_the_weights(self, checkpoints):
        state = {"optimizer/m": np.ones(1), "random/0": np.ones(1)}
        checkpoints.save(1, {"model/a": np.ones(1), **state})
        _, means = average(checkpoints, 1)
        assert list(means) == ["model/a"]

    def test_too_few_checkpoints_are_refused(self, checkpoints):
        checkpoints.save(1, {"model/a": np.ones(1)})
        with pytest.raises(ValueError, match="=2, and 1 checkpoints"):
            average(checkpoints, 2)

    def test_other_shape_is_refused_by_name(self, checkpoints):
        checkpoints.save(1, {"model/a": np.ones(2)})
        checkpoints.save(2, {"model/a": np.ones(3)})
        with pytest.raises(ValueError, match=r"model/a with shape \(3,\)"):
            average(checkpoints, 2)

    def test_absent_weight_is_refused_by_name(self, checkpoints):
        checkpoints.save(1, {"model/a": np.ones(2), "model/b": np.ones(2)})
        checkpoints.save(2, {"model/a": np.ones(2)})
        with pytest.raises(ValueError, match="model/b with shape absent"):
            average(checkpoints, 2)
