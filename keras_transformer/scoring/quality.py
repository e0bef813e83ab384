"""An estimate of the quality of each translation, without its reference.

`kt-evaluate --calibrate` fits it on the translations of a run, usually of dev,
and writes `quality.json` into the run. It depends on two results of every
search: the mean log-probability of a token and the number of tokens.
"""

import dataclasses
import os

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.files import reading
from keras_transformer.files import writing
from keras_transformer.scoring.report import align_columns

QUALITY_FILE = "quality.json"
MIN_PAIRS = 100
NUM_BINS = 10  # of estimates, for the calibration error
COVERAGES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
# A score is unusual if it is below the usual one for its length by this many
# standard deviations and by this difference, because the scores of a confident
# model hardly differ.
UNUSUAL_DEVIATIONS = 4
UNUSUAL_DIFFERENCE = 0.5

_RIDGE = 0.1  # keeps weights finite if a feature predicts every outcome
_NUM_ITERATIONS = 30
_SHAPE = {
    "step": reading.WHOLE,
    "num_pairs": reading.WHOLE,
    "median_chrf": float,
    "weights": [float, float, float],
    "usual": [float, float],
    "deviation": float,
}


@dataclasses.dataclass(frozen=True)
class QualityEstimate:
    """Estimates the probability that a translation is in the better half.

    That half has a sentence chrF of at least `median_chrf`. The estimate is a
    logistic regression on the features of `measure_features`, or 0 for a
    translation with an alarm.
    """

    step: int  # of the checkpoint
    num_pairs: int
    median_chrf: float  # of the translations that it was fitted on
    weights: list  # of the features
    usual: list  # weights of 1 and log tokens for the usual second feature
    deviation: float  # standard deviation from the usual one

    @classmethod
    def fit(cls, step, features, alarms, chrf):
        """Fits it to translations without an alarm.

        Args:
            step: Integer, the step of the checkpoint.
            features: Array of shape `(translations, 3)`.
            alarms: List of lists of alarms, one for each translation.
            chrf: The sentence chrF, an array of shape `(translations,)`.

        Raises:
            UserError: If there are fewer than `MIN_PAIRS` translations, or if
                all of them are equally good.
        """
        is_sound = [not each for each in alarms]
        features, chrf = features[is_sound], chrf[is_sound]
        check_number(len(chrf))
        median = float(np.median(chrf))
        if chrf.min() == median:
            raise UserError(
                "`--calibrate` needs good and bad translations. Received: "
                f"{len(chrf):,}, of which none is below the median chrF of "
                f"{median:.1f}. Use a split or a test set with more text."
            )
        lengths = features[:, [0, 2]]
        usual = np.linalg.lstsq(lengths, features[:, 1])[0]
        return cls(
            step,
            len(chrf),
            median,
            _fit_logistic(features, chrf >= median).tolist(),
            usual.tolist(),
            float(np.std(features[:, 1] - lengths @ usual)),
        )

    @classmethod
    def read(cls, output_dir, step=None):
        """Reads the file of a run, or of an export, which has a single step.

        Returns None without a file for this step.
        """
        path = os.path.join(output_dir, QUALITY_FILE)
        if not os.path.lexists(path):
            return None
        remedy = "Delete it, or write it again with kt-evaluate --calibrate."
        record = reading.read_record(path, _SHAPE, remedy)
        quality = cls(**{name: record[name] for name in _SHAPE})
        return quality if step in (None, quality.step) else None

    def write(self, output_dir):
        """Writes it into the directory of a run or an export."""
        path = os.path.join(output_dir, QUALITY_FILE)
        writing.write_record(path, dataclasses.asdict(self))

    @property
    def sha256(self):
        """The beginning of the SHA-256 of its fields, in hexadecimal."""
        return reading.hash_record(dataclasses.asdict(self))

    def judge(self, features, alarms):
        """Returns the estimates, and the alarms with "low_score" added.

        The estimates, from 0 to 1, have the shape `(translations,)`. The
        arguments are as in `fit`. A score far below the usual one for its
        length is an alarm.
        """
        limit = max(UNUSUAL_DEVIATIONS * self.deviation, UNUSUAL_DIFFERENCE)
        is_low = features[:, 1] < features[:, [0, 2]] @ self.usual - limit
        alarms = [
            each + ["low_score"] * bool(low)
            for each, low in zip(alarms, is_low)
        ]
        estimates = _sigmoid(features @ self.weights)
        return np.where(list(map(bool, alarms)), 0, estimates), alarms


