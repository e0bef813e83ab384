"""Translations that obey a glossary."""

import dataclasses

import exported_translators
import keras
import pytest
from growth import assert_linear
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import make_run
from small_translators import make_translator
from small_translators import make_tree_vocabulary
from small_translators import rerank_translator

from keras_transformer import load
from keras_transformer.decoding import term_search
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.glossary import check_term_lengths
from keras_transformer.decoding.steps.glossary import find_lacking
from keras_transformer.decoding.steps.glossary import find_missing_terms
from keras_transformer.decoding.steps.glossary import merge_hypotheses
from keras_transformer.decoding.translator import Translator
from keras_transformer.search.lexical_constraint import MISSING_ID

TENSORFLOW = keras.backend.backend() == "tensorflow"
GLOSSARY = Glossary({"dog": "two book", "street": None, "very long": "man"})
EXPECTED = [
    ["two book", "street"],
    [],
    [],
    ["man", "street"],
    [],
    [],
    [],
]


def read(tmp_path, text):
    path = tmp_path / "terms.tsv"
    path.write_text(text, encoding="utf-8")
    return Glossary.read(str(path))


def test_long_terms_are_found_in_linear_time():
    # Each "a" could begin the term, which has more words than any sentence.
    glossary = Glossary({"a " * 300 + "b": "x", "a c": "y"})

    def find(size):
        glossary.find("c a " * (size // 4))

    assert_linear(find, 30_000)
    assert glossary.find("b " + "a " * 300 + "b a c") == ["x", "y"]


def test_a_term_is_as_short_as_an_export_takes():
    def count_tokens(texts, of_targets):
        assert of_targets
        return [len(text.split()) + 1 for text in texts]

    check_term_lengths(Glossary({"a": "b " * 32, "c": None}), count_tokens)
    with pytest.raises(ValueError, match="at most 32 tokens.* with 33"):
        check_term_lengths(Glossary({"a": "b " * 33}), count_tokens)


def assert_obeys(translations, expected=EXPECTED):
    for translation, terms in zip(translations, expected, strict=True):
        for term in terms:
            assert f" {term} " in f" {translation} "


class GlossaryTest:
    @pytest.mark.parametrize(
        "text, targets",
        [
            ("a cat sat", ["felino"]),
            ("Cats concatenate, cat-like: cat.", ["felino", "felino"]),
            ("Cat. Cat", ["felino"]),
            ("¿«Cat» or what?", ["felino"]),
            ("a New   York cat in York", ["Nueva", "felino", "york"]),
            ("new York", ["york"]),
            ("C++ or C", ["C++"]),
            ("it costs 5 % of NaCl", ["5 %", "NaCl"]),
            ("", []),
        ],
    )
    def test_terms_are_whole_words_and_the_longest(
        self, text, targets, tmp_path
    ):
        glossary = read(
            tmp_path,
            "cat\tfelino\nYork\tyork\nNew York\tNueva\nC++\n5 %\nNaCl\n",
        )
        assert glossary.find(text) == targets

    @pytest.mark.parametrize(
        "terms, text, targets",
        [
            ({"猫": "cat"}, "猫が好きです。", ["cat"]),
            (
                {"猫": "cat", "子猫": "kitten"},
                "白い子猫と猫",
                ["kitten", "cat"],
            ),
            (
                {"Tシャツ": None, "Wi-Fi": "w"},
                "このTシャツはWi-Fiの",
                ["Tシャツ", "w"],
            ),
            ({"แมว": "cat"}, "ฉันชอบแมวมาก", ["cat"]),
            ({"ກິນ": "eat", "ឆ្មា": "cat"}, "ຂ້ອຍກິນ ខ្ញុំស្រលាញ់ឆ្មា", ["eat", "cat"]),
            # Before a vowel sign, each would be a part of another word.
            ({"กา": "crow", "แม": "x"}, "กาแม่", ["crow"]),
            ({"बिल": "bill"}, "बिल्ली बिल", ["bill"]),
            ({"고양이": "cat"}, "고양이 고양이가", ["cat"]),
        ],
    )
    def test_scripts_without_spaces_have_terms_anywhere(
        self, terms, text, targets
    ):
        assert Glossary(terms).find(text) == targets

    def test_a_tag_is_not_a_part_of_the_text(self):
        glossary = Glossary({"cat": "felino", "no": "nei"})
        assert glossary.find("<no> Cat food, no?") == ["felino", "nei"]
        assert glossary.find("<no>") == ["nei"]

    def test_an_untranslated_term_keeps_its_capital_letter(self):
        assert Glossary({"tao": None}).find("Tao is tao.") == ["Tao", "tao"]

    @pytest.mark.parametrize(
        "text, message",
        [
            ("a\tb\nc\td\te\n", r"terms.tsv, line 2, 'c\\td\\te'"),
            ("a\tb\n\n", "line 2, ''"),
            ("a\t\n", r"line 1, 'a\\t'"),
            (" \tb\n", "Correct the line"),
            ("a\tb\nc\na\tc\n", "line 3 with a second one for 'a'"),
            ("a\na\tb\n", "one translation for each term"),
        ],
    )
    def test_a_malformed_line_is_named(self, text, message, tmp_path):
        with pytest.raises(ValueError, match=message):
            read(tmp_path, text)

    def test_its_hash_depends_on_its_terms(self):
        one = Glossary({"a": "b", "c": None})
        assert one.sha256 == Glossary({"c": None, "a": "b"}).sha256
        assert one.sha256 != Glossary({"a": "b", "c": "None"}).sha256


class HoldsTest:
    @pytest.mark.parametrize(
        "translation, terms, expected",
        [
            ("a kinase", [], True),
            ("Kinases", ["Kinase"], False),
            ("a (kinase).", ["kinase"], True),
            ("Kinase", ["kinase"], False),
            ("a kinase", ["kinase", "kinase"], False),
            ("a kinase kinase", ["kinase", "kinase"], True),
            ("ta ta ta", ["ta ta", "ta ta"], True),
            ("a protein  kinase", ["protein kinase"], True),
            ("a protein kinase", ["protein kinase", "kinase"], False),
            ("New York City", ["New York", "York City"], True),
            ("C++ and C+", ["C++"], True),
            ("私は猫が好き", ["猫"], True),
            ("Wi-Fiを使う", ["Wi-Fi"], True),
            ("Tシャツ", ["シャツ", "T"], True),
            ("ฉันชอบแมวมาก", ["แมว", "แมว"], False),
        ],
    )
    def test_terms_are_counted_as_whole_words(
        self, translation, terms, expected
    ):
        assert (not find_lacking(translation, terms)) == expected


class TermsTest:
    FREE = [
        [Hypothesis("a b", -1.0), Hypothesis("a c", -2.0)],
        [Hypothesis("a b", -1.0), Hypothesis("a c", -2.0)],
        [Hypothesis("b", -1.0), Hypothesis("c", -2.0)],
        [Hypothesis("", 0.0)],
        [Hypothesis("b", -1.0), Hypothesis("c", -4.0)],
    ]
    CONSTRAINED = [
        [],
        [Hypothesis("c", -1.5), Hypothesis("b c", -3.0)],
        [Hypothesis("x", -5.0), Hypothesis("y x", -6.0)],
        [],
        [Hypothesis("c", -4.0), Hypothesis("b c", -5.0)],
    ]
    TERMS = [[], ["c"], ["x"], [], ["c"]]

    def test_only_what_lacks_a_term_is_searched_again(self):
        glossary = Glossary({"one": "a", "two": "c", "three": "x", "four": "c"})
        texts = ["one", "two", "three", "", "four"]
        assert find_missing_terms(glossary, texts, self.FREE) == self.TERMS

    def test_both_searches_give_their_best_hypotheses(self):
        results = merge_hypotheses(self.CONSTRAINED, self.FREE, self.TERMS)
        assert results == [
            self.FREE[0],
            [Hypothesis("c", -1.5), Hypothesis("a c", -2.0)],
            self.CONSTRAINED[2],
            self.FREE[3],
            self.CONSTRAINED[4],
        ]


class TranslatorTest:
    def test_translations_hold_their_terms(self, translator):
        plain = translator(TEXTS, extra_length=20)
        with pytest.raises(AssertionError):
            assert_obeys(plain)
        constrained = translator(TEXTS, glossary=GLOSSARY, extra_length=20)
        assert_obeys(constrained)
        for terms, translation, own in zip(EXPECTED, plain, constrained):
            assert terms or translation == own

    @pytest.mark.slow
    def test_the_score_tells_whether_a_hypothesis_holds_them(self, translator):
        results, scores = translator(
            TEXTS,
            glossary=GLOSSARY,
            num_hypotheses=4,
            return_scores=True,
            extra_length=20,
        )
        for terms, hypotheses, own_scores in zip(EXPECTED, results, scores):
            for place, (text, score) in enumerate(zip(hypotheses, own_scores)):
                assert place or score > -MISSING_ID
                if score > -MISSING_ID:
                    assert_obeys([text], [terms])

    def test_a_translation_that_holds_its_terms_stays(self, translator):
        texts = ["a dog", "a street"]
        plain, scores = translator(texts, return_scores=True)
        glossary = Glossary({"dog": plain[0].split()[-1], "street": "two book"})
        own, own_scores = translator(
            texts, glossary=glossary, return_scores=True
        )
        assert (own[0], own_scores[0]) == (plain[0], scores[0])
        assert_obeys(own[1:], [["two book"]])
        # Every sentence is reported once, though one is searched twice.
        counts = []
        list(translator.hypotheses(texts, counts.append, glossary=glossary))
        assert sum(counts) == len(texts)

    def test_a_prefix_comes_first(self, translator):
        (translation,) = translator(
            ["a dog"], prefixes=["women run"], glossary=GLOSSARY
        )
        assert translation.startswith("women run")
        assert_obeys([translation], [["two book"]])

    def test_scores_are_those_of_the_model(self, translator):
        texts = [TEXTS[0], TEXTS[3]]
        results = list(translator.hypotheses(texts, glossary=GLOSSARY))
        scores = translator.score_ids(
            translator.codec.vocabulary.encode(texts),
            [best.ids for best, *_ in results],
        )
        assert scores == pytest.approx(
            [best.score for best, *_ in results], abs=1e-3
        )

    @pytest.mark.slow
    def test_a_reranker_obeys_it(self, translator):
        reranker = rerank_translator(translator, translator)
        assert_obeys(reranker(TEXTS, glossary=GLOSSARY, extra_length=20))

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"beam_size": 1}, "beam of at least 2.*beam_size=1"),
            ({"temperature": 1.0}, "beam search. Received: temperature=1"),
            ({"mbr_samples": 4}, "mbr_samples=4"),
        ],
    )
    def test_other_searches_are_refused(self, translator, options, message):
        with pytest.raises(ValueError, match=message):
            translator(["a dog"], glossary=GLOSSARY, **options)

    def test_a_dictionary_is_refused(self, translator):
        with pytest.raises(ValueError, match="glossary={'dog': 'hound'}. Wri"):
            translator(["a dog"], glossary={"dog": "hound"})

    def test_a_parser_refuses_it(self, tmp_path):
        vocabulary = make_tree_vocabulary(tmp_path / "vocabulary")
        with pytest.raises(ValueError, match="a model that parses"):
            make_translator(vocabulary)(["a dog"], glossary=GLOSSARY)


