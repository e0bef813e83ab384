"""Word links and word scores against loops over tokens, and against scores."""

import dataclasses

import numpy as np
import pytest
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import make_translator
from small_translators import make_vocabulary
from small_translators import tag_translator

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.engines.attention import SPACED_WORD
from keras_transformer.decoding.engines.attention import WORD
from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.decoding.engines.attention import compute_attention
from keras_transformer.decoding.engines.attention import find_links
from keras_transformer.decoding.engines.attention import find_words
from keras_transformer.decoding.engines.attention import format_pharaoh
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.search.ensemble import Ensemble
from keras_transformer.token_ids import WORD_START

SOURCES = ["ひらがな だけ の ぶん", "ながい ことば", "ぶん", "だけ の", "の"]
# Characters that the vocabulary lacks have a token for each of their bytes.
TARGETS = ["a dog runs, over", "the man's büchlein", "two women"]
TARGETS += ["a dog 😀", "😀 dog €"]
RED = "the red car.", "el coche rojo."


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    """A translator of three layers with a vocabulary for each side."""
    folder = tmp_path_factory.mktemp("vocabularies")
    kana = train_subwords(SOURCES * 20, 290, str(folder / "kana"))
    return make_translator(
        make_vocabulary(folder / "latin"),
        dataclasses.replace(HPARAMS, num_layers=3, tied_embeddings="target"),
        kana,
    )


def links_of(translator, pattern=SPACED_WORD, **options):
    return find_links(
        translator.engine.model,
        translator.codec.vocabularies,
        translator.codec.source_vocabulary.encode(SOURCES),
        translator.codec.vocabulary.encode(TARGETS),
        pattern,
        **options,
    )


def tokens_of_words(tokens):
    """Returns the numbers of each word's tokens, by the marks of words."""
    starts = [i for i, token in enumerate(tokens) if token[0] == WORD_START]
    stops = [*starts[1:], len(tokens) - 1]  # the last token is the end
    return [list(range(*pair)) for pair in zip(starts, stops)]


def linked(weights, source=RED[0], target=RED[1]):
    words = [find_words(text, WORD) for text in (source, target)]
    return WordLinks(*words, np.array(weights))


class FindLinksTest:
    @pytest.mark.parametrize(
        "layer",
        [
            pytest.param(0, marks=pytest.mark.slow),
            1,
            pytest.param(-1, marks=pytest.mark.slow),
        ],
    )
    def test_weights_and_scores_are_those_of_the_tokens(
        self, translator, layer
    ):
        vocabularies = translator.codec.vocabularies
        links = links_of(translator, layer=layer)
        for source, target, each in zip(SOURCES, TARGETS, links):
            attention = compute_attention(
                translator.engine.model,
                vocabularies,
                vocabularies.sources.encode([source])[0],
                vocabularies.targets.encode([target])[0],
            )
            cross = attention.cross[layer]
            rows = tokens_of_words(attention.target_tokens)
            columns = tokens_of_words(attention.source_tokens)
            expected = [
                [
                    np.mean(cross[:, row][..., column].sum(-1))
                    for column in columns
                ]
                for row in rows
            ]
            np.testing.assert_allclose(each.weights, expected, atol=1e-5)
            rows[-1].append(len(attention.target_tokens) - 1)
            expected = [attention.log_probs[row].sum() for row in rows]
            np.testing.assert_allclose(each.scores, expected, atol=1e-4)

    def test_words_are_those_of_the_texts(self, translator):
        for pattern in (SPACED_WORD, WORD):
            links = links_of(translator, pattern=pattern)
            for source, target, each in zip(SOURCES, TARGETS, links):
                assert each.source_words == find_words(source, pattern)
                assert each.target_words == find_words(target, pattern)
                assert np.all(each.weights.sum(axis=1) <= 1 + 1e-5)
                assert np.all(each.weights.max(axis=1) > 0)

    def test_the_last_layer_is_the_default(self, translator):
        for one, other in zip(
            links_of(translator), links_of(translator, layer=2)
        ):
            np.testing.assert_array_equal(one.weights, other.weights)

    def test_of_an_ensemble_the_first_model_counts(self, translator):
        models = [translator.engine.model, translator.engine.model]
        engine = KerasEngine(
            Ensemble(models),
            translator.codec.vocabulary,
            HPARAMS,
            source_vocabulary=translator.codec.source_vocabulary,
        )
        links = engine.link_words(
            translator.codec.source_vocabulary.encode(SOURCES),
            translator.codec.vocabulary.encode(TARGETS),
            SPACED_WORD,
        )
        assert links[0].find_pairs() == links_of(translator)[0].find_pairs()

    def test_many_sentences_have_the_links_that_each_has_alone(
        self, translator
    ):
        sources, targets = (SOURCES * 14)[:40], (TARGETS * 14)[:40]
        targets[7] = " ".join(TARGETS * 30)
        ids = (
            translator.codec.source_vocabulary.encode(sources),
            translator.codec.vocabulary.encode(targets),
        )
        model = translator.engine.model, translator.codec.vocabularies
        together = find_links(*model, *ids, SPACED_WORD)
        for place in (0, 7, 8, 39):
            pair = [side[place : place + 1] for side in ids]
            (alone,) = find_links(*model, *pair, SPACED_WORD)
            np.testing.assert_allclose(
                together[place].weights, alone.weights, atol=1e-5
            )


