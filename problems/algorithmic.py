"""Tensor2Tensor's algorithmic problems: functions of random sequences."""

import itertools
import operator
import random
from collections.abc import Callable

from keras_transformer.problem import Problem
from keras_transformer.registry import register_variant

NUM_PAIRS = {"train": 100_000, "dev": 1_000, "test": 10_000}


class AlgorithmicProblem(Problem):
    """Learns a function of sequences of random symbols.

    Each symbol is one id. Test, Tensor2Tensor's dev, has longer sequences than
    train and dev, so a score on it tells whether a model has learnt the rule.
    A result with one wrong digit is wrong, so whole lines are compared.
    """

    vocab_size = None
    inputs_language = "symbols"
    targets_language = "symbols"
    is_tokenized = True
    measure = "exact_match"
    num_symbols: int  # that are numbers
    lengths: tuple[int, int]  # maximum lengths of train and dev, and of test
    # Returns inputs and targets, from a generator, the number and a length.
    make_example: Callable

    def text_pairs(self, split, tmp_dir):
        # A fixed seed gives every user the same pairs.
        generator = random.Random(f"{self.data_name}.{split}")
        length = self.lengths[split == "test"]
        for _ in range(NUM_PAIRS[split]):
            pair = self.make_example(generator, self.num_symbols, length)
            yield tuple(" ".join(map(str, symbols)) for symbols in pair)

    def bpe_symbols(self, tmp_dir):
        return [*map(str, range(self.num_symbols)), "+", "*"]


def _apply(function, num_inputs=None):
    """Returns a `make_example` of a function of symbols, all or the first."""

    def make_example(generator, num_symbols, max_length):
        length = generator.randint(1, max_length)
        inputs = generator.choices(range(num_inputs or num_symbols), k=length)
        return inputs, function(inputs)

    return make_example


# Symbols as frequent as words are, after Zipf's law.
_ZIPF = list(itertools.accumulate(rank**-1.3 for rank in range(1, 8001)))


def _reverse_words(generator, num_symbols, max_length):
    length = abs(generator.gauss(max_length / 2, max_length / 10))
    words = range(num_symbols)
    inputs = generator.choices(words, cum_weights=_ZIPF, k=int(length) + 1)
    return inputs, inputs[::-1]


def _calculate(function, sign):
    """Returns a `make_example` of numbers whose lowest digit is the first."""

    def make_example(generator, base, max_length):
        length = generator.randint(1, max_length // 2)
        lengths = length, generator.randint(1, max_length - length - 1)
        # Of several digits, the highest one is not 0.
        first, second = (
            generator.randrange(base ** (n - 1) if n > 1 else 0, base**n)
            for n in lengths
        )
        numbers = first, second, function(first, second)
        kind = "b" if base == 2 else "d"
        first, second, result = (f"{number:{kind}}"[::-1] for number in numbers)
        return [*first, sign, *second], result

    return make_example


def _register(name, summary, function, num_symbols, lengths=(40, 400)):
    register_variant(
        f"algorithmic_{name}",
        AlgorithmicProblem,
        f"{summary}; needs no download.",
        make_example=staticmethod(function),
        num_symbols=num_symbols,
        lengths=lengths,
    )


_copy, _reverse, _sort = map(_apply, (list, reversed, sorted))
_shift = _apply(lambda digits: [digit + 10 for digit in digits], 10)
_add, _multiply = _calculate(operator.add, "+"), _calculate(operator.mul, "*")
_register("identity_binary40", "Copies bits", _copy, 2)
_register("identity_decimal40", "Copies digits", _copy, 10)
_register("shift_decimal40", "Adds 10 to digits", _shift, 20, (40, 80))
_register("reverse_binary40", "Reverses bits", _reverse, 2)
_register("reverse_decimal40", "Reverses digits", _reverse, 10)
_register("reverse_nlplike8k", "Reverses words", _reverse_words, 8000, (70, 70))
_register("addition_binary40", "Adds binary numbers", _add, 2)
_register("addition_decimal40", "Adds numbers", _add, 10)
_register("multiplication_binary40", "Multiplies binary numbers", _multiply, 2)
_register("multiplication_decimal40", "Multiplies numbers", _multiply, 10)
_register("sort_problem", "Sorts numbers", _sort, 20, (10, 20))