class PrefixTest:
    """CTranslate2 has no constraint, and continues prefixes with terms."""

    @pytest.fixture(scope="class")
    def exported(self, tmp_path_factory):
        pytest.importorskip("ctranslate2")
        run = exported_translators.make_translator(tmp_path_factory.mktemp("r"))
        return load(run.exported)

    def test_translations_hold_their_terms(self, exported):
        plain = exported(TEXTS)
        with pytest.raises(AssertionError):
            assert_obeys(plain)
        written = exported(TEXTS, glossary=GLOSSARY)
        for text, terms in zip(written, EXPECTED, strict=True):
            assert not find_lacking(text, terms)
        for terms, translation, own in zip(EXPECTED, plain, written):
            assert terms or translation == own

    def test_the_spelling_of_a_term_changes_no_place(self, exported):
        glossary = Glossary({"dog": "\u00a0two\nbo\u200bok", "street": None})
        expected = Glossary({"dog": "two book", "street": None})
        written = exported(TEXTS, glossary=glossary)
        assert written == exported(TEXTS, glossary=expected)

    # A term may end in a sign, such as that of Yahoo!
    @pytest.mark.parametrize("term", ["two book", "book!", "book_"])
    def test_more_terms_than_searches_are_written(self, exported, term):
        number = term_search.MAX_SEARCHES + 3
        glossary = Glossary({"dog": term})
        (text,) = exported(["dog " * number], glossary=glossary)
        assert not find_lacking(text, [term] * number)

    def test_a_translation_that_would_be_too_long_stays(
        self, exported, monkeypatch
    ):
        monkeypatch.setattr(exported.engine, "max_length", 12)
        texts = ["dog " * 9]
        assert exported(texts, glossary=GLOSSARY) == exported(texts)

    def test_a_prefix_comes_first(self, exported):
        (text,) = exported(["a dog"], prefixes=["women run"], glossary=GLOSSARY)
        assert text.startswith("women run")
        assert not find_lacking(text, ["two book"])

    def test_scores_are_those_of_the_model(self, exported):
        texts = [TEXTS[0], "dog " * 12]
        (first, second) = exported.hypotheses(texts, glossary=GLOSSARY)
        scores = exported.score_ids(
            exported.codec.vocabulary.encode(texts),
            [first[0].ids, second[0].ids],
        )
        found = [first[0].score, second[0].score]
        assert scores == pytest.approx(found, abs=1e-3)


@pytest.mark.skipif(not TENSORFLOW, reason="SavedModels are TensorFlow's")
class SavedModelTest:
    @pytest.mark.slow
    def test_it_translates_as_the_run_does(self, vocabulary, tmp_path):
        from keras_transformer.formats.saved_model.writer import (
            export_saved_model,
        )

        hparams = dataclasses.replace(HPARAMS, extra_length=20)
        run = make_run(tmp_path / "run", vocabulary, hparams)
        path = export_saved_model(run, str(tmp_path / "export"))
        exported = Translator.load(path)
        translations, scores = exported(
            TEXTS, glossary=GLOSSARY, return_scores=True
        )
        expected, expected_scores = Translator.load(run.path, engine="keras")(
            TEXTS, glossary=GLOSSARY, return_scores=True
        )
        assert translations == expected
        assert scores == pytest.approx(expected_scores, abs=1e-4)
        assert_obeys(translations)
