"""A small problem: numbers in words, in lower and in upper case."""

import os

from keras_transformer.files.directories import WORK
from keras_transformer.problem import Problem

WORDS = "one two three four five six seven eight nine ten".split()


def numbers(count, start=0):
    """Yields pairs of sentences with 1 to 9 words on the source side."""
    for number in range(start, start + count):
        words = [WORDS[int(digit)] for digit in str(number**3)]
        yield " ".join(words), " ".join(word.upper() for word in words)


class Numbers(Problem):
    name = "numbers"
    vocab_size = 320
    inputs_language = "lower"
    targets_language = "upper"
    pairs = {
        "train": list(numbers(60)),
        "dev": list(numbers(7, 100)),
        "test": list(numbers(5, 200)),
    }

    def text_pairs(self, split, tmp_dir):
        yield from self.pairs[split]


def generated(data_dir):
    """Returns the problem with its data generated in a directory."""
    problem = Numbers(data_dir=str(data_dir))
    problem.generate(None)
    return problem


def with_pairs(data_dir, **pairs):
    """Returns the problem with other pairs for the named splits."""
    problem = Numbers(data_dir=str(data_dir))
    problem.pairs = {**Numbers.pairs, **pairs}
    return problem


def files_of(problem):
    """Returns the contents of all files of a problem's data by name."""
    contents = {}
    for name in set(os.listdir(problem.directory)) - {WORK}:
        with open(os.path.join(problem.directory, name), "rb") as file:
            contents[name] = file.read()
    return contents
