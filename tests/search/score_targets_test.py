"""Scores computed in chunks of positions against those through all logits."""

import numpy as np
import pytest
from enumeration import VOCAB_SIZE
from enumeration import make_tiny_models
from layer_checks import softmax
from small_transformer import logits_of

from keras_transformer.decoding.engines.compiled_search import compile_scoring
from keras_transformer.search.ensemble import Ensemble
from keras_transformer.search.hypotheses import CHUNK_ROWS
from keras_transformer.search.hypotheses import score_targets

# One position, a whole chunk, and chunks that positions do not fill evenly.
SHAPES = [(1, 1), (4, CHUNK_ROWS // 4), (13, 59)]


@pytest.fixture(scope="module")
def models():
    return make_tiny_models()


def make_pairs(batch, length):
    rng = np.random.default_rng(batch)
    inputs, targets = rng.integers(3, VOCAB_SIZE, (2, batch, length), "int32")
    for row, last in zip(targets, rng.integers(0, length, batch)):
        row[last:] = 0
        row[last] = 1  # the end
    return inputs, targets


def scores_through_all_logits(models, inputs, targets, alpha):
    """Returns the scores under the models' mean probabilities."""
    logits = [logits_of(model, inputs, targets) for model in models]
    shares = np.mean([softmax(each.astype("float64")) for each in logits], 0)
    chosen = np.take_along_axis(shares, targets[:, :, None], axis=-1)[:, :, 0]
    real = targets != 0
    penalty = ((5 + real.sum(axis=-1)) / 6) ** alpha
    return np.sum(np.log(chosen) * real, axis=-1) / penalty


class LogitsOfChunks:
    """Notes the shapes of the logits that a model computes."""

    def __init__(self, model):
        self.model, self.shapes = model, []
        self.variables = model.variables
        self.compute_dtype = model.compute_dtype
        self.decode = model.decode

    def logits(self, states):
        logits = self.model.logits(states)
        self.shapes.append(tuple(logits.shape))
        return logits


class ScoreTargetsTest:
    @pytest.mark.parametrize(
        "number", [1, pytest.param(2, marks=pytest.mark.slow)]
    )
    def test_scores_are_those_through_all_logits(self, models, number):
        members = models[:number]
        model = members[0] if number == 1 else Ensemble(members)
        score = compile_scoring(model, alpha=0.6)
        for shape in SHAPES:
            pair = make_pairs(*shape)
            expected = scores_through_all_logits(members, *pair, 0.6)
            np.testing.assert_allclose(score(*pair), expected, rtol=1e-5)

    def test_only_the_logits_of_a_chunk_are_computed_at_once(self, models):
        model = LogitsOfChunks(models[0])
        score_targets(model, *make_pairs(13, 59), alpha=0.6)
        # 767 positions in three chunks.
        assert set(model.shapes) == {(1, CHUNK_ROWS, VOCAB_SIZE)}
