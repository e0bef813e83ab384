import itertools

import numpy as np
import pytest

from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.checkpoints import Evaluation
from keras_transformer.runs.checkpoints import find_best_step
from keras_transformer.runs.checkpoints import find_newest_without_gap
from keras_transformer.runs.checkpoints import select_kept

HOUR = 3600.0


def evaluations(*steps):
    return [Evaluation(step) for step in steps]


@pytest.fixture
def checkpoints(tmp_path):
    """A function that returns the empty checkpoints of some steps."""

    def make(*steps):
        for step in steps:
            (tmp_path / f"ckpt-{step}.npz").touch()
        return Checkpoints(str(tmp_path))

    return make


class EvaluationsFileTest:
    def test_it_holds_what_was_added(self, checkpoints):
        evaluated = [Evaluation(1, 60.0, 20.5), Evaluation(2, 120.0, None)]
        checkpoints(1, 2).add_evaluations(*evaluated)
        assert checkpoints().evaluations == evaluated

    def test_empty_file_differs_from_no_file(self, checkpoints, tmp_path):
        assert checkpoints(1, 2).evaluations == evaluations(1, 2)
        (tmp_path / "evaluations.json").write_text("[]")
        assert checkpoints().evaluations == []

    def test_evaluation_of_an_incomplete_checkpoint_is_ignored(
        self, checkpoints
    ):
        checkpoints(2).add_evaluations(*evaluations(1, 2, 3))
        assert checkpoints().evaluations == evaluations(1, 2)

    @pytest.mark.parametrize("text", ["{", "3", "[3]", '[{"stop": 1}]'])
    def test_error_of_another_content_names_the_file(
        self, checkpoints, tmp_path, text
    ):
        (tmp_path / "evaluations.json").write_text(text)
        with pytest.raises(ValueError, match="evaluations.json.*Delete it"):
            assert checkpoints(1).evaluations


class TimedFileTest:
    def test_it_holds_what_was_added(self, checkpoints):
        assert checkpoints(1, 2).timed_steps == []
        checkpoints().add_timed_steps(1, 2)
        assert checkpoints().timed_steps == [1, 2]

    def test_record_of_an_incomplete_checkpoint_is_ignored(
        self, checkpoints, tmp_path
    ):
        checkpoints().add_timed_steps(1, 2, 3)
        assert checkpoints().timed_steps == []
        assert checkpoints(2).timed_steps == [1, 2]

    @pytest.mark.parametrize("text", ["{", "3", '["3"]', "[2, 1]", "[1, 1]"])
    def test_error_of_another_content_names_the_file(
        self, checkpoints, tmp_path, text
    ):
        (tmp_path / "timed.json").write_text(text)
        with pytest.raises(ValueError, match="timed.json.*Delete it"):
            assert checkpoints(1).timed_steps


def hourly(*minutes):
    return [Evaluation(i, 60.0 * m) for i, m in enumerate(minutes, start=1)]


class KeptStepsTest:
    def test_newest_evaluated_are_kept(self):
        assert select_kept([1, 2, 3, 4], evaluations(1, 2, 3, 4), 2) == [
            3,
            4,
        ]

    def test_without_a_limit_all_evaluated_are_kept(self):
        assert select_kept([1, 2, 3], evaluations(1, 2, 3)) == [1, 2, 3]

    def test_intermediate_checkpoint_is_dropped_after_a_newer_one(self):
        assert select_kept([10, 15], evaluations(10), 5) == [10, 15]
        assert select_kept([10, 15, 17], evaluations(10), 5) == [10, 17]
        assert select_kept([10, 15, 20], evaluations(10, 20), 5) == [
            10,
            20,
        ]

    def test_intermediate_ones_do_not_displace_evaluated_ones(self):
        assert select_kept([1, 2, 3, 4], evaluations(1, 2), 2) == [
            1,
            2,
            4,
        ]

    def test_timed_ones_do_not_displace_evaluated_ones(self):
        kept = select_kept(range(1, 9), evaluations(3, 6), 2, 0.0, [1, 2, 4, 5])
        assert kept == [3, 4, 5, 6, 8]

    def test_one_that_is_timed_and_evaluated_counts_as_both(self):
        kept = select_kept(range(1, 6), evaluations(1, 2), 1, 0.0, [1, 2])
        assert kept == [2, 5]

    def test_best_is_kept_at_any_age(self):
        scored = [Evaluation(i, score=-i) for i in range(1, 6)]
        assert select_kept([1, 2, 3, 4, 5], scored, 1) == [1, 5]

    def test_first_of_each_period_of_training_is_kept(self):
        evaluated = hourly(20, 50, 70, 100, 130, 310, 320)
        steps = [e.step for e in evaluated]
        assert select_kept(steps, evaluated, 1, 1.0) == [3, 5, 6, 7]

    def test_result_does_not_depend_on_earlier_deletions(self):
        rng = np.random.default_rng(0)
        minutes = np.cumsum(rng.uniform(5, 50, 40))
        scores = rng.normal(size=40)
        evaluated = [
            Evaluation(i, 60 * m, s)
            for i, (m, s) in enumerate(zip(minutes, scores))
        ]
        kept = []
        for i in range(len(evaluated)):
            kept = select_kept([*kept, i], evaluated[: i + 1], 3, 2.5)
        assert kept == select_kept(list(range(40)), evaluated, 3, 2.5)
        periods = {int(60 * m // (2.5 * HOUR)) for m in minutes} - {0}
        assert len(kept) >= len(periods)

    def test_no_checkpoints_keep_none(self):
        assert select_kept([], [], 3, 1.0) == []

    def test_newest_and_best_are_never_deleted(self):
        for flags in itertools.product([False, True], repeat=4):
            evaluated = [
                Evaluation(step, score=float(-step))
                for step, is_evaluated in enumerate(flags)
                if is_evaluated
            ]
            kept = select_kept([0, 1, 2, 3], evaluated, 1)
            assert kept[-1] == 3
            assert not evaluated or evaluated[0].step in kept


class BestStepTest:
    def test_is_the_greatest_score_among_existing_checkpoints(self):
        evaluated = [Evaluation(1, score=9.0), Evaluation(2, score=5.0)]
        evaluated += [Evaluation(3, score=7.0), Evaluation(4)]
        assert find_best_step([2, 3, 4], evaluated) == 3

    def test_first_of_equal_scores_remains_the_best(self):
        evaluated = [Evaluation(1, score=5.0), Evaluation(2, score=5.0)]
        assert find_best_step([1, 2], evaluated) == 1

    def test_without_scores_there_is_none(self):
        assert find_best_step([1, 2], evaluations(1, 2)) is None


class NewestWithoutGapTest:
    def test_intermediate_checkpoints_are_ignored(self):
        assert find_newest_without_gap([1, 2, 3, 4], [1, 3]) == [1, 3]

    def test_ends_at_the_first_gap(self):
        assert find_newest_without_gap([1, 3, 4], [1, 2, 3, 4]) == [3, 4]
