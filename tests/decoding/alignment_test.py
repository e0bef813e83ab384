"""Word links and word scores against loops over tokens, and against scores."""

import numpy as np
import pytest
from attention_examples import random_attention
from small_translators import TEXTS
from small_translators import make_translator
from small_translators import make_vocabulary

from keras_transformer.decoding.alignment import pharaoh
from keras_transformer.decoding.alignment import word_links
from keras_transformer.decoding.alignment import word_scores

SOURCE = ["▁A", "▁brown", "▁dog", "gy", "(end)"]
TARGET = ["▁Ein", "▁Hun", "d", "chen", "▁", "so", "(end)"]
SOURCE_WORDS, TARGET_WORDS = [[0], [1], [2, 3]], [[0], [1, 2, 3], [4, 5]]
ATTENTION = random_attention(SOURCE, TARGET, num_layers=3)
ATTENTION = ATTENTION._replace(log_probs=-np.arange(1.0, 8.0))


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.model"
    return make_translator(make_vocabulary(path))


class WordLinksTest:
    @pytest.mark.parametrize("layer", [0, 1, 2])
    @pytest.mark.parametrize("shifted", [False, True])
    def test_a_word_is_linked_to_where_most_weight_is(self, layer, shifted):
        links = word_links(ATTENTION, layer, shifted)
        weights = ATTENTION.cross[layer]
        for number, tokens in enumerate(TARGET_WORDS):
            sums = [
                sum(
                    weights[head, token + shifted, key]
                    for head in range(len(weights))
                    for token in tokens
                    for key in word
                )
                for word in SOURCE_WORDS
            ]
            assert links[number] == (int(np.argmax(sums)), number)
        assert len(links) == len(TARGET_WORDS)

    def test_a_translation_without_its_end_has_all_links(self):
        attention = random_attention(SOURCE, TARGET[:-1])
        for shifted in (False, True):
            links = word_links(attention, shifted=shifted)
            assert [target for _, target in links] == [0, 1, 2]

    def test_the_last_layer_is_the_default(self):
        assert word_links(ATTENTION) == word_links(ATTENTION, layer=2)

    @pytest.mark.parametrize(
        "source, target", [(SOURCE, ["(end)"]), (["(end)"], TARGET)]
    )
    def test_a_blank_text_has_no_links(self, source, target):
        assert word_links(random_attention(source, target)) == []

    def test_pharaoh_writes_the_source_first(self):
        assert pharaoh([(2, 0), (0, 1)]) == "2-0 0-1"
        assert pharaoh([]) == ""


class WordScoresTest:
    def test_words_have_the_sum_of_their_tokens_and_the_last_the_end(self):
        assert word_scores(ATTENTION) == [-1, -2 - 3 - 4, -5 - 6 - 7]

    def test_they_sum_to_the_score_of_the_translation(self, translator):
        hypotheses = list(translator.hypotheses(TEXTS))
        sources = translator.vocabulary.encode(TEXTS)
        targets = [best.ids for best, *_ in hypotheses]
        totals = translator.score_ids(sources, targets, alpha=0)
        attention = translator.attention(TEXTS, hypotheses)
        for scores, total in zip(map(word_scores, attention), totals):
            if scores:
                assert sum(scores) == pytest.approx(total, abs=1e-3)

    def test_a_blank_text_has_none(self, translator):
        assert translator([" "], return_word_scores=True)[1] == [[]]


class TranslatorTest:
    def test_links_are_of_words_of_both_texts(self, translator):
        translations, alignments = translator(TEXTS, return_alignments=True)
        assert translations == translator(TEXTS)
        for source, links in zip(TEXTS, alignments):
            targets = [target for _, target in links]
            assert targets == list(range(len(links)))
            assert all(0 <= word < len(source.split()) for word, _ in links)

    def test_results_follow_the_order_of_the_flags(self, translator):
        results = translator(
            ["a dog"],
            return_scores=True,
            return_attention=True,
            return_alignments=True,
            return_word_scores=True,
        )
        attention = results[2][0]
        assert results[3] == [word_links(attention)]
        assert results[4] == [word_scores(attention)]
