"""Ensembles against enumeration with probabilities that NumPy averages."""

import numpy as np
import pytest
from enumeration import INPUTS
from enumeration import SEQUENCES
from enumeration import VOCAB_SIZE
from enumeration import enumerate_all
from enumeration import make_tiny_models
from enumeration import mean_probabilities
from enumeration import padded_sequences
from enumeration import search
from layer_checks import to_numpy

from keras_transformer.search.ensemble import Ensemble
from keras_transformer.search.hypotheses import score_targets


@pytest.fixture(scope="module")
def models():
    return make_tiny_models()


class EnsembleTest:
    @pytest.mark.parametrize(
        "alpha", [pytest.param(0.0, marks=pytest.mark.slow), 0.6]
    )
    def test_a_wide_beam_equals_enumeration(self, models, alpha):
        number = len(SEQUENCES)
        sequences, scores = search(
            Ensemble(models),
            beam_size=number,
            num_hypotheses=number,
            alpha=alpha,
        )
        for sentence in range(len(INPUTS)):
            expected = enumerate_all(models, sentence, alpha)
            assert [
                tuple(row[row > 0].tolist()) for row in sequences[sentence]
            ] == [sequence for _, sequence in expected]
            np.testing.assert_allclose(
                scores[sentence], [score for score, _ in expected], rtol=1e-4
            )

    def test_scores_of_targets_are_those_of_enumeration(self, models):
        expected = dict(map(reversed, enumerate_all(models, 0, 0.6)))
        targets = padded_sequences()
        inputs = np.repeat(INPUTS[:1], len(targets), axis=0)
        scores = score_targets(Ensemble(models), inputs, targets, 0.6)
        np.testing.assert_allclose(
            to_numpy(scores), [expected[s] for s in SEQUENCES], rtol=1e-4
        )

    def test_samples_have_the_mean_probabilities(self, models):
        num_rows, num_samples = 20, 500
        sequences, _ = search(
            Ensemble(models),
            inputs=np.repeat(INPUTS[:1], num_rows, axis=0),
            seeds=np.arange(num_rows, dtype="int32"),
            length=2,
            temperature=1.0,
            num_hypotheses=num_samples,
        )
        drawn = np.bincount(sequences[:, :, 0].ravel(), minlength=VOCAB_SIZE)
        expected = mean_probabilities(models, 0)[0, 0]
        expected[[0, 2]] = 0.0  # ids that are never drawn
        expected /= expected.sum()
        # Four standard deviations; the draws are a function of fixed seeds.
        deviation = np.sqrt(expected * (1 - expected) / drawn.sum())
        assert np.all(np.abs(drawn / drawn.sum() - expected) <= 4 * deviation)
        alone = [mean_probabilities([model], 0)[0, 0] for model in models]
        assert np.max(np.abs(alone[0] - alone[1])) > 0.1

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "times", [pytest.param(1, marks=pytest.mark.slow), 2]
    )
    def test_one_model_many_times_is_the_model(self, models, times):
        options = {"beam_size": 5, "num_hypotheses": 5}
        expected, scores = search(models[0], **options)
        sequences, same = search(Ensemble([models[0]] * times), **options)
        np.testing.assert_array_equal(sequences, expected)
        np.testing.assert_allclose(same, scores, rtol=1e-5)

    @pytest.mark.slow
    def test_the_order_of_the_models_does_not_matter(self, models):
        sequences, scores = search(Ensemble(models), beam_size=3)
        swapped, same = search(Ensemble(models[::-1]), beam_size=3)
        np.testing.assert_array_equal(sequences, swapped)
        np.testing.assert_allclose(same, scores, rtol=1e-5)
