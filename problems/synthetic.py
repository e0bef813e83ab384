"""Problems without data, to check that a model learns at all."""

import itertools
import random
import string

from keras_transformer.problem import Problem
from keras_transformer.registry import register_problem
from keras_transformer.token_ids import FIRST_SYMBOL_ID

NUM_PAIRS = {"train": 10_000, "dev": 200, "test": 200}
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
            length = generator.randint(3, MAX_SYMBOLS)
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
