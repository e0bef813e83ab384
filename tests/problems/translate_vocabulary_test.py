"""Tests of the vocabularies of the user's own text."""

import dataclasses

import pytest
from marian_examples import GERMAN
from marian_examples import TEXTS
from marian_examples import train_sentencepiece
from marian_examples import write_marian_example

from keras_transformer import registry
from keras_transformer.bin.datagen import find_vocabulary
from keras_transformer.data.generation.corpora import Corpus
from keras_transformer.data.vocabulary import subwords
from keras_transformer.formats.marian.vocabulary_files import (
    read_marian_vocabularies,
)
from keras_transformer.hparam import HParams
from keras_transformer.problems.translate_files import TranslateFiles
from keras_transformer.training.start import check_vocabularies


@pytest.fixture
def corpora(tmp_path):
    """A large corpus of numbers and a small one of colours."""
    large = "".join(f"number {n} <num>\tZahl {n} <num>\n" for n in range(300))
    small = "turquoise\ttürkis\nvermilion\tzinnober\n" * 3
    for name, text in (("large", large), ("small", small)):
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    paths = {name: str(tmp_path / f"{name}.tsv") for name in ("large", "small")}
    return {
        "train": [Corpus((paths["large"],)), Corpus((paths["small"],))],
        "dev": [Corpus((paths["small"],))],
    }


def generate(data_dir, corpora, vocab_size=320, **options):
    problem = TranslateFiles(str(data_dir))
    problem.use_files({}, vocab_size, corpora=corpora, **options)
    problem.generate(None)
    return registry.get_problem("translate_files", str(data_dir))


class VocabularyTest:
    def test_a_given_model_is_used_as_it_is(self, tmp_path, corpora):
        first = generate(tmp_path / "first", corpora)
        path = find_vocabulary(str(tmp_path / "first"))
        second = generate(tmp_path / "second", corpora, None, vocabulary=path)
        assert second.vocabulary.sha256 == first.vocabulary.sha256
        assert second.manifest["vocab_size"] == 320
        assert second.manifest["splits"] == first.manifest["splits"]
        again = generate(tmp_path / "second", corpora, None, vocabulary=path)
        assert again.manifest == second.manifest

    def test_another_model_for_the_same_data_is_an_error(
        self, tmp_path, corpora
    ):
        generate(tmp_path / "data", corpora)
        path = str(tmp_path / "other.model")
        subwords.train_subwords(["a b c"] * 9, 263, path)
        with pytest.raises(
            ValueError, match="vocabulary=sha256 .*no value of vocabulary"
        ):
            generate(tmp_path / "data", corpora, None, vocabulary=path)

    @pytest.mark.parametrize(
        "place, name",
        [
            ("vocab.model", ""),
            ("vocab.model", "vocab.model"),
            ("1/vocab.model", ""),
            ("12/assets.extra/vocab.model", ""),
            ("translate_files/vocab.model", ""),
        ],
    )
    def test_a_directory_stands_for_its_model(self, tmp_path, place, name):
        model = tmp_path / place
        model.parent.mkdir(parents=True, exist_ok=True)
        model.write_bytes(b"")
        assert find_vocabulary(str(tmp_path / name)) == str(model)

    def test_a_directory_without_a_model_is_an_error(self, tmp_path):
        with pytest.raises(ValueError, match="which holds no vocab.model"):
            find_vocabulary(str(tmp_path))
        with pytest.raises(ValueError, match="run, .*which does not exist"):
            find_vocabulary(str(tmp_path / "averaged"))

    def test_a_directory_may_have_one_for_each_side(self, tmp_path, corpora):
        first = generate(tmp_path / "first", corpora, shared_vocabulary=False)
        path = find_vocabulary(first.directory)
        assert path == first.directory
        second = generate(tmp_path / "second", corpora, None, vocabulary=path)
        assert second.vocabularies.hashes == first.vocabularies.hashes
        assert second.manifest["splits"] == first.manifest["splits"]
        again = generate(tmp_path / "second", corpora, None, vocabulary=path)
        assert again.manifest == second.manifest
        both = TranslateFiles(str(tmp_path / "both"))
        both.use_files({}, corpora=corpora, vocabulary=path)
        both.use_both_directions()
        with pytest.raises(ValueError, match="must have one vocabulary"):
            both.generate(None)

    def test_languages_of_marian_have_their_words(self, tmp_path, corpora):
        models = [train_sentencepiece(part, 60) for part in (TEXTS, GERMAN)]
        write_marian_example(tmp_path, models)
        read_marian_vocabularies(str(tmp_path)).write(str(tmp_path))
        corpora["train"][0] = dataclasses.replace(
            corpora["train"][0], tag="fra"
        )
        path = find_vocabulary(str(tmp_path))
        problem = generate(tmp_path / "data", corpora, vocabulary=path)
        code = problem.vocabulary.all_pieces().index(">>fra<<")
        inputs = problem.token_pairs("train").inputs
        assert [ids[0] == code for ids in inputs] == [True] * 300 + [False] * 6
        # One embedding serves both sides, which share their table of ids.
        assert not problem.vocabularies.is_shared
        assert problem.vocabularies.have_same_pieces
        check_vocabularies(problem, HParams(tied_embeddings="all"))

    def test_a_model_with_other_ids_is_an_error(self, tmp_path, corpora):
        path = tmp_path / "text.model"
        path.write_bytes(b"no model")
        with pytest.raises(ValueError, match="SentencePiece cannot read"):
            generate(tmp_path / "d", corpora, vocabulary=str(path))


class TemperatureTest:
    def test_words_of_a_small_corpus_get_pieces(self, tmp_path, corpora):
        lengths = []
        for temperature in (1, 100):
            problem = generate(
                tmp_path / f"data{temperature}",
                corpora,
                vocabulary_temperature=temperature,
            )
            ids = problem.vocabulary.encode(["turquoise vermilion"])
            lengths.append(len(ids[0]))
        assert lengths[1] < lengths[0]

    def test_another_temperature_is_an_error(self, tmp_path, corpora):
        generate(tmp_path / "data", corpora)
        with pytest.raises(ValueError, match="vocabulary_temperature=5 for"):
            generate(tmp_path / "data", corpora, vocabulary_temperature=5)


class SymbolsTest:
    def test_symbols_are_one_piece(self, tmp_path, corpora):
        problem = generate(tmp_path / "data", corpora, symbols=["<num>"])
        (ids,) = problem.vocabulary.encode(["a<num>b"])
        assert "<num>" in problem.vocabulary.pieces(ids)
        with pytest.raises(
            ValueError, match="no value of symbols for .*'<num>'"
        ):
            generate(tmp_path / "data", corpora)


class TokenizedTest:
    def test_the_data_say_that_they_are_tokenised(self, tmp_path, corpora):
        plain = generate(tmp_path / "plain", corpora)
        assert plain.bleu_tokenizer == "13a"
        tokenised = generate(tmp_path / "tokenised", corpora, tokenized=True)
        assert tokenised.is_tokenized
        report = tokenised.report(["a b c d e ."], ["a b c d e ."])
        assert report.scores["bleu"] == pytest.approx(100)
        assert "tok:none" in report.text

    def test_without_data_text_is_raw(self):
        assert not TranslateFiles().is_tokenized
        assert not TranslateFiles("nowhere").is_tokenized
