import itertools

import numpy as np
import pytest

from keras_transformer.runs.retention import Evaluation
from keras_transformer.runs.retention import best_step
from keras_transformer.runs.retention import kept_steps
from keras_transformer.runs.retention import newest_evaluated
from keras_transformer.runs.retention import read_evaluations
from keras_transformer.runs.retention import write_evaluations

HOUR = 3600.0


def evaluations(*steps):
    return [Evaluation(step) for step in steps]


def hourly(*minutes):
    return [Evaluation(i, 60.0 * m) for i, m in enumerate(minutes, start=1)]


class KeptStepsTest:
    def test_newest_evaluated_stay(self):
        assert kept_steps([1, 2, 3, 4], evaluations(1, 2, 3, 4), 2) == [3, 4]

    def test_without_a_limit_all_evaluated_stay(self):
        assert kept_steps([1, 2, 3], evaluations(1, 2, 3)) == [1, 2, 3]

    def test_one_between_evaluations_goes_when_there_is_a_newer_one(self):
        assert kept_steps([10, 15], evaluations(10), 5) == [10, 15]
        assert kept_steps([10, 15, 17], evaluations(10), 5) == [10, 17]
        assert kept_steps([10, 15, 20], evaluations(10, 20), 5) == [10, 20]

    def test_those_between_do_not_push_out_evaluated_ones(self):
        assert kept_steps([1, 2, 3, 4], evaluations(1, 2), 2) == [1, 2, 4]

    def test_best_stays_however_old(self):
        scored = [Evaluation(i, score=-i) for i in range(1, 6)]
        assert kept_steps([1, 2, 3, 4, 5], scored, 1) == [1, 5]

    def test_first_of_each_period_of_training_stays(self):
        made = hourly(20, 50, 70, 100, 130, 310, 320)
        steps = [e.step for e in made]
        assert kept_steps(steps, made, 1, 1.0) == [3, 5, 6, 7]

    def test_nothing_is_missed_when_old_ones_go_at_once(self):
        # What stays does not depend on when the others were deleted.
        rng = np.random.default_rng(0)
        minutes = np.cumsum(rng.uniform(5, 50, 40))
        scores = rng.normal(size=40)
        made = [
            Evaluation(i, 60 * m, s)
            for i, (m, s) in enumerate(zip(minutes, scores))
        ]
        held = []
        for i in range(len(made)):
            held = kept_steps([*held, i], made[: i + 1], 3, 2.5)
        assert held == kept_steps(list(range(40)), made, 3, 2.5)
        periods = {int(60 * m // (2.5 * HOUR)) for m in minutes} - {0}
        assert len(held) >= len(periods)

    def test_nothing_held_keeps_nothing(self):
        assert kept_steps([], [], 3, 1.0) == []

    def test_newest_and_best_are_never_deleted(self):
        for flags in itertools.product([False, True], repeat=4):
            made = [
                Evaluation(step, score=float(-step))
                for step, is_evaluated in enumerate(flags)
                if is_evaluated
            ]
            kept = kept_steps([0, 1, 2, 3], made, 1)
            assert kept[-1] == 3
            assert not made or made[0].step in kept


class BestStepTest:
    def test_is_the_greatest_score_among_those_held(self):
        made = [Evaluation(1, score=9.0), Evaluation(2, score=5.0)]
        made += [Evaluation(3, score=7.0), Evaluation(4)]
        assert best_step([2, 3, 4], made) == 3

    def test_first_of_equals_stays_the_best(self):
        made = [Evaluation(1, score=5.0), Evaluation(2, score=5.0)]
        assert best_step([1, 2], made) == 1

    def test_without_scores_there_is_none(self):
        assert best_step([1, 2], evaluations(1, 2)) is None


class NewestEvaluatedTest:
    def test_passes_over_those_in_between(self):
        assert newest_evaluated([1, 2, 3, 4], evaluations(1, 3)) == [1, 3]

    def test_ends_at_the_first_gap(self):
        assert newest_evaluated([1, 3, 4], evaluations(1, 2, 3, 4)) == [3, 4]


class RecordTest:
    def test_what_was_written_is_read(self, tmp_path):
        made = [Evaluation(1, 60.0, 20.5), Evaluation(2, 120.0, None)]
        write_evaluations(str(tmp_path / "a"), made)
        assert read_evaluations(str(tmp_path / "a"), [1, 2]) == made

    def test_empty_record_is_not_an_absent_one(self, tmp_path):
        path = str(tmp_path / "a")
        assert read_evaluations(path, [1, 2]) == evaluations(1, 2)
        write_evaluations(path, [])
        assert read_evaluations(path, [1, 2]) == []

    def test_one_that_was_never_completed_is_left_out(self, tmp_path):
        path = str(tmp_path / "a")
        write_evaluations(path, evaluations(1, 2, 3))
        assert read_evaluations(path, [2]) == evaluations(1, 2)

    @pytest.mark.parametrize("text", ["{", "3", "[3]", '[{"stop": 1}]'])
    def test_anything_else_is_refused_by_name(self, tmp_path, text):
        path = tmp_path / "a.json"
        path.write_text(text)
        with pytest.raises(ValueError, match="a.json.*Delete it"):
            read_evaluations(str(path), [1])
