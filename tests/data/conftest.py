"""These tests are of the training of vocabularies itself."""

import pytest

from keras_transformer.data.vocabulary import subwords


@pytest.fixture(autouse=True)
def train_each_vocabulary(monkeypatch, vocabulary_sharing):
    train = subwords.train_model
    monkeypatch.setattr(subwords, "train_model", train.__wrapped__)
