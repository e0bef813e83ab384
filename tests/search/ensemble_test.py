"""Ensembles against enumeration with probabilities that NumPy averages."""

import itertools

import keras
import numpy as np
import pytest
from layer_checks import to_numpy
from small_transformer import make_transformer

from keras_transformer.search.ensemble import Ensemble
from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.hypotheses import score_targets
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID as END

VOCAB_SIZE = 6  # padding, the end, the unknown id and three words
WORDS = (3, 4, 5)
LENGTH = 4  # greatest length of a hypothesis with its end
INPUTS = np.array([[3, 5, 4, 1], [5, 1, 0, 0]], "int32")
SEQUENCES = [
    (*words, END)
    for length in range(LENGTH)
    for words in itertools.product(WORDS, repeat=length)
]


@pytest.fixture(scope="module")
def models():
    """Two models of different sizes that prefer different words."""
    keras.utils.set_random_seed(3)
    sizes = ({"d_model": 8}, {"d_model": 12, "num_layers": 1, "norm": "pre"})
    made = [make_transformer(vocab_size=VOCAB_SIZE, **size) for size in sizes]
    for model in made:
        embeddings = model.embedding.embeddings
        embeddings.assign(3.0 * embeddings)  # gives clear preferences
    return made


def mean_probabilities(models, sentence):
    """Returns the models' mean probabilities at all places of `SEQUENCES`.

    Returns:
        Array of shape `(len(SEQUENCES), LENGTH, VOCAB_SIZE)`.
    """
    targets = np.zeros((len(SEQUENCES), LENGTH), "int32")
    for row, sequence in zip(targets, SEQUENCES):
        row[: len(sequence)] = sequence
    inputs = np.repeat(INPUTS[sentence : sentence + 1], len(targets), axis=0)
    features = {"inputs": inputs, "targets": targets}
    logits = [to_numpy(model(features)).astype("float64") for model in models]
    shares = [np.exp(one) for one in logits]
    return np.mean([s / s.sum(-1, keepdims=True) for s in shares], axis=0)


def enumerate_all(models, sentence, alpha):
    """Returns all hypotheses of a sentence with their scores, best first."""
    probabilities = mean_probabilities(models, sentence)
    scored = []
    for sequence, places in zip(SEQUENCES, probabilities):
        chosen = [place[id_] for place, id_ in zip(places, sequence)]
        penalty = ((5 + len(sequence)) / 6) ** alpha
        scored.append((np.sum(np.log(chosen)) / penalty, sequence))
    return sorted(scored, reverse=True)


def search(model, inputs=INPUTS, seeds=None, length=LENGTH, **options):
    limits = np.full(len(inputs), length, "int32")
    finished = find_hypotheses(
        model,
        inputs,
        limits,
        DecodeOptions(**options),
        seeds=seeds,
        fixed_length=length,
    )
    return to_numpy(finished.sequences), to_numpy(finished.scores)


class EnsembleTest:
    @pytest.mark.parametrize("alpha", [0.0, 0.6])
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
        targets = np.zeros((len(SEQUENCES), LENGTH), "int32")
        for row, sequence in zip(targets, SEQUENCES):
            row[: len(sequence)] = sequence
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

    @pytest.mark.parametrize("times", [1, 2])
    def test_one_model_many_times_is_the_model(self, models, times):
        options = {"beam_size": 5, "num_hypotheses": 5}
        expected, scores = search(models[0], **options)
        sequences, same = search(Ensemble([models[0]] * times), **options)
        np.testing.assert_array_equal(sequences, expected)
        np.testing.assert_allclose(same, scores, rtol=1e-5)

    def test_the_order_of_the_models_does_not_matter(self, models):
        sequences, scores = search(Ensemble(models), beam_size=3)
        swapped, same = search(Ensemble(models[::-1]), beam_size=3)
        np.testing.assert_array_equal(sequences, swapped)
        np.testing.assert_allclose(same, scores, rtol=1e-5)
