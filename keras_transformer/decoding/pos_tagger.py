"""Reads the parts of speech (POS) of words from the encoder of a parser."""

import os

import keras
import numpy as np
from keras import layers
from keras import ops

from keras_transformer.decoding.batching import pad
from keras_transformer.decoding.words import batch_by_length
from keras_transformer.decoding.words import encode_words
from keras_transformer.files.reading import file_error
from keras_transformer.files.writing import atomic_write
from keras_transformer.runs.checkpoint_file import read_arrays
from keras_transformer.runs.run_directory import TAGGERS

_REMEDY = "Delete it, or train it again."


class Tagger:
    """Gives each word of a sentence its part of speech.

    The head, two dense layers of `make_head`, reads the tag of a word from the
    outputs of the parser's encoder at its first and last subword. The parser
    itself does not change, so its brackets stay the same.
    """

    def __init__(self, model, vocabulary, tags, head):
        self.model = model
        self.vocabulary = vocabulary
        self.tags = tags
        self.head = head

    def __call__(self, sentences):
        """Returns a list of tags for each sentence, a list of words."""
        tagged = [[] for _ in sentences]
        encoded = encode_words(self.vocabulary, sentences)
        for batch in batch_by_length(encoded):
            states = word_states(self.model, [encoded[i] for i in batch])
            logits = ops.convert_to_numpy(self.head(states, training=False))
            tags = iter(logits.argmax(axis=-1))
            for i in batch:
                tagged[i] = [self.tags[next(tags)] for _ in sentences[i]]
        return tagged


def make_head(num_inputs, num_tags):
    """Returns a new head: word states of size `2 * d_model` in, logits out."""
    return keras.Sequential(
        [
            keras.Input((num_inputs,)),
            layers.Dropout(0.1),
            layers.Dense(num_inputs, activation="relu"),
            layers.Dropout(0.3),
            layers.Dense(num_tags),
        ]
    )


def word_states(model, sentences):
    """Returns the outputs of the encoder at the ends of each word.

    They are a float32 array of shape `(num_words, 2 * d_model)`: the outputs at
    the first and at the last subword of each word of all sentences, which are
    `WordTokens`.
    """
    encoded, _ = model.encode(pad([tokens.ids for tokens in sentences]))
    encoded = ops.convert_to_numpy(ops.cast(encoded, "float32"))
    return np.concatenate(
        [
            np.concatenate([row[tokens.firsts], row[tokens.lasts]], axis=1)
            for row, tokens in zip(encoded, sentences)
        ]
    )


def tagger_path(run, step):
    return run.file(TAGGERS, f"tagger-{step}.npz")


def save_tagger(tagger, run, step):
    """Writes the tagger for a checkpoint of a run and returns its path."""
    path = tagger_path(run, step)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    arrays = {
        f"head/{number}": array
        for number, array in enumerate(tagger.head.get_weights())
    }
    # As numbers, because our reader of such files accepts nothing else.
    text = "\n".join(tagger.tags).encode()
    with atomic_write(path, "wb") as file:
        np.savez(file, tags=np.frombuffer(text, "uint8"), **arrays)
    return path


def load_tagger(run, step, model):
    """Opens the tagger for a checkpoint of a run; None if there is none."""
    path = tagger_path(run, step)
    if not os.path.lexists(path):
        return None
    try:
        arrays = read_arrays(path)
        tags = arrays.pop("tags").tobytes().decode().split("\n")
        head = make_head(2 * run.hparams.d_model, len(tags))
        head.set_weights([arrays[f"head/{n}"] for n in range(len(arrays))])
    except (KeyError, UnicodeDecodeError, ValueError) as error:
        fault = "which is damaged or belongs to another model"
        raise file_error(path, fault, _REMEDY) from error
    return Tagger(model, run.source_vocabulary, tags, head)
