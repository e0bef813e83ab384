"""Problems that need no download, for a quick start and for checks.

Two check that a model learns at all. The others have short sentences, which
small grammars wrote with few words, but the difficulties of their task. In
German, these are gender and case, endings of adjectives, verbs in two parts and
verbs at the end. In parsing, these are phrases that could belong to several
words, clauses within clauses, coordination and questions. A small model learns
all of it within minutes. `benchmarks/toy_text` has the grammars.
"""

import itertools
import os
import random
import string

from keras_transformer.data.text import parallel_files
from keras_transformer.data.text import text_files
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.problem import Problem
from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.registry import register_problem
from keras_transformer.token_ids import FIRST_SYMBOL_ID

NUM_PAIRS = {"train": 10_000, "dev": 200, "test": 200}
MIN_SYMBOLS = 3
MAX_SYMBOLS = 12


@register_problem
class Copy(Problem):
    """Copies lines of 3 to 12 random letters; no line occurs twice.

    The vocabulary holds 3 special ids, 256 bytes, the space, and each letter
    both within and at the start of a word.
    """

    vocab_size = FIRST_SYMBOL_ID + 256 + 1 + 2 * 26
    inputs_language = "symbols"
    targets_language = "symbols"
    _step = 1  # from a letter of the source to the next one of the target

    def text_pairs(self, split, tmp_dir):
        # A fixed seed gives every user the same pairs.
        generator = random.Random(0)
        lines, num_lines = {}, sum(NUM_PAIRS.values())
        while len(lines) < num_lines:
            length = generator.randint(MIN_SYMBOLS, MAX_SYMBOLS)
            letters = generator.choices(string.ascii_lowercase, k=length)
            lines[tuple(letters)] = None
        ends = dict(zip(NUM_PAIRS, itertools.accumulate(NUM_PAIRS.values())))
        first = ends[split] - NUM_PAIRS[split]
        for symbols in itertools.islice(lines, first, ends[split]):
            yield " ".join(symbols), " ".join(symbols[:: self._step])


@register_problem
class Reverse(Copy):
    """Reverses lines of 3 to 12 random letters."""

    _step = -1


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
