"""CTranslate2 gives the translations of our own translator."""

import json
import os
import pathlib
import shutil

import numpy as np
import pytest
import sentencepiece
from exported_translators import WORDS
from exported_translators import make_translator

from keras_transformer.decoding import load
from keras_transformer.decoding.engines import attention
from keras_transformer.decoding.engines.engine import check_capabilities
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine
from keras_transformer.formats.ctranslate2.search import Request
from keras_transformer.search.options import DecodeOptions

ctranslate2 = pytest.importorskip("ctranslate2")
V01 = str(pathlib.Path(__file__).parents[1] / "fixtures/v0.1/ctranslate2")


@pytest.fixture(scope="module")
def texts():
    generator = np.random.default_rng(3)
    lengths = generator.integers(1, 9, size=40)
    texts = [" ".join(generator.choice(WORDS, length)) for length in lengths]
    return texts[:20] + ["", "  "] + texts[20:]


# The tests of export/ctranslate2_model compare both kinds of norm.
@pytest.fixture(
    scope="module", params=["post", pytest.param("pre", marks=pytest.mark.slow)]
)
def ours(request, tmp_path_factory):
    return make_translator(tmp_path_factory.mktemp("run"), request.param)


@pytest.fixture(scope="module")
def theirs(ours):
    return Translator(CTranslate2Engine(ours.exported))


@pytest.fixture
def copied(ours, tmp_path):
    """Copies the export, so that a test can damage it."""
    return shutil.copytree(ours.exported, tmp_path / "copied")