class WordLinksTest:
    def test_words_are_linked_to_where_most_weight_is(self):
        links = linked([[3, 1, 0, 0], [0, 1, 2, 0], [0, 2, 1, 0], [0, 0, 1, 2]])
        assert links.find_pairs() == [(0, 0), (2, 1), (1, 2), (3, 3)]
        assert links.find_mutual_pairs() == links.find_pairs()

    def test_only_mutual_choices_are_mutual(self):
        weights = np.full((4, 4), 0.1)
        weights[:, 0] = [0.7, 0.9, 0.8, 0.7]
        links = linked(weights)
        assert links.find_pairs() == [(0, 0), (0, 1), (0, 2), (0, 3)]
        # One of them, and the full stop.
        assert links.find_mutual_pairs() == [(0, 1), (3, 3)]

    def test_no_word_is_mutual_with_punctuation(self):
        weights = np.full((4, 4), 0.1)
        weights[0, 3] = weights[3, 0] = 0.9
        pairs = linked(weights).find_mutual_pairs()
        assert (3, 3) in pairs
        assert not {(3, 0), (0, 3)} & set(pairs)

    def test_what_is_behind_a_place_is_counted_from_there(self):
        weights = np.arange(16).reshape(4, 4)
        links = linked(weights).drop_source(len("the "))
        assert links.source_words == find_words("red car.", WORD)
        np.testing.assert_array_equal(links.weights, weights[:, 1:])

    def test_pharaoh_writes_the_source_first(self):
        assert format_pharaoh([(2, 0), (0, 1)]) == "2-0 0-1"
        assert format_pharaoh([]) == ""


class TranslatorTest:
    def test_links_are_of_words_of_both_texts(self, translator):
        translations, alignments = translator(SOURCES, return_alignments=True)
        assert translations == translator(SOURCES)
        for source, text, links in zip(SOURCES, translations, alignments):
            targets = [target for _, target in links]
            assert targets == list(range(len(text.split())))
            assert all(0 <= word < len(source.split()) for word, _ in links)

    def test_word_scores_sum_to_the_score_without_a_penalty(self, translator):
        translations, scores = translator(SOURCES, return_word_scores=True)
        totals = translator.score_ids(
            translator.codec.source_vocabulary.encode(SOURCES),
            [best.ids for best, *_ in translator.hypotheses(SOURCES)],
            alpha=0,
        )
        for text, own, total in zip(translations, scores, totals):
            assert len(own) == len(text.split())
            if own:
                assert sum(own) == pytest.approx(total, abs=1e-3)

    def test_a_blank_text_has_none(self, translator):
        results = translator(
            [" "], return_alignments=True, return_word_scores=True
        )
        assert results == ([""], [[]], [[]])

    def test_results_follow_the_order_of_the_flags(self, translator):
        results = translator(
            SOURCES[:1],
            return_scores=True,
            return_attention=True,
            return_alignments=True,
            return_word_scores=True,
        )
        hypotheses = list(translator.hypotheses(SOURCES[:1]))
        (links,) = translator.word_links(SOURCES[:1], hypotheses)
        assert results[3:] == ([links.find_pairs()], [links.scores])

    def test_a_tag_is_not_a_word_of_the_text(self, tmp_path):
        path = str(tmp_path / "vocabulary")
        vocabulary = train_subwords(TEXTS * 20, 312, path, ["<fr>"])
        translator = make_translator(vocabulary)
        french = tag_translator(translator, "fr")
        texts = TEXTS[:3]
        hypotheses = list(french.hypotheses(texts))
        by_hand = translator.word_links(
            [f"<fr> {text}" if text else text for text in texts], hypotheses
        )
        for text, ours, theirs in zip(
            texts, french.word_links(texts, hypotheses), by_hand
        ):
            assert ours.source_words == find_words(text, SPACED_WORD)
            np.testing.assert_array_equal(ours.weights, theirs.weights[:, 1:])
