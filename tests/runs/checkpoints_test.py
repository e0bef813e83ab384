import os

import numpy as np
import pytest

from keras_transformer.runs.averaging import average
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.checkpoints import Evaluation
from keras_transformer.runs.weights import select_decoding_weights


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(str(tmp_path / "checkpoints"))


class CheckpointsTest:
    def test_load_returns_what_was_saved(self, checkpoints):
        arrays = {"model/a": np.arange(3.0), "progress/step": np.int64(7)}
        checkpoints.save(7, arrays)
        loaded = checkpoints.load()
        assert loaded.keys() == arrays.keys()
        np.testing.assert_array_equal(loaded["model/a"], arrays["model/a"])

    def test_newest_are_kept(self, checkpoints):
        for step in (1, 2, 10, 11):
            checkpoints.save(step, {"a": np.zeros(1)})
        checkpoints.remove_outdated(keep_max=2)
        assert checkpoints.steps == [10, 11]

    def test_without_a_limit_all_are_kept(self, checkpoints):
        for step in (1, 2, 3):
            checkpoints.save(step, {"a": np.zeros(1)})
        checkpoints.remove_outdated()
        assert checkpoints.steps == [1, 2, 3]

    def test_steps_are_in_numerical_order(self, checkpoints):
        for step in (9, 100, 20):
            checkpoints.save(step, {"a": np.zeros(1)})
        assert checkpoints.steps == [9, 20, 100]

    def test_error_of_a_missing_checkpoint_names_its_step(self, checkpoints):
        checkpoints.save(5, {"a": np.zeros(1)})
        with pytest.raises(ValueError, match=r"step 6.*steps 5\."):
            checkpoints.load(6)

    def test_empty_directory_is_an_error(self, checkpoints):
        with pytest.raises(ValueError, match="Train with kt-trainer"):
            checkpoints.load()

    def test_error_of_a_truncated_file_names_it(self, checkpoints):
        path = checkpoints.save(5, {"a": np.zeros(1000)})
        os.truncate(path, 900)
        with pytest.raises(ValueError, match="ckpt-5.npz.*complete .npz"):
            checkpoints.load()

    def test_failed_save_leaves_the_earlier_one_and_no_leftovers(
        self, checkpoints
    ):
        checkpoints.save(1, {"a": np.zeros(1)})
        os.mkdir(checkpoints.path(2))
        with pytest.raises(ValueError, match="Cannot replace"):
            checkpoints.save(2, {"a": np.zeros(1)})
        names = sorted(os.listdir(checkpoints.directory))
        assert names == ["ckpt-1.npz", "ckpt-2.npz"]
        np.testing.assert_array_equal(checkpoints.load(1)["a"], [0])

    def test_best_is_the_one_with_the_greatest_score(self, checkpoints):
        for step in (1, 2, 3):
            checkpoints.save(step, {"a": np.full(1, step)})
            evaluation = Evaluation(step, score=-abs(step - 2.0))
            checkpoints.add_evaluations(evaluation)
        assert checkpoints.best_step == 2
        assert checkpoints.load("best")["a"] == [2]

    def test_best_without_a_score_is_an_error(self, checkpoints):
        checkpoints.save(1, {"a": np.zeros(1)})
        with pytest.raises(ValueError, match="with a score on dev.*steps 1"):
            checkpoints.load("best")

    def test_evaluation_replaces_an_earlier_one_of_its_step(self, checkpoints):
        checkpoints.save(1, {"a": np.zeros(1)})
        checkpoints.add_evaluations(Evaluation(1, 60.0))
        checkpoints.add_evaluations(Evaluation(1, 60.0, 3.5))
        assert checkpoints.evaluations == [Evaluation(1, 60.0, 3.5)]