class CTranslate2EngineTest:
    @pytest.mark.parametrize(
        "options",
        [
            {"beam_size": 4, "extra_length": 20, "num_hypotheses": 2},
            {"beam_size": 1, "no_repeat_ngram_size": 2},
            *(
                pytest.param(options, marks=pytest.mark.slow)
                for options in (
                    {"beam_size": 2, "alpha": 0.0},
                    {"beam_size": 1},
                    {"beam_size": 4},
                    {"beam_size": 1, "extra_length": 0},
                    {"beam_size": 4, "extra_length": 0},
                    {"beam_size": 2, "min_length": 5},
                )
            ),
        ],
        ids=str,
    )
    def test_finds_what_our_search_finds(self, options, ours, theirs, texts):
        expected = list(ours.hypotheses(texts, **options))
        hypotheses = list(theirs.hypotheses(texts, **options))
        assert len(hypotheses) == len(texts)
        missed = 0
        for (our_best, *_), (their_best, *_) in zip(expected, hypotheses):
            if their_best.ids == our_best.ids:
                assert their_best.text == our_best.text
                assert abs(their_best.score - our_best.score) < 1e-4
            else:
                # An unlikely end has won, see `ctranslate2_search`.
                assert their_best.score < our_best.score - 1e-4
                missed += 1
        assert missed <= (0 if options["beam_size"] == 1 else 2)

    @pytest.mark.parametrize("extra_length", [20, 0])
    def test_links_words_as_ours(self, extra_length, ours, theirs, texts):
        hypotheses = list(theirs.hypotheses(texts, extra_length=extra_length))
        expected = ours.word_links(texts, hypotheses)
        links = theirs.word_links(texts, hypotheses)
        for one, other in zip(links, expected, strict=True):
            assert one.source_words == other.source_words
            assert one.target_words == other.target_words
            np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
            np.testing.assert_allclose(one.scores, other.scores, atol=1e-4)

    def test_links_are_found_in_parts_that_fit_into_memory(
        self, theirs, texts, monkeypatch
    ):
        hypotheses = list(theirs.hypotheses(texts))
        expected = theirs.word_links(texts, hypotheses)
        monkeypatch.setattr(attention, "MAX_CELLS", 50)
        links = theirs.word_links(texts, hypotheses, scored=False)
        for one, other in zip(links, expected, strict=True):
            assert one.target_words == other.target_words
            np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
            assert one.scores == []

    def test_models_of_version_0_1_link_no_words(self):
        translator = load(V01)
        with pytest.raises(UserError, match="not support `return_alignments`"):
            translator(["a"], return_alignments=True)
        with pytest.raises(UserError, match="`--protect`.*or export it again"):
            check_capabilities(
                plan_model(V01).capabilities, {"protect": True}, "--"
            )

    def test_scores_are_those_of_our_model(self, ours, theirs, texts):
        sources = [
            ids for ids in ours.codec.vocabulary.encode(texts) if len(ids) > 1
        ]
        for options in ({"extra_length": 0}, {"min_length": 9}):
            hypotheses = list(theirs.hypotheses(texts, beam_size=3, **options))
            hypotheses = [each[0] for each in hypotheses if each[0].ids]
            expected = ours.score_ids(sources, [one.ids for one in hypotheses])
            scores = [one.score for one in hypotheses]
            np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4)

    def test_scores_given_translations_as_ours(self, ours, theirs, texts):
        translations = texts[::-1]
        expected = ours.score(texts, translations, alpha=0.3)
        scores = theirs.score(texts, translations, alpha=0.3)
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4)

    def test_a_text_without_tokens_has_an_empty_translation(self, ours, theirs):
        # SentencePiece reads this character as a space.
        texts = ["a dog", "▁", ""]
        hypotheses = list(theirs.hypotheses(texts, beam_size=2))
        assert hypotheses[1] == hypotheses[2] == list(ours.hypotheses([""]))[0]
        assert hypotheses[1][0].text == ""
        assert hypotheses[:1] == list(theirs.hypotheses(["a dog"], beam_size=2))

    def test_prefix_is_kept_and_counts(self, ours, theirs, texts):
        prefixes = ["two women" if i % 2 else "" for i in range(len(texts))]
        options = {"prefixes": prefixes, "beam_size": 1}
        hypotheses = list(theirs.hypotheses(texts, **options))
        expected = list(ours.hypotheses(texts, **options))
        for text, prefix, (their_best,), (our_best,) in zip(
            texts, prefixes, hypotheses, expected
        ):
            assert their_best.ids == our_best.ids
            assert abs(their_best.score - our_best.score) < 1e-4
            assert their_best.text.startswith(prefix if text.strip() else "")

    def test_samples_follow_the_seed(self, ours, theirs, texts):
        options = {"temperature": 1.5, "num_hypotheses": 2, "top_k": 20}
        first = list(theirs.hypotheses(texts, seed=1, **options))
        assert list(theirs.hypotheses(texts, seed=1, **options)) == first
        assert list(theirs.hypotheses(texts, seed=2, **options)) != first
        sources = ours.codec.vocabulary.encode(texts[:5])
        best = [hypotheses[0] for hypotheses in first[:5]]
        expected = ours.score_ids(sources, [one.ids for one in best])
        scores = [one.score for one in best]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("seed", [2**32 - 1, 2**40, np.int32(2**31 - 1)])
    def test_large_seeds_are_seeds(self, theirs, texts, seed):
        for start in (0, 1024):
            options = {"temperature": 1.5, "seed": seed, "start": start}
            first = list(theirs.hypotheses(texts[:5], **options))
            assert list(theirs.hypotheses(texts[:5], **options)) == first

    def test_windows_and_seeds_share_no_samples(self, theirs, texts):
        options = {"temperature": 1.5, "num_hypotheses": 2}
        later = list(theirs.hypotheses(texts, seed=0, start=1024, **options))
        assert later != list(theirs.hypotheses(texts, seed=1024, **options))

    def test_result_depends_on_no_other_sentence(self, theirs, texts):
        together, scores = theirs(texts, return_scores=True)
        for text, expected, score in zip(texts, together, scores):
            (translation,), (alone,) = theirs([text], return_scores=True)
            assert translation == expected
            assert abs(alone - score) < 1e-4

    def test_answers_have_the_form_of_ours(self, ours, theirs, texts):
        for options in (
            {},
            {"num_hypotheses": 1},
            {"num_hypotheses": 2, "return_scores": True},
            {"return_scores": True},
        ):
            result = theirs(["a dog", ""], **options)
            expected = ours(["a dog", ""], **options)
            assert _nesting(result) == _nesting(expected)
        assert theirs([]) == theirs.score([], []) == []
        assert list(theirs.translate(iter(texts))) == theirs(texts)

    def test_all_sentences_are_reported_before_the_last_is_yielded(
        self, theirs, texts
    ):
        counts = []
        for _ in zip(texts, theirs.translate(texts, report=counts.append)):
            pass  # `zip` does not ask for what comes after the last one
        assert sum(counts) == len(texts)

    @pytest.mark.parametrize(
        "options, is_scored",
        [
            ({"beam_size": 1}, False),
            ({"beam_size": 1, "min_length": 5}, False),
            ({"beam_size": 1, "extra_length": 0}, False),
            ({"temperature": 1.5, "seed": 4}, False),
            ({"temperature": 1.5, "num_hypotheses": 2, "seed": 4}, True),
            ({"beam_size": 2}, True),
        ],
        ids=str,
    )
    def test_search_without_scores_finds_the_same(
        self, options, is_scored, theirs, texts
    ):
        prefixes = ["two women" if i % 3 else "" for i in range(len(texts))]
        for prefixes in (None, prefixes):
            expected = theirs.hypotheses(texts, prefixes=prefixes, **options)
            found = theirs.hypotheses(
                texts, prefixes=prefixes, scored=False, **options
            )
            for text, row, own in zip(texts, expected, found, strict=True):
                if not is_scored and text.strip():
                    row = [one._replace(score=None) for one in row]
                assert own == row

    def test_run_and_export_load_alike(self, ours, theirs):
        for path in (ours.exported, os.path.dirname(ours.exported)):
            loaded = Translator.load(path)
            assert isinstance(loaded.engine, CTranslate2Engine)
            assert loaded(["two dogs"]) == theirs(["two dogs"])


