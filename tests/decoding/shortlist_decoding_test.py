"""A search keeps to the shortlist of its export, and otherwise is the same."""

import collections
import dataclasses
import json
import os
import shutil

import pytest
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import make_kana_vocabulary
from small_translators import make_run
from small_translators import make_vocabulary

from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine
from keras_transformer.formats.ctranslate2.shortlist import Shortlist
from keras_transformer.formats.ctranslate2.shortlist import learn_shortlist
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID

pytest.importorskip("ctranslate2")

OPTIONS = [
    {"beam_size": 1},
    {"beam_size": 3, "num_hypotheses": 3},
    {"beam_size": 2, "extra_length": 0},
    {"beam_size": 2, "min_length": 6},
]


@pytest.fixture(scope="module")
def latin(tmp_path_factory):
    return make_vocabulary(tmp_path_factory.mktemp("latin") / "vocab.model")


@pytest.fixture(scope="module")
def kana(tmp_path_factory):
    return make_kana_vocabulary(tmp_path_factory.mktemp("kana") / "vocab.model")


@pytest.fixture(scope="module")
def run(tmp_path_factory, latin):
    return make_run(tmp_path_factory.mktemp("run") / "run", latin)


@pytest.fixture(scope="module")
def export(run, tmp_path_factory):
    """Function that exports the run and loads the export."""

    def export(chosen):
        directory = str(tmp_path_factory.mktemp("export") / "out")
        options = DecodeOptions.from_hparams(run.hparams)
        path = export_ctranslate2(run, directory, options, shortlist=chosen)
        translator = Translator(CTranslate2Engine(path))
        translator.path = path
        return translator

    return export


@pytest.fixture(scope="module")
def everything(export, latin):
    """An export without a shortlist."""
    return export(None)


@pytest.fixture(scope="module")
def few(latin):
    """A shortlist that has a single subword for each of the source."""
    return Shortlist(
        latin.encode(["street"])[0][:-1],
        [[(7 * id_) % latin.vocab_size] for id_ in range(latin.vocab_size)],
    )


@pytest.fixture(scope="module")
def short(export, few):
    return export(few)


def allowed(few, vocabulary, texts):
    """Returns the ids that translations of texts in one batch may have."""
    ids = {END_ID, *few.frequent}
    for source in vocabulary.encode(texts):
        ids.update(id_ for each in source[:-1] for id_ in few.related[each])
    return ids


class ExportTest:
    def test_a_shortlist_of_everything_changes_nothing(
        self, export, everything, latin
    ):
        whole = export(
            Shortlist(list(range(latin.vocab_size)), [[]] * latin.vocab_size)
        )
        for options in OPTIONS:
            expected = list(everything.hypotheses(TEXTS, **options))
            for ours, theirs in zip(
                whole.hypotheses(TEXTS, **options), expected, strict=True
            ):
                assert [x.ids for x in ours] == [x.ids for x in theirs]
                scores = [x.score for x in ours]
                expected_scores = [x.score for x in theirs]
                assert scores == pytest.approx(expected_scores, abs=1e-4)

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_no_subword_outside_it_is_written(
        self, options, short, everything, few, latin
    ):
        written = set()
        for text in TEXTS:
            (hypotheses,) = short.hypotheses([text], **options)
            ids = {id_ for one in hypotheses for id_ in one.ids}
            assert ids <= allowed(few, latin, [text])
            written |= ids
        (others,) = everything.hypotheses(TEXTS[:1], **options)
        assert not set(others[0].ids) <= allowed(few, latin, TEXTS)
        assert len(written - {END_ID}) > 1

    def test_a_prefix_may_hold_any_subwords(self, short, few, latin):
        prefix = "the women and the man"
        prefixes = [prefix, "a book"]
        assert not set(latin.encode([prefix])[0]) <= allowed(few, latin, TEXTS)
        for options in OPTIONS:
            found = short.hypotheses(TEXTS[:2], prefixes=prefixes, **options)
            for expected, hypotheses in zip(prefixes, found, strict=True):
                for one in hypotheses:
                    assert one.text.startswith(expected)

    def test_any_translation_has_the_score_of_the_model(
        self, short, everything
    ):
        references = TEXTS[::-1]
        short(TEXTS)
        expected = everything.score(TEXTS, references)
        assert short.score(TEXTS, references) == pytest.approx(expected)

    def test_samples_are_those_of_the_model(self, short, everything):
        options = {"temperature": 1.0, "top_k": 1000, "num_hypotheses": 2}
        assert list(short.hypotheses(TEXTS, seed=3, **options)) == list(
            everything.hypotheses(TEXTS, seed=3, **options)
        )

    def test_hypotheses_are_ranked_by_scores_of_one_kind(
        self, short, everything
    ):
        # The hypotheses that the limit cuts are scored by the model.
        options = {"beam_size": 4, "num_hypotheses": 4, "extra_length": 0}
        hypotheses = next(short.hypotheses(TEXTS[:1], **options))
        (source,) = everything.codec.source_vocabulary.encode(TEXTS[:1])
        assert any(len(one.ids) == len(source) for one in hypotheses)
        scores = everything.score_ids(
            [source] * len(hypotheses), [one.ids for one in hypotheses]
        )
        found = [one.score for one in hypotheses]
        assert found == pytest.approx(scores, abs=1e-4)
        assert found == sorted(found, reverse=True)

    def test_each_side_of_two_vocabularies_has_its_pieces(
        self, latin, kana, tmp_path
    ):
        hparams = dataclasses.replace(HPARAMS, tied_embeddings="target")
        run = make_run(tmp_path / "run", kana, hparams, source_vocabulary=latin)
        pairs = [("a dog", "みじかい ぶん"), ("two women", "ことば")]
        learnt = learn_shortlist(pairs, run.vocabularies, num_frequent=0)
        path = export_ctranslate2(
            run, str(tmp_path / "out"), DecodeOptions(), shortlist=learnt
        )
        translator = Translator(CTranslate2Engine(path))
        (best,) = next(translator.hypotheses(["a dog"]))
        assert set(best.ids) <= allowed(learnt, latin, ["a dog"])


