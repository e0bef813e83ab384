import numpy as np
import pytest

from keras_transformer.visualization.words import join_weights
from keras_transformer.visualization.words import join_words


class JoinWordsTest:
    @pytest.mark.parametrize(
        "tokens, words",
        [
            ("▁a ▁per fect ▁law , (end)", "a perfect law , (end)"),
            ("▁just ▁ - ▁this ▁is", "just - this is"),
            ("▁don ' t", "don ' t"),
            ("▁Gr <0xC3> <0xBC> n", "Grün"),
            ("▁ <0xE2> <0x82> <0xAC> ▁5", "€ 5"),
            ("▁20 0 <0x39>", "2009"),
            ("▁我 喜欢 猫 。", "我 喜欢 猫 。"),
            ("▁न मस ् ते", "नमस्ते"),
            ("▁ (end)", "␣ (end)"),
            ("a", "a"),
        ],
    )
    def test_pieces_become_words(self, tokens, words):
        assert join_words(tokens.split(" "))[0] == words.split(" ")

    def test_only_spaces_separate_the_words_of_a_treebank(self):
        tokens = ["▁U", ".", "S", ".", "▁-", "L", "RB", "-", "(end)"]
        words, _ = join_words(tokens, splits_punctuation=False)
        assert words == ["U.S.", "-LRB-", "(end)"]


class JoinWeightsTest:
    def test_keys_are_added_and_queries_averaged(self):
        weights = np.array([[[0.1, 0.2, 0.7], [0.5, 0.5, 0.0], [0, 0, 1.0]]])
        joined = join_weights(weights, [0, 2])
        np.testing.assert_allclose(joined, [[[0.65, 0.35], [0.0, 1.0]]])

    def test_rows_sum_to_one(self):
        weights = np.random.default_rng(0).dirichlet(np.ones(9), (2, 3, 9))
        joined = join_weights(weights, [0, 1, 5, 8])
        assert joined.shape == (2, 3, 4, 4)
        np.testing.assert_allclose(joined.sum(-1), 1)

    def test_words_of_one_token_stay_as_they_are(self):
        weights = np.random.default_rng(0).dirichlet(np.ones(4), (1, 4))
        np.testing.assert_allclose(join_weights(weights, range(4)), weights)