class PlainUseTest:
    def test_ctranslate2_alone_gives_our_translations(self, ours, texts):
        """Passes the pieces as SentencePiece returns them, without an end."""
        texts = [text for text in texts if text.strip()]
        subwords = sentencepiece.SentencePieceProcessor()
        subwords.Load(f"{ours.exported}/vocab.model")
        results = ctranslate2.Translator(ours.exported).translate_batch(
            subwords.encode(texts, out_type=str),
            beam_size=1,
            min_decoding_length=0,
            max_decoding_length=60,
        )
        expected = ours.hypotheses(texts, beam_size=1)
        for result, (best,) in zip(results, expected, strict=True):
            # Ours end at a limit of their own.
            pieces = ours.codec.vocabulary.pieces(best.ids[:-1])
            assert result.hypotheses[0][: len(pieces)] == pieces

    def test_exports_of_version_0_1_give_the_same(self, theirs, copied, texts):
        config = json.loads((copied / "config.json").read_text())
        assert config["add_source_eos"]
        config["add_source_eos"] = False
        (copied / "config.json").write_text(json.dumps(config))
        before = Translator(CTranslate2Engine(str(copied)))
        translations, scores = before(texts, return_scores=True)
        expected, expected_scores = theirs(texts, return_scores=True)
        assert translations == expected
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-5)


