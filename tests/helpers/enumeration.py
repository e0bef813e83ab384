"""Models so small that all their outputs can be enumerated."""

import itertools

import keras
import numpy as np
from layer_checks import to_numpy
from small_transformer import make_transformer

from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID as END

VOCAB_SIZE = 6  # padding, the end, the unknown id and three words
WORDS = (3, 4, 5)
LENGTH = 4  # greatest length of a hypothesis with its end
INPUTS = np.array([[3, 5, 4, 1], [5, 1, 0, 0]], "int32")
SEQUENCES = [
    (*words, END)
    for length in range(LENGTH)
    for words in itertools.product(WORDS, repeat=length)
]


def make_tiny_models():
    """Returns two models of different sizes that prefer different words."""
    keras.utils.set_random_seed(3)
    sizes = ({"d_model": 8}, {"d_model": 12, "num_layers": 1, "norm": "pre"})
    models = [make_transformer(vocab_size=VOCAB_SIZE, **size) for size in sizes]
    for model in models:
        embeddings = model.embedding.embeddings
        embeddings.assign(3.0 * embeddings)  # gives clear preferences
    return models


def padded_sequences():
    """Returns `SEQUENCES` as an array of shape `(len(SEQUENCES), LENGTH)`."""
    targets = np.zeros((len(SEQUENCES), LENGTH), "int32")
    for row, sequence in zip(targets, SEQUENCES):
        row[: len(sequence)] = sequence
    return targets


def mean_probabilities(models, sentence):
    """Returns the models' mean probabilities at all places of `SEQUENCES`.

    Returns:
        Array of shape `(len(SEQUENCES), LENGTH, VOCAB_SIZE)`.
    """
    targets = padded_sequences()
    inputs = np.repeat(INPUTS[sentence : sentence + 1], len(targets), axis=0)
    features = {"inputs": inputs, "targets": targets}
    logits = [to_numpy(model(features)).astype("float64") for model in models]
    shares = [np.exp(one) for one in logits]
    return np.mean([s / s.sum(-1, keepdims=True) for s in shares], axis=0)


def enumerate_all(models, sentence, alpha):
    """Returns all hypotheses of a sentence with their scores, best first."""
    probabilities = mean_probabilities(models, sentence)
    scored = []
    for sequence, places in zip(SEQUENCES, probabilities):
        chosen = [place[id_] for place, id_ in zip(places, sequence)]
        penalty = ((5 + len(sequence)) / 6) ** alpha
        scored.append((np.sum(np.log(chosen)) / penalty, sequence))
    return sorted(scored, reverse=True)


def search(model, inputs=INPUTS, seeds=None, length=LENGTH, **options):
    limits = np.full(len(inputs), length, "int32")
    finished = find_hypotheses(
        model,
        DecodeOptions(**options),
        inputs,
        limits,
        seeds=seeds,
        fixed_length=length,
    )
    return to_numpy(finished.sequences), to_numpy(finished.scores)
