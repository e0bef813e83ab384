"""English to German with sentences from a small grammar: a quick start.

The sentences are short and use few words, but they contain what is difficult in
German: gender and case, endings of adjectives, verbs in two parts, and verbs at
the end. A small model learns all of it within minutes.
"""

import functools

from keras_transformer.problem import Problem
from keras_transformer.problems.toy_language.sentences import SentenceWriter
from keras_transformer.registry import register_problem

NUM_PAIRS = {"train": 25_000, "dev": 500, "test": 500}


@register_problem
class TranslateEndeToy(Problem):
    """English to German with a toy grammar; needs no download.

    No sentence occurs twice, in either language. Dev and test share all their
    words with training but no sentence.
    """

    vocab_size = 1500

    def text_pairs(self, split, tmp_dir):
        return iter(_corpus()[split])


@functools.cache
def _corpus():
    """Returns a dictionary of split to its pairs."""
    pairs = _distinct_pairs()
    corpus = {"train": [next(pairs) for _ in range(NUM_PAIRS["train"])]}
    train_words = set().union(*map(_words, corpus["train"]))
    # No model can translate a word that training lacks.
    fitting = (pair for pair in pairs if _words(pair) <= train_words)
    for split in ("dev", "test"):
        corpus[split] = [next(fitting) for _ in range(NUM_PAIRS[split])]
    return corpus


def _distinct_pairs():
    """Yields pairs in which neither sentence has occurred before."""
    # A constant seed gives every user the same corpus.
    writer = SentenceWriter(seed=2017)
    seen = set()
    while True:
        pair = writer.sentence()
        if seen.isdisjoint(pair):
            seen.update(pair)
            yield pair


def _words(pair):
    return {word.strip(".,?") for text in pair for word in text.split()}
