"""Trains the tagger of a parser."""

import keras
import numpy as np

from keras_transformer.decoding.encoder_heads import MAX_ROWS
from keras_transformer.decoding.encoder_heads import Tagger
from keras_transformer.decoding.encoder_heads import encode_words
from keras_transformer.decoding.encoder_heads import make_head
from keras_transformer.decoding.encoder_heads import word_states

NUM_UPDATES = 10_000
MAX_WORDS = 400_000  # whose states fill 1.6 GB if `d_model` is 1,024
BATCH_WORDS = 128
_PEAK_LEARNING_RATE = 0.001


def train_tagger(
    model, vocabulary, sentences, seed, report=None, num_updates=NUM_UPDATES
):
    """Trains the head of a `Tagger`; the parser stays as it is.

    The `Subwords` belong to the parser's sources, and a sentence is a pair
    of its words and its tags. At most `MAX_WORDS` words are used, from
    sentences drawn at random. The seed decides initial weights, dropout and the
    choice of words. `report` is called with 1 after each update.
    """
    tags = sorted({tag for _, tags in sentences for tag in tags})
    ids = {tag: id_ for id_, tag in enumerate(tags)}
    generator = np.random.default_rng(seed)
    sentences = _draw_sentences(sentences, generator)
    states = _compute_states(
        model, vocabulary, [words for words, _ in sentences]
    )
    targets = np.array([ids[tag] for _, tags in sentences for tag in tags])
    keras.utils.set_random_seed(seed)
    head = make_head(states.shape[1], len(tags))
    head.compile(
        keras.optimizers.Adam(
            keras.optimizers.schedules.PolynomialDecay(
                _PEAK_LEARNING_RATE, num_updates, end_learning_rate=0.0
            )
        ),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    for _ in range(num_updates):
        rows = generator.integers(len(targets), size=BATCH_WORDS)
        head.train_on_batch(states[rows].astype("float32"), targets[rows])
        if report:
            report(1)
    return Tagger(model, vocabulary, tags, head)


def tag_accuracy(tagger, sentences):
    """Returns the share of words, in pairs of words and tags, tagged right."""
    words, gold = zip(*sentences)
    pairs = [
        pair
        for predicted, tags in zip(tagger(words), gold)
        for pair in zip(predicted, tags, strict=True)
    ]
    return sum(one == other for one, other in pairs) / len(pairs)


def _draw_sentences(sentences, generator):
    """Returns sentences of at most `MAX_WORDS` words, sorted by length."""
    num_words = 0
    drawn = []
    for row in generator.permutation(len(sentences)):
        num_words += len(sentences[row][0])
        if drawn and num_words > MAX_WORDS:
            break
        drawn.append(sentences[row])
    return sorted(drawn, key=lambda sentence: len(sentence[0]))


def _compute_states(model, vocabulary, sentences):
    """Returns the word states of all sentences, in half precision."""
    encoded = encode_words(vocabulary, sentences)
    starts = range(0, len(encoded), MAX_ROWS)
    batches = [encoded[start : start + MAX_ROWS] for start in starts]
    return np.concatenate(
        [word_states(model, batch).astype("float16") for batch in batches]
    )