class WeightsTest:
    def test_moving_average_replaces_the_weight(self):
        arrays = {"model/a": 1, "model/b": 2, "average/a": 3, "optimizer/a": 4}
        assert select_decoding_weights(arrays) == {"model/a": 3, "model/b": 2}


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

    def test_average_holds_only_the_weights(self, checkpoints):
        state = {"optimizer/m": np.ones(1), "random/0": np.ones(1)}
        checkpoints.save(1, {"model/a": np.ones(1), **state})
        _, means = average(checkpoints, 1)
        assert list(means) == ["model/a"]

    def test_averages_the_moving_averages_if_there_are_any(self, checkpoints):
        for step in (1, 2):
            arrays = {
                "model/a": np.zeros(1),
                "average/a": np.full(1, 2.0 * step),
            }
            checkpoints.save(step, arrays)
        _, means = average(checkpoints, 2)
        assert means == {"model/a": [3.0]}

    def test_of_those_between_evaluations_only_the_newest_counts(
        self, checkpoints
    ):
        checkpoints.add_evaluations()
        for step in (10, 15, 20, 24):
            checkpoints.save(step, {"model/a": np.full(1, step)})
        checkpoints.add_evaluations(Evaluation(10), Evaluation(20))
        steps, means = average(checkpoints, 3)
        assert steps == [10, 20, 24]
        assert means == {"model/a": [18]}
        with pytest.raises(ValueError, match="=4, and 3 checkpoints"):
            average(checkpoints, 4)

    def test_the_newest_counts_once(self, checkpoints):
        for step in (10, 20):
            checkpoints.save(step, {"model/a": np.full(1, step)})
            checkpoints.add_evaluations(Evaluation(step))
        assert average(checkpoints, 2)[0] == [10, 20]

    def test_a_training_may_delete_what_is_being_averaged(self, checkpoints):
        """The list of checkpoints is older than what is then on the disk."""

        class Training(Checkpoints):
            def load(self, *args):
                if self.steps == [10, 15]:
                    self.save(20, {"model/a": np.full(1, 20)})
                    self.add_evaluations(Evaluation(20))
                    self.remove_outdated()
                return super().load(*args)

        checkpoints.add_evaluations()
        for step in (10, 15):
            checkpoints.save(step, {"model/a": np.full(1, step)})
        checkpoints.add_evaluations(Evaluation(10))
        steps, means = average(Training(checkpoints.directory), 2)
        assert (steps, means) == ([10, 20], {"model/a": [15]})

    def test_much_older_best_does_not_count(self, checkpoints):
        for step in (1, 2, 3, 4):
            checkpoints.save(step, {"model/a": np.ones(1)})
            checkpoints.add_evaluations(Evaluation(step, score=-step))
        checkpoints.remove_outdated(keep_max=2)
        assert checkpoints.steps == [1, 3, 4]
        expected = "=3, and 2 checkpoints.*greater --keep_checkpoint_max"
        with pytest.raises(ValueError, match=expected):
            average(checkpoints, 3)

    def test_too_few_checkpoints_are_an_error(self, checkpoints):
        checkpoints.save(1, {"model/a": np.ones(1)})
        expected = "=2, and 1 checkpoints.*smaller --eval_frequency.*s\\.$"
        with pytest.raises(ValueError, match=expected):
            average(checkpoints, 2)

    def test_timed_ones_are_averaged_alone(self, checkpoints):
        for step in range(1, 8):
            checkpoints.save(step, {"model/a": np.full(1, float(step))})
        checkpoints.add_evaluations(Evaluation(3), Evaluation(6))
        checkpoints.add_timed_steps(1, 2, 5)
        steps, means = average(checkpoints, 2, "timed")
        assert (steps, means) == ([2, 5], {"model/a": [3.5]})
        expected = "=4, and 3 timed checkpoints.*--timed_checkpoint_minutes"
        with pytest.raises(ValueError, match=expected):
            average(checkpoints, 4, "timed")

    def test_timed_one_that_is_kept_as_the_best_does_not_count(
        self, checkpoints
    ):
        for step in range(1, 6):
            checkpoints.save(step, {"model/a": np.ones(1)})
        checkpoints.add_evaluations(Evaluation(1, score=9.0))
        checkpoints.add_timed_steps(1, 2, 3, 4)
        checkpoints.remove_outdated(keep_max=2)
        assert checkpoints.steps == [1, 3, 4, 5]
        expected = "=3, and 2 timed.*greater --keep_checkpoint_max"
        with pytest.raises(ValueError, match=expected):
            average(checkpoints, 3, "timed")

    def test_a_link_to_itself_is_an_error(self, checkpoints):
        checkpoints.save(1, {"model/a": np.ones(1)})
        os.symlink("ckpt-2.npz", checkpoints.path(2))
        with pytest.raises(ValueError, match="ckpt-2.npz"):
            average(checkpoints, 2)

    def test_no_checkpoint_is_an_error(self, checkpoints):
        with pytest.raises(ValueError, match="Train with kt-trainer first"):
            average(checkpoints, 2)

    def test_error_of_another_shape_names_the_weight(self, checkpoints):
        checkpoints.save(1, {"model/a": np.ones(2)})
        checkpoints.save(2, {"model/a": np.ones(3)})
        with pytest.raises(ValueError, match=r"model/a' is of shape \(2,\)"):
            average(checkpoints, 2)

    def test_error_of_an_absent_weight_names_it(self, checkpoints):
        checkpoints.save(1, {"model/a": np.ones(2), "model/b": np.ones(2)})
        checkpoints.save(2, {"model/a": np.ones(2)})
        with pytest.raises(
            ValueError, match="model/b' is of shape .* but must be absent"
        ):
            average(checkpoints, 2)
