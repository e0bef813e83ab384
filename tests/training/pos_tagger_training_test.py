"""A tagger learns the parts of speech of a toy treebank."""

import dataclasses

import keras
import numpy as np
import pytest
from small_translators import HPARAMS

from keras_transformer.data.subwords import train_subwords
from keras_transformer.problems.parsing_toy import make_toy_trees
from keras_transformer.training.pos_tagger_training import tag_accuracy
from keras_transformer.training.pos_tagger_training import train_tagger
from keras_transformer.transformer import build_transformer


@pytest.fixture(scope="module")
def sentences():
    """Words and tags by split."""
    return {
        split: [
            (tree.words(), tree.tags())
            for tree in make_toy_trees()[split][:300]
        ]
        for split in ("train", "dev")
    }


@pytest.fixture(scope="module")
def vocabulary(sentences, tmp_path_factory):
    texts = [" ".join(words) for words, _ in sentences["train"]]
    path = str(tmp_path_factory.mktemp("vocabulary") / "model")
    return train_subwords(texts, 500, path)


@pytest.fixture
def model(vocabulary):
    keras.utils.set_random_seed(3)
    hparams = dataclasses.replace(HPARAMS, d_model=64)
    return build_transformer(hparams.model, vocabulary.vocab_size)


class TaggerTrainingTest:
    def test_it_learns_and_leaves_the_encoder_alone(
        self, model, vocabulary, sentences
    ):
        """Learns from the outputs of an encoder that was never trained."""
        before = [np.array(variable) for variable in model.variables]
        updates = []
        tagger = train_tagger(
            model, vocabulary, sentences["train"], 0, updates.append, 1000
        )
        assert updates == [1] * 1000
        commonest = np.mean(
            [tag == "NN" for _, tags in sentences["dev"] for tag in tags]
        )
        assert commonest < 0.5
        assert tag_accuracy(tagger, sentences["dev"]) > 0.8
        for variable, array in zip(model.variables, before, strict=True):
            np.testing.assert_array_equal(variable, array)

    def test_a_seed_gives_one_tagger(self, model, vocabulary, sentences):
        first, same, other = (
            train_tagger(
                model, vocabulary, sentences["train"], seed, num_updates=3
            )
            for seed in (1, 1, 2)
        )
        for ours, theirs in zip(
            first.head.get_weights(), same.head.get_weights(), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
        assert not np.array_equal(
            first.head.get_weights()[0], other.head.get_weights()[0]
        )

    def test_accuracy_is_the_share_of_right_words(self):
        def tagger(sentences):
            return [["NN"] * len(words) for words in sentences]

        sentences = [(["a", "dog"], ["DT", "NN"]), (["runs"], ["VBZ"])]
        assert tag_accuracy(tagger, sentences) == pytest.approx(1 / 3)