class SilentIdsTest:
    def test_they_are_excluded_with_a_shortlist(
        self, everything, latin, tmp_path
    ):
        """The search excludes ids by their places in the shortlist."""
        written = collections.Counter(
            id_
            for (best,) in everything.hypotheses(TEXTS)
            for id_ in best.ids[:-1]
        )
        likely = [id_ for id_, _ in written.most_common(2)]
        run = make_run(tmp_path / "run", latin)
        arrays = run.checkpoints.load(7)
        embeddings = arrays["model/embedding/embeddings"]
        embeddings[[0, 2]] = 1.05 * embeddings[likely]
        run.checkpoints.save(8, arrays)
        chosen = Shortlist(likely, [[id_] for id_ in range(latin.vocab_size)])
        path = export_ctranslate2(
            run, str(tmp_path / "out"), DecodeOptions(), shortlist=chosen
        )
        translator = Translator(CTranslate2Engine(path))
        engine, pieces = translator.engine._search.engine, latin.pieces
        sources = [pieces(ids[:-1]) for ids in latin.encode(TEXTS) if ids[1:]]
        results = engine.translate_batch(sources, use_vmap=True)
        tokens = {token for each in results for token in each.hypotheses[0]}
        assert tokens & set(pieces([0, 2]))
        for options in OPTIONS:
            for hypotheses in translator.hypotheses(TEXTS, **options):
                for one in hypotheses:
                    assert not {0, 2} & set(one.ids)
                    assert set(one.ids) <= allowed(chosen, latin, TEXTS)


class FilesTest:
    def test_an_export_says_whether_it_has_one(self, short, everything):
        added = set(os.listdir(short.path)) - set(os.listdir(everything.path))
        assert added == {"vmap.txt"}
        records = []
        for each in (short, everything):
            with open(f"{each.path}/export.json") as file:
                records.append(json.load(file))
            with open(f"{each.path}/README.md") as file:
                card = file.read()
            assert ("use_vmap=True" in card) == (each is short)
            assert ("shortlist of target subwords" in card) == (each is short)
        assert records[0].pop("shortlist_sha256")
        assert records[0] == records[1]

    @pytest.mark.parametrize("content", [None, b"", b"\ta b\n"])
    def test_a_damaged_one_is_refused(self, content, short, tmp_path):
        copied = shutil.copytree(short.path, tmp_path / "copied")
        if content is None:
            os.remove(copied / "vmap.txt")
        else:
            (copied / "vmap.txt").write_bytes(content)
        with pytest.raises(ValueError, match="vmap.txt.*Export the run again"):
            Translator(CTranslate2Engine(str(copied)))