class SilentIdsTest:
    """Padding and the unknown id stand for no text."""

    @pytest.fixture(scope="class")
    def ours(self, tmp_path_factory):
        directory = tmp_path_factory.mktemp("silent")
        return make_translator(directory, silent=1.05)

    @pytest.fixture(scope="class")
    def theirs(self, ours):
        return Translator(CTranslate2Engine(ours.exported))

    @pytest.mark.parametrize(
        "options",
        [
            pytest.param({"beam_size": 1}, marks=pytest.mark.slow),
            {"beam_size": 4, "num_hypotheses": 2},
            pytest.param(
                {"temperature": 1.0, "min_length": 5}, marks=pytest.mark.slow
            ),
        ],
        ids=str,
    )
    def test_they_are_never_written(self, options, ours, theirs, texts):
        texts = texts[15:25]
        expected = list(ours.hypotheses(texts, **options))
        hypotheses = list(theirs.hypotheses(texts, **options))
        for each in (*expected, *hypotheses):
            assert not any({0, 2} & set(one.ids) for one in each)
        ids = [[one.ids for one in each] for each in hypotheses]
        scores = [[one.score for one in each] for each in hypotheses]
        # The scores are the probabilities that the model itself gives.
        sources = [x for x in ours.codec.vocabulary.encode(texts) if len(x) > 1]
        best = ours.score_ids(sources, [x[0] for x in ids if x[0]])
        best_scores = [x[0] for x in scores if x[0]]
        np.testing.assert_allclose(best_scores, best, rtol=0, atol=1e-4)
        if options.get("beam_size") == 1:
            assert ids == [[one.ids for one in each] for each in expected]
            found = theirs.hypotheses(texts, scored=False, **options)
            assert [[one.ids for one in each] for each in found] == ids

    def test_a_prefix_alone_may_hold_the_unknown_id(self, ours, theirs):
        sources = ours.codec.vocabulary.encode(["two dogs read", "a book"])
        prefixes = [[2, 270], [280, 2]]
        expected = ours.translate_ids(sources, None, prefixes, beam_size=1)
        results = theirs.engine._search(
            [
                Request(source, prefix, len(source) + 6)
                for source, prefix in zip(sources, prefixes)
            ],
            DecodeOptions(beam_size=1),
        )
        for prefix, (one,), (wanted,) in zip(prefixes, results, expected):
            assert one.ids == wanted.ids
            assert one.ids[:2] == prefix
            assert not {0, 2} & set(one.ids[2:])
            assert abs(one.score - wanted.score) < 1e-4


class RefusalTest:
    def test_attention_is_refused(self, theirs):
        with pytest.raises(ValueError, match="support `return_attention`"):
            theirs(["a dog"], return_attention=True)

    def test_one_str_is_refused(self, theirs):
        with pytest.raises(ValueError, match="Put it into a list"):
            theirs("a dog")

    def test_too_few_prefixes_are_refused(self, theirs):
        with pytest.raises(ValueError, match="none for text 2"):
            theirs(["a dog", "a book"], prefixes=["a"])

    @pytest.mark.parametrize("seed", [-1, "1", 1.5])
    def test_a_seed_that_is_no_whole_number_is_refused(self, theirs, seed):
        with pytest.raises(ValueError, match=f"`seed` .*seed={seed!r}. Use"):
            theirs(["a dog"], temperature=1.0, seed=seed)

    def test_overlong_text_is_refused_with_its_number(self, theirs):
        with pytest.raises(ValueError, match="sentence 2 with [0-9],"):
            theirs(["a dog", "dog " * 9000])

    def test_incomplete_directory_is_refused(self, copied):
        os.remove(copied / "export.json")
        with pytest.raises(ValueError, match="export.json.*is missing"):
            Translator(CTranslate2Engine(str(copied)))

    def test_other_vocabulary_is_refused(self, copied):
        record = json.loads((copied / "export.json").read_text())
        record["vocabulary_sha256"] = "0" * 64
        (copied / "export.json").write_text(json.dumps(record))
        with pytest.raises(ValueError, match="not the vocabulary of its model"):
            Translator(CTranslate2Engine(str(copied)))

    @pytest.mark.parametrize("size, filler", [(2000, b""), (0, bytes(999))])
    def test_damaged_model_is_refused(self, size, filler, copied):
        model = copied / "model.bin"
        model.write_bytes(model.read_bytes()[:size] + filler)
        with pytest.raises(ValueError, match="cannot load"):
            Translator(CTranslate2Engine(str(copied)))

    def test_unknown_compute_type_is_refused(self, ours):
        with pytest.raises(ValueError, match="compute_type='int3'"):
            Translator(CTranslate2Engine(ours.exported, compute_type="int3"))


def _nesting(value):
    """Returns the nesting of a result: its types, and the lists' lengths."""
    if isinstance(value, (list, tuple)):
        return type(value), [_nesting(item) for item in value]
    return type(value)
