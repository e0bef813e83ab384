"""These tests are of the training of vocabularies itself."""

import pytest

from keras_transformer.data.vocabulary import subwords


@pytest.fixture(autouse=True)
def train_each_vocabulary(monkeypatch, vocabulary_sharing):
    train = subwords._train
    monkeypatch.setattr(subwords, "_train", train.__wrapped__)
