"""Parsing of sentences from a small grammar, for a quick start."""

from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.problems.toy_treebank.treebank import toy_trees
from keras_transformer.registry import register_problem


@register_problem
class ParsingToy(ParsingProblem):
    """Parsing of sentences from a toy grammar; needs no download.

    Each sentence has one reading, which its words determine. No sentence occurs
    twice. Dev and test share all their words with training but no sentence.
    """

    vocab_size = 1500
    linearization = "lexicalised"

    def trees(self, split, tmp_dir):
        return iter(toy_trees(split))
