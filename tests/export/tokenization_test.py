"""Text and ids in a graph, against the vocabularies in Python."""

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("SavedModels are TensorFlow's", allow_module_level=True)

import tensorflow as tf
from marian_examples import ENGLISH
from marian_examples import GERMAN
from marian_examples import HOSTILE_TEXTS
from marian_examples import TEXTS
from marian_examples import train_sentencepiece
from marian_examples import write_marian_example

from keras_transformer.data.marian_files import read_marian_vocabularies
from keras_transformer.data.text_files import is_blank
from keras_transformer.export.tokenization import decode
from keras_transformer.export.tokenization import make_tokenizer
from keras_transformer.export.tokenization import tokenize


@pytest.fixture(scope="module", params=[False, True])
def vocabularies(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("marian")
    models = (
        train_sentencepiece(ENGLISH, 40),
        train_sentencepiece(GERMAN, 50),
    )
    config = {"clean_up_tokenization_spaces": request.param}
    write_marian_example(directory, models, request.param, **config)
    return read_marian_vocabularies(str(directory))


class MarianTokenizerTest:
    def test_ids_are_those_of_python(self, vocabularies):
        texts = TEXTS + HOSTILE_TEXTS
        for vocabulary in vocabularies:

            @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
            def encode(texts):
                return tokenize(make_tokenizer(vocabulary), texts)

            ids, blank = encode(tf.constant(texts))
            assert ids.to_list() == vocabulary.encode(texts)
            assert blank.numpy().tolist() == list(map(is_blank, texts))
            assert encode(tf.constant([], tf.string))[0].to_list() == []

    def test_texts_are_those_of_python(self, vocabularies):
        generator = np.random.default_rng(1)
        for vocabulary in vocabularies:
            shape = (200, 2, 12)
            sequences = generator.integers(2, vocabulary.vocab_size, shape)
            sequences[:, 0, 8:] = [1, 0, 0, 0]

            @tf.function
            def detokenize(sequences):
                return decode(make_tokenizer(vocabulary), sequences)

            texts = detokenize(tf.constant(sequences, tf.int32)).numpy()
            assert [text.decode() for text in texts.ravel()] == [
                text.replace("\n", " ")
                for text in vocabulary.decode(sequences.reshape(-1, 12))
            ]
