"""What a model card says of other vocabularies and hyper-parameters."""

import functools

import numpy as np
import pytest

from keras_transformer.data.vocabulary.bpe_symbols import write_symbols
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.hparam import HParams
from keras_transformer.runs.model_card import make_model_card
from keras_transformer.runs.run_directory import RunDirectory

TEXTS = ["the cat sees the dog"] * 20
train = functools.partial(train_subwords, TEXTS)


def make_card(path, vocabulary, **record):
    record = {"problem": "mine", "hparams_set": None, **record}
    run = RunDirectory.create(
        str(path), record, HParams(), vocabulary.model_bytes
    )
    run.checkpoints.save(1, {"model/a": np.zeros(2, "float32")})
    return make_model_card(run)


class ModelCardTest:
    @pytest.mark.parametrize(
        "make_vocabulary, words",
        [
            (lambda path: train(280, path), "are spelled in bytes"),
            (
                lambda path: train(90, path, vocabulary_type="characters"),
                "Characters outside the vocabulary are unknown",
            ),
            (
                lambda path: train(90, path, vocabulary_type="words"),
                "with spaces between them. Any other word is unknown",
            ),
            (
                lambda path: write_symbols(["th@@", "e"], path),
                "between them, where `@@` joins a symbol to the next one. Any",
            ),
        ],
    )
    def test_limits_say_what_the_vocabulary_lacks(
        self, tmp_path, make_vocabulary, words
    ):
        vocabulary = make_vocabulary(str(tmp_path / "other.model"))
        assert words in make_card(tmp_path / "run", vocabulary)

    @pytest.mark.parametrize(
        "record, words",
        [
            ({}, "of no registered set"),
            ({"warm_start_from": "other"}, "those of the model that"),
        ],
    )
    def test_it_says_where_hyper_parameters_without_a_set_come_from(
        self, tmp_path, record, words
    ):
        vocabulary = train(280, str(tmp_path / "other.model"))
        card = make_card(tmp_path / "run", vocabulary, **record)
        assert f"| Hyperparameters | {words}" in card
        assert f"They are {words}" in card
