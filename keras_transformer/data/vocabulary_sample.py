"""The sample of a training text that its vocabulary is trained on."""

import itertools

from keras_transformer.data.subwords import sample_evenly


def sample_corpora(corpora, limit, temperature=1):
    """Samples pairs of several corpora, spread evenly over each of them.

    With a temperature T, the share of a corpus of n pairs is in proportion to
    n ** (1 / T). With T = 1 that is its share of the text. A larger T makes the
    shares more equal, so that the words of a small corpus get subwords of their
    own: some of its pairs are then in the sample several times, and some of a
    large corpus are not.

    Args:
        corpora: List of iterables of pairs.
        limit: Largest size of the sample. Memory holds up to this many pairs of
            each corpus.
        temperature: Number of at least 1. Defaults to 1.

    Returns:
        List of pairs, at least half of `limit` if there are as many.

    Example:

    >>> sample_corpora(["aaaaaaaa", "bb"], limit=10, temperature=1e9)
    ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'b', 'b']
    """
    if temperature == 1:
        return sample_evenly(itertools.chain(*corpora), limit)
    counted = [_sample_and_count(pairs, limit) for pairs in corpora]
    # Cleaning can leave nothing of a corpus.
    counted = [(sample, size) for sample, size in counted if size]
    sizes = [size for _, size in counted]
    sample_size = min(limit, sum(sizes))
    chosen = []
    for (sample, _), share in zip(counted, shares_of(sizes, temperature)):
        places = range(round(share * sample_size))
        chosen += [sample[i * len(sample) // len(places)] for i in places]
    return chosen


def _sample_and_count(pairs, limit):
    """Returns an even sample of pairs, and the number of all of them."""
    counter = itertools.count()
    # `zip` draws a pair first, so it counts no number for their end.
    sample = sample_evenly((pair for pair, _ in zip(pairs, counter)), limit)
    return sample, next(counter)


def shares_of(sizes, temperature):
    """Returns the shares of corpora, a list of floats with the sum 1.

    Args:
        sizes: List of the numbers of pairs of the corpora, at least 1.
        temperature: Number of at least 1.

    Example:

    >>> [round(share, 2) for share in shares_of([900, 100], temperature=2)]
    [0.75, 0.25]
    """
    powers = [size ** (1 / temperature) for size in sizes]
    return [power / sum(powers) for power in powers]
