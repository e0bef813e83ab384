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
from tensor2tensor_examples import SUBTOKENS
from tensor2tensor_examples import make_random_texts
from tensor2tensor_examples import write_subtokens

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.formats.marian.vocabulary_files import (
    read_marian_vocabularies,
)
from keras_transformer.formats.saved_model.tokenization import decode
from keras_transformer.formats.saved_model.tokenization import make_tokenizer
from keras_transformer.formats.saved_model.tokenization import tokenize
from keras_transformer.formats.tensor2tensor.vocabulary import (
    read_tensor2tensor_vocabulary,
)


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


def check_ids(vocabulary, texts):
    """Checks that a graph encodes texts as the vocabulary does."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def encode(texts):
        return tokenize(make_tokenizer(vocabulary), texts)

    ids, blank = encode(tf.constant(texts))
    # A blank text has the end alone.
    texts = [text if text.strip() else "" for text in texts]
    assert ids.to_list() == vocabulary.encode(texts)
    assert blank.numpy().tolist() == [not text.strip() for text in texts]
    assert encode(tf.constant([], tf.string))[0].to_list() == []


@pytest.mark.parametrize("kind", ["characters", "words"])
def test_a_graph_reads_characters_and_words(tmp_path, kind):
    vocabulary = train_subwords(
        ["s aː lː oː", "z ɒ"], 80, str(tmp_path / "v"), vocabulary_type=kind
    )
    check_ids(vocabulary, ["s aː", "z ʔ ɒ", "zɒx oː", " "])
    check_texts(vocabulary)


def check_texts(vocabulary, num_rows=200):
    """Checks that a graph decodes random ids as the vocabulary does."""
    generator = np.random.default_rng(1)
    shape = (num_rows, 2, 12)
    sequences = generator.integers(2, vocabulary.vocab_size, shape)
    sequences[:, 0, 8:] = [1, 0, 0, 0]
    sequences[0, 0] = 0

    @tf.function
    def detokenize(sequences):
        return decode(make_tokenizer(vocabulary), sequences)

    texts = detokenize(tf.constant(sequences, tf.int32)).numpy()
    assert [text.decode() for text in texts.ravel()] == [
        text.replace("\n", " ")
        for text in vocabulary.decode(sequences.reshape(-1, 12))
    ]


class MarianTokenizerTest:
    def test_ids_are_those_of_python(self, vocabularies):
        for vocabulary in vocabularies:
            check_ids(vocabulary, TEXTS + HOSTILE_TEXTS)

    def test_texts_are_those_of_python(self, vocabularies):
        for vocabulary in vocabularies:
            check_texts(vocabulary)


class Tensor2TensorTokenizerTest:
    @pytest.fixture(scope="class")
    def vocabulary(self, tmp_path_factory):
        path = tmp_path_factory.mktemp("t2t") / "vocab.x.subwords"
        extra = ["\\1114112;_", "\\55296;_", "\\0065;", "\\99999999999;_"]
        return read_tensor2tensor_vocabulary(
            write_subtokens(path, SUBTOKENS + extra)
        )

    def test_ids_are_those_of_python(self, vocabulary):
        check_ids(vocabulary, make_random_texts())

    @pytest.mark.slow
    def test_texts_are_those_of_python(self, vocabulary):
        check_texts(vocabulary, 2000)