def check_number(num_translations):
    """Raises a `UserError` unless there are `MIN_PAIRS` translations."""
    if num_translations < MIN_PAIRS:
        raise UserError(
            "`--calibrate` needs enough translations without an alarm. "
            f"Received: {num_translations} instead of {MIN_PAIRS}. Use a split "
            "or a test set with more pairs."
        )


def measure_features(translator, hypotheses, alpha):
    """Returns the features of estimates, of shape `(translations, 3)`.

    They are 1, the mean log-probability of a token, and the logarithm of the
    number of tokens. The `hypotheses`, one for each sentence, come from a
    search with the length penalty `alpha`, which is taken out of their scores.
    """
    lengths = np.array(translator.count_written(hypotheses))
    scores = np.array([one.score for one in hypotheses])
    # Equation 14 of Wu et al. (2016), as in `search.beam_search`.
    means = scores * ((5 + lengths) / 6) ** alpha / lengths
    return np.stack([np.ones(len(means)), means, np.log(lengths)], axis=1)


def calibration_error(estimates, outcomes):
    """Returns the expected calibration error of probabilities, from 0 to 1.

    It is the mean difference between estimate and frequency in `NUM_BINS` bins
    of equal width, weighted by their numbers; Guo et al. (2017), section 2.

    >>> calibration_error(np.array([0.75, 0.75]), np.array([True, True]))
    0.25
    """
    bins = np.minimum((estimates * NUM_BINS).astype(int), NUM_BINS - 1)
    differences = np.bincount(bins, estimates - outcomes, NUM_BINS)
    return float(np.abs(differences).sum() / len(estimates))


def area_under_risks(estimates, risks):
    """Returns the area under the risk-coverage curve (AURC).

    It is the mean over all coverages of the mean risk of those translations
    that have the highest estimates; Geifman et al. (2019).

    >>> area_under_risks(np.array([0.9, 0.1]), np.array([0.0, 1.0]))
    0.25
    """
    ordered = risks[np.argsort(-estimates, kind="stable")]
    return float(np.mean(np.cumsum(ordered) / np.arange(1, len(ordered) + 1)))


def describe_quality(quality, estimates, chrf):
    """Returns the lines of a report that compares estimates with chrF."""
    risks = 1 - chrf / 100
    error = calibration_error(estimates, chrf >= quality.median_chrf)
    orders = estimates, np.full(len(risks), 0.5), chrf
    areas = [area_under_risks(order, risks) for order in orders]
    rows = [("kept, by estimate", "sentences", "mean chrF")]
    order = np.argsort(-estimates, kind="stable")
    for coverage in COVERAGES:
        kept = order[: max(1, round(coverage * len(order)))]
        mean = f"{chrf[kept].mean():.1f}"
        rows.append((f"{coverage:.0%}", f"{len(kept):,}", mean))
    return [
        f"Quality, fitted on {quality.num_pairs:,} pairs at step "
        f"{quality.step:,}: calibration error {error:.3f}, area under the "
        f"risk-coverage curve {areas[0]:.3f} ({areas[1]:.3f} in the order of "
        f"the text, {areas[2]:.3f} at best).",
        *align_columns(rows),
    ]


def _fit_logistic(features, outcomes):
    """Returns the weights of a logistic regression, by Newton's method."""
    weights = np.zeros(features.shape[1])
    ridge = _RIDGE * np.eye(len(weights))
    for _ in range(_NUM_ITERATIONS):
        estimates = _sigmoid(features @ weights)
        variances = estimates * (1 - estimates)
        gradient = features.T @ (outcomes - estimates) - _RIDGE * weights
        hessian = features.T @ (features * variances[:, None]) + ridge
        weights = weights + np.linalg.solve(hessian, gradient)
    return weights


def _sigmoid(logits):
    return 1 / (1 + np.exp(-np.clip(logits, -50, 50)))
