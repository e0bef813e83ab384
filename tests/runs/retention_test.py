import itertools

import numpy as np

from keras_transformer.runs.checkpoint_records import Evaluation
from keras_transformer.runs.retention import best_step
from keras_transformer.runs.retention import kept_steps
from keras_transformer.runs.retention import newest_without_gap

HOUR = 3600.0


def evaluations(*steps):
    return [Evaluation(step) for step in steps]


def hourly(*minutes):
    return [Evaluation(i, 60.0 * m) for i, m in enumerate(minutes, start=1)]


class KeptStepsTest:
    def test_newest_evaluated_are_kept(self):
        assert kept_steps([1, 2, 3, 4], evaluations(1, 2, 3, 4), 2) == [3, 4]

    def test_without_a_limit_all_evaluated_are_kept(self):
        assert kept_steps([1, 2, 3], evaluations(1, 2, 3)) == [1, 2, 3]

    def test_intermediate_checkpoint_is_dropped_after_a_newer_one(self):
        assert kept_steps([10, 15], evaluations(10), 5) == [10, 15]
        assert kept_steps([10, 15, 17], evaluations(10), 5) == [10, 17]
        assert kept_steps([10, 15, 20], evaluations(10, 20), 5) == [10, 20]

    def test_intermediate_ones_do_not_displace_evaluated_ones(self):
        assert kept_steps([1, 2, 3, 4], evaluations(1, 2), 2) == [1, 2, 4]

    def test_timed_ones_do_not_displace_evaluated_ones(self):
        kept = kept_steps(range(1, 9), evaluations(3, 6), 2, 0.0, [1, 2, 4, 5])
        assert kept == [3, 4, 5, 6, 8]

    def test_one_that_is_timed_and_evaluated_counts_as_both(self):
        kept = kept_steps(range(1, 6), evaluations(1, 2), 1, 0.0, [1, 2])
        assert kept == [2, 5]

    def test_best_is_kept_at_any_age(self):
        scored = [Evaluation(i, score=-i) for i in range(1, 6)]
        assert kept_steps([1, 2, 3, 4, 5], scored, 1) == [1, 5]

    def test_first_of_each_period_of_training_is_kept(self):
        evaluated = hourly(20, 50, 70, 100, 130, 310, 320)
        steps = [e.step for e in evaluated]
        assert kept_steps(steps, evaluated, 1, 1.0) == [3, 5, 6, 7]

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
            kept = kept_steps([*kept, i], evaluated[: i + 1], 3, 2.5)
        assert kept == kept_steps(list(range(40)), evaluated, 3, 2.5)
        periods = {int(60 * m // (2.5 * HOUR)) for m in minutes} - {0}
        assert len(kept) >= len(periods)

    def test_no_checkpoints_keep_none(self):
        assert kept_steps([], [], 3, 1.0) == []

    def test_newest_and_best_are_never_deleted(self):
        for flags in itertools.product([False, True], repeat=4):
            evaluated = [
                Evaluation(step, score=float(-step))
                for step, is_evaluated in enumerate(flags)
                if is_evaluated
            ]
            kept = kept_steps([0, 1, 2, 3], evaluated, 1)
            assert kept[-1] == 3
            assert not evaluated or evaluated[0].step in kept


class BestStepTest:
    def test_is_the_greatest_score_among_existing_checkpoints(self):
        evaluated = [Evaluation(1, score=9.0), Evaluation(2, score=5.0)]
        evaluated += [Evaluation(3, score=7.0), Evaluation(4)]
        assert best_step([2, 3, 4], evaluated) == 3

    def test_first_of_equal_scores_remains_the_best(self):
        evaluated = [Evaluation(1, score=5.0), Evaluation(2, score=5.0)]
        assert best_step([1, 2], evaluated) == 1

    def test_without_scores_there_is_none(self):
        assert best_step([1, 2], evaluations(1, 2)) is None


class NewestWithoutGapTest:
    def test_intermediate_checkpoints_are_ignored(self):
        assert newest_without_gap([1, 2, 3, 4], [1, 3]) == [1, 3]

    def test_ends_at_the_first_gap(self):
        assert newest_without_gap([1, 3, 4], [1, 2, 3, 4]) == [3, 4]
