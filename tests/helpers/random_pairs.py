"""Sentence pairs of random lengths for tests of batches."""

import numpy as np

from keras_transformer.data.token_arrays import TokenArray
from keras_transformer.data.token_arrays import TokenArrayWriter
from keras_transformer.data.token_arrays import TokenPairs


def random_lengths(num_pairs, seed=0):
    """Returns skewed lengths as of real sentences; the sides correlate."""
    generator = np.random.default_rng(seed)
    inputs = np.exp(generator.normal(2.6, 0.4, num_pairs))
    targets = inputs * np.exp(generator.normal(0.05, 0.2, num_pairs))
    return inputs.astype(int) + 1, targets.astype(int) + 1


def token_pairs(directory, lengths):
    """Writes pairs whose token ids encode the pair and the position."""
    sides = []
    for name, side in zip(("source", "target"), lengths):
        path = str(directory / name)
        with TokenArrayWriter(path, 1 << 30) as writer:
            for pair, length in enumerate(side):
                writer.append(1 + 1000 * pair + np.arange(length))
        sides.append(TokenArray(path))
    return TokenPairs(*sides)


def batches_of(plan):
    """Returns the batches of a plan as values that compare."""
    return [(plan[i][0].tolist(), plan[i][1]) for i in range(len(plan))]
