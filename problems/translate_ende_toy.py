"""English to German with sentences from a small grammar: a quick start.

The sentences are short and use few words, but they contain the difficulties of
German: gender and case, endings of adjectives, verbs in two parts, and verbs at
the end. A small model learns all of it within minutes.
"""

import functools

from keras_transformer.problem import Problem
from keras_transformer.problems.random_text import divide
from keras_transformer.problems.random_text import draw_distinct
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
    # A constant seed gives every user the same corpus. Neither sentence of a
    # pair has occurred before.
    pairs = draw_distinct(SentenceWriter(seed=2017).sentence, list_keys=set)
    return divide(pairs, NUM_PAIRS, _words)


def _words(pair):
    return {word.strip(".,?") for text in pair for word in text.split()}
