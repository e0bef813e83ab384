import dataclasses
import types

import numpy as np
import pytest

from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.errors import UserError
from keras_transformer.scoring import quality
from keras_transformer.scoring.quality import QualityEstimate

WEIGHTS = np.array([1.0, 5.0, 0.5])


def draw(num_pairs, seed):
    """Returns features and chrF whose dependence is a logistic regression."""
    generator = np.random.default_rng(seed)
    lengths = np.log(generator.integers(3, 40, num_pairs))
    means = -0.3 - 0.1 * lengths + generator.normal(0, 0.2, num_pairs)
    features = np.stack([np.ones(num_pairs), means, lengths], axis=1)
    good = generator.random(num_pairs) < 1 / (1 + np.exp(-features @ WEIGHTS))
    return features, 50 + np.where(good, 1, -1) * generator.uniform(
        1, 50, num_pairs
    )


@pytest.fixture(scope="module")
def fitted():
    features, chrf = draw(20_000, seed=0)
    # The median is 50 only if half of them are good, so it is set here.
    good = chrf >= 50
    shifted = np.where(good, 100, 0) + np.arange(len(good)) * 1e-6
    # The better half by the median is that of the good ones.
    half = min(good.sum(), (~good).sum())
    chosen = np.concatenate(
        [np.flatnonzero(good)[:half], np.flatnonzero(~good)[:half]]
    )
    alarms = [["loop"] if place < 10 else [] for place in chosen]
    return QualityEstimate.fit(3, features[chosen], alarms, shifted[chosen])


class QualityTest:
    def test_it_finds_the_logistic_regression_that_made_the_outcomes(
        self, fitted
    ):
        # Balancing the halves changes the first weight alone.
        assert fitted.weights[1:] == pytest.approx(WEIGHTS[1:], rel=0.1)
        assert fitted.usual == pytest.approx([-0.3, -0.1], abs=0.03)
        assert fitted.deviation == pytest.approx(0.2, abs=0.02)

    def test_estimates_come_true_as_often_as_they_say(self, fitted):
        features, chrf = draw(5_000, seed=1)
        refitted = QualityEstimate.fit(3, features, [[]] * 5_000, chrf)
        features, chrf = draw(5_000, seed=2)
        estimates, _ = refitted.judge(features, [[]] * 5_000)
        outcomes = chrf >= refitted.median_chrf
        assert quality.calibration_error(estimates, outcomes) < 0.05
        assert estimates.min() >= 0 and estimates.max() <= 1

    def test_an_alarm_makes_it_0_and_a_low_score_is_one(self, fitted):
        translator = types.SimpleNamespace(
            count_written=lambda hypotheses: [9] * len(hypotheses)
        )
        usual = [Hypothesis("uno dos", -0.6, range(9))]
        low = [Hypothesis("uno dos", -40.0, range(9))]
        found = [[], [], ["loop"]]
        features = quality.measure_features(
            translator, usual + low + usual, alpha=0.6
        )
        estimates, alarms = fitted.judge(features, found)
        assert alarms == [[], ["low_score"], ["loop"]]
        assert estimates[0] > 0.1 and not estimates[1:].any()

    def test_the_length_penalty_makes_no_difference(self):
        translator = types.SimpleNamespace(
            count_written=lambda hypotheses: [9] * len(hypotheses)
        )
        rows = [
            quality.measure_features(
                translator,
                [Hypothesis("x", -8.0 / ((5 + 9) / 6) ** alpha)],
                alpha,
            )
            for alpha in (0, 0.6, 1.0)
        ]
        assert np.allclose(rows, [1, -8 / 9, np.log(9)])

    def test_equal_translations_are_an_error(self):
        features, chrf = draw(200, seed=0)
        alarms = [[]] * 200
        with pytest.raises(UserError, match="200, of which none is below"):
            QualityEstimate.fit(3, features, alarms, np.full(200, 100.0))
        # The half whose chrF is highest must not be everything.
        with pytest.raises(UserError, match="none is below the median"):
            QualityEstimate.fit(3, features, alarms, np.maximum(chrf, 90))

    def test_a_feature_that_tells_all_outcomes_has_finite_weights(self):
        features, _ = draw(200, seed=0)
        fitted = QualityEstimate.fit(
            3, features, [[]] * 200, 100 + features[:, 1]
        )
        assert np.isfinite(fitted.weights).all()

    def test_too_few_pairs_are_an_error(self):
        features, chrf = draw(120, seed=0)
        alarms = [["loop"]] * 30 + [[]] * 90
        with pytest.raises(UserError, match="Received: 90 instead of 100"):
            QualityEstimate.fit(3, features, alarms, chrf)

    def test_it_is_read_for_its_checkpoint_alone(self, fitted, tmp_path):
        assert QualityEstimate.read(tmp_path, 3) is None
        fitted.write(tmp_path)
        assert QualityEstimate.read(tmp_path, 3) == fitted
        assert QualityEstimate.read(tmp_path, 4) is None
        (tmp_path / "quality.json").write_text('{"step": 3}')
        with pytest.raises(UserError, match="num_pairs.*--calibrate"):
            QualityEstimate.read(tmp_path, 3)


class MeasuresTest:
    def test_the_area_lies_between_the_best_and_the_worst_order(self):
        risks = np.random.default_rng(0).random(500)
        best, worst = (
            quality.area_under_risks(sign * risks, risks) for sign in (-1, 1)
        )
        chance = quality.area_under_risks(np.zeros(500), risks)
        assert best < chance < worst
        assert chance == pytest.approx(risks.mean(), abs=0.05)

    def test_the_calibration_error_is_that_of_its_definition(self):
        generator = np.random.default_rng(0)
        estimates = generator.random(1000)
        outcomes = generator.random(1000) < estimates**2
        expected = 0
        for low in np.arange(10) / 10:
            inside = (estimates >= low) & (estimates < low + 0.1)
            gap = estimates[inside].mean() - outcomes[inside].mean()
            expected += inside.mean() * abs(gap)
        error = quality.calibration_error(estimates, outcomes)
        assert error == pytest.approx(expected)

    def test_the_report_keeps_the_best_by_their_estimates(self, fitted):
        chrf = np.linspace(0, 100, 200)
        lines = quality.describe_quality(
            dataclasses.replace(fitted, median_chrf=50.0), chrf / 100, chrf
        )
        means = [float(line.split()[-1]) for line in lines[2:]]
        assert means == sorted(means, reverse=True)
        assert means[-1] == 50.0
