"""Grapheme to phoneme, from TSV files of words and phones."""

import dataclasses

import numpy as np
import pytest

from keras_transformer import registry
from keras_transformer.bin.datagen import find_vocabulary
from keras_transformer.data.generation.corpora import Corpus

WORDS = {
    "train": "ház\th aː z\nszáz\ts aː z\nBéla\tb eː l ɒ\n",
    "dev": "láz\tl aː z\nsáł\tʃ aː l\n",
}


@pytest.fixture
def corpora(tmp_path):
    for split, text in WORDS.items():
        (tmp_path / f"{split}.tsv").write_text(text, encoding="utf-8")
    return {
        split: [Corpus((str(tmp_path / f"{split}.tsv"),), tag="hun")]
        for split in WORDS
    }


@pytest.fixture
def problem(tmp_path, corpora):
    problem = registry.get_problem("g2p_files", str(tmp_path / "data"))
    problem.use_files({}, corpora=corpora)
    problem.generate(None)
    return registry.get_problem("g2p_files", str(tmp_path / "data"))


class G2pFilesTest:
    def test_letters_and_phones_have_ids(self, problem):
        sources, targets = problem.token_pairs("train")
        pieces = problem.source_vocabulary.pieces(sources[2])
        assert pieces == ["▁<hun>", "▁", *"Béla", "</s>"]
        pieces = problem.vocabulary.pieces(targets[2])
        assert pieces == ["▁b", "▁eː", "▁l", "▁ɒ", "</s>"]

    def test_words_that_are_all_right_decide(self, problem):
        assert problem.measure == "exact_match"
        _, references = problem.text_split("dev")
        outputs = [references[0], "ʃ a"]
        assert problem.score(outputs, references) == pytest.approx(
            {
                "exact_match": 50,
                "symbol_error_rate": 100 * 2 / 6,
                "character_error_rate": 100 * 3 / 12,
            }
        )

    def test_the_reverse_direction_spells(self, problem):
        reverse = registry.get_problem("g2p_files_rev", problem.data_dir)
        assert reverse.vocabulary.sha256 == problem.source_vocabulary.sha256
        assert reverse.measure == "exact_match"

    def test_another_type_needs_other_data(self, problem, corpora):
        problem.use_files({}, corpora=corpora, vocabulary_type="characters")
        with pytest.raises(ValueError, match="vocabulary_type=characters"):
            problem.generate(None)

    @pytest.mark.parametrize("folder", ["data", "data/g2p_files"])
    def test_the_vocabularies_of_other_data_serve(
        self, tmp_path, problem, corpora, folder
    ):
        vocabulary = find_vocabulary(str(tmp_path / folder))
        other = registry.get_problem("g2p_files", str(tmp_path / "other"))
        turned = {"train": corpora["dev"], "dev": corpora["train"]}
        other.use_files({}, corpora=turned, vocabulary=vocabulary)
        other.generate(None)
        assert other.vocabularies.hashes == problem.vocabularies.hashes

    def test_one_vocabulary_does_not_serve(self, tmp_path, problem, corpora):
        path = f"{problem.directory}/vocab.model"
        other = registry.get_problem("g2p_files", str(tmp_path / "other"))
        other.use_files({}, corpora=corpora, vocabulary=path)
        with pytest.raises(ValueError, match="or name a directory with a voc"):
            other.generate(None)

    def test_training_links_each_phone_to_a_letter(self, problem):
        hparams = registry.get_hparams("transformer_g2p")
        assert problem.make_guidance(hparams) is None
        hparams = dataclasses.replace(hparams, guided_alignment=0.5)
        pairs = problem.token_pairs("train")
        lengths = [side.lengths[2] for side in pairs]
        guidance = problem.make_guidance(hparams)
        dense = guidance.read(pairs, np.array([2]), (1, *lengths))
        # Each phone of <hun> Béla has one link, and the end of the word none.
        assert dense[0].sum(axis=1).tolist() == [1, 1, 1, 1, 0]


class MeasureTest:
    @pytest.mark.parametrize("measure", ["exact_match", "ter"])
    def test_a_translation_has_the_score_that_decides(self, measure, problem):
        translate = registry.get_problem("translate_files", problem.data_dir)
        translate.bleu_tokenizer = "none"
        scores = translate.dev_scores(["a b"], ["a c"], measure)
        assert list(scores) == ["bleu", "chrf", measure]
