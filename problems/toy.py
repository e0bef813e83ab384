"""Two problems of short sentences that small grammars wrote, for a quick start.

The sentences use few words, but have the difficulties of their task. Those of
German are gender and case, endings of adjectives, verbs in two parts and verbs
at the end. Those of parsing are phrases that could belong to several words,
clauses within clauses, coordination and questions. A small model learns all of
it within minutes. `benchmarks/toy_text` has the grammars.
"""

import os

from keras_transformer.data.text import parallel_files
from keras_transformer.data.text import text_files
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.problem import Problem
from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.registry import register_problem


@register_problem
class TranslateEndeToy(Problem):
    """English to German with a toy grammar; needs no download.

    No sentence occurs twice, in either language. Dev and test share all their
    words with training but no sentence.
    """

    vocab_size = 1500

    def text_pairs(self, split, tmp_dir):
        path = _find_text(f"translate_ende_toy.{split}.tsv.gz")
        return parallel_files.read_pairs([path])


@register_problem
class ParsingToy(ParsingProblem):
    """Parsing of sentences from a toy grammar; needs no download.

    Each sentence has one reading, which its words determine. No sentence occurs
    twice. Dev and test share all their words with training but no sentence.
    """

    vocab_size = 1500
    linearization = "lexicalised"

    def trees(self, split, tmp_dir):
        path = _find_text(f"parsing_toy.{split}.trees.gz")
        return map(parse_tree, text_files.read_lines(path))


def _find_text(name):
    return os.path.join(os.path.dirname(__file__), "toy_text", name)
