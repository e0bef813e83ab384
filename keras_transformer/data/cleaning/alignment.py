"""Rules that compare a pair with the others of its text.

Some learn from the beginning of a text what its pairs are like.

For the rule `alignment`, IBM model 1 (Brown et al., 1993) learns from the text
itself which words go together. Pairs that were shifted by a line, or that say
different things, are then hardly likelier than pairs at random.
"""

import collections
import hashlib
import itertools
import math
import re
import sys

import numpy as np

MAX_WORDS = 50  # of a side; the rest of a longer one is ignored
MIN_COUNT = 3  # rarer words would learn from the pair that they should judge
MIN_LINKS = 3  # links of two words before one makes the other likely
MIN_KNOWN_WORDS = 3  # with fewer on a side there is too little to go by
MIN_PAIRS = 1_000  # with fewer, too few words occur often enough
# Words of the wrong side are on average twice as frequent on the other. Names
# and code, which a translation keeps, are about as frequent on both.
MIN_WRONG_SIDE_GAIN = math.log(2)
NUM_ITERATIONS = 4
# The model learns from pairs with this many links of two words, which take some
# 40 bytes each. 50,000 pairs of 10 words have 5.5 million.
MAX_LINKS = 6_000_000
_PAIRS_TO_SCORE = 500  # at once, for the same reason
# This share of random pairs of sentences of the text lies below the limit.
SHARE_BELOW = 0.9
_WORD = re.compile(r"\w+")


class AlignmentRule:
    """Drops pairs that fit each other no better than random ones do.

    The score of a pair is the mean logarithm of p(word | other side) / p(word)
    over the words of a side, averaged over both sides.
    """

    name = "alignment"

    def __init__(self):
        self._models = None
        self._limit = -np.inf

    def learn(self, pairs):
        if len(pairs) < MIN_PAIRS:
            return
        sides = _split_sides(pairs)
        sources, targets = _select_spread(*sides)
        forward = LexicalModel(sources, targets)
        self._models = forward, LexicalModel(targets, sources)
        # Sentences far apart do not belong together, so they make bad pairs.
        middle = len(targets) // 2
        scores = self._score(sources, targets[middle:] + targets[:middle])
        if not np.isnan(scores).all():
            self._limit = np.nanquantile(scores, SHARE_BELOW)

    def find_drops(self, pairs):
        if self._models is None or not pairs:
            return [False] * len(pairs)
        # A pair with too few known words has no score and stays.
        return (self._score(*_split_sides(pairs)) <= self._limit).tolist()

    def _score(self, sources, targets):
        forward, backward = self._models
        scores = []
        for start in range(0, len(sources), _PAIRS_TO_SCORE):
            part = slice(start, start + _PAIRS_TO_SCORE)
            both = sources[part], targets[part]
            scores += [forward.score(*both) + backward.score(*both[::-1])]
        return np.concatenate(scores) / 2


class WrongSideRule:
    """Drops pairs with a side whose words belong to the other side.

    Such a pair was copied or has its sides exchanged.
    """

    name = "wrong_side"

    def __init__(self):
        self._gains = {}

    def learn(self, pairs):
        if len(pairs) < MIN_PAIRS:
            return
        sources, targets = (
            collections.Counter(word for words in side for word in words)
            for side in _split_sides(pairs)
        )
        # Positive for words that occur more often in sources than in targets.
        self._gains = {
            word: math.log((sources[word] + 1) / (targets[word] + 1))
            for word in sources.keys() | targets.keys()
            if sources[word] + targets[word] >= MIN_COUNT
        }

    def find_drops(self, pairs):
        return [
            self._average(source) < -MIN_WRONG_SIDE_GAIN
            or self._average(target) > MIN_WRONG_SIDE_GAIN
            for source, target in pairs
        ]

    def _average(self, text):
        gains = [self._gains[w] for w in _split(text) if w in self._gains]
        if len(gains) < MIN_KNOWN_WORDS:
            return 0
        return sum(gains) / len(gains)


def _split_sides(pairs):
    """Returns the words of all sources, and of all targets."""
    return tuple([_split(text) for text in side] for side in zip(*pairs))


def _split(text):
    words = _WORD.finditer(text.casefold())
    # A word takes memory once, however often it occurs.
    return [sys.intern(m[0]) for m in itertools.islice(words, MAX_WORDS)]


def _select_spread(sources, targets):
    """Returns pairs that are spread over a text and have `MAX_LINKS` links."""
    num_links = sum(
        (len(source) + 1) * len(target)
        for source, target in zip(sources, targets)
    )
    step = max(1, -(-num_links // MAX_LINKS))
    return sources[::step], targets[::step]


class LexicalModel:
    """The probabilities of words given a word of the other side.

    They come from IBM model 1 by expectation maximisation, which begins with
    equal probabilities. Every side also has an empty word, number 0. The
    `sources` and as many `targets` are lists of words.
    """

    def __init__(self, sources, targets):
        self._source_ids = _number_words(sources)
        self._target_ids = _number_words(targets)
        self._base = len(self._target_ids) + 1
        # All links of a source word to a target word of the same pair.
        links, groups, *_ = self._link(sources, targets)
        self._keys, links = np.unique(links, return_inverse=True)
        of_source = self._keys // self._base
        self._probabilities = np.ones(len(self._keys))
        # A round divides each target word among the words that may have made
        # it, in proportion to their probabilities. The sums are the new ones.
        for _ in range(NUM_ITERATIONS):
            values = self._probabilities[links]
            values /= np.bincount(groups, values)[groups]
            counts = np.bincount(links, values)
            sums = np.bincount(of_source, counts)
            self._probabilities = counts / sums[of_source]
        # A pair must not be judged by links that only it has taught.
        self._probabilities[np.bincount(links) < MIN_LINKS] = 0
        counts = np.bincount(
            [self._target_ids.get(w, 0) for side in targets for w in side],
            minlength=self._base,
        )
        self._unigrams = counts / max(1, counts.sum())

    def score(self, sources, targets):
        """Scores pairs; NaN where a side has too few known words."""
        links, groups, words, pairs, num_sources = self._link(sources, targets)
        places = np.searchsorted(self._keys, links)
        places = np.minimum(places, len(self._keys) - 1)
        is_known = self._keys[places] == links
        values = np.where(is_known, self._probabilities[places], 0)
        averages = np.bincount(groups, values, minlength=len(words))
        # Not in place, since the counts of no words are integers.
        averages = averages / (num_sources[pairs] + 1)
        # No word is less likely than a hundredth of its share of all words.
        gains = np.log(averages / self._unigrams[words] + 0.01)
        num_words = np.bincount(pairs, minlength=len(sources))
        enough = np.minimum(num_words, num_sources) >= MIN_KNOWN_WORDS
        sums = np.bincount(pairs, gains, minlength=len(sources))
        return np.where(enough, sums / np.maximum(num_words, 1), np.nan)

    def _link(self, sources, targets):
        """Returns the links of known words, and the target word of each.

        A link is the number of its source word times `_base`, plus the number
        of its target word. Also returned are the numbers and the pairs of all
        target words, and the number of source words of each pair.
        """
        links, words, pairs, num_sources = [], [], [], []
        for number, (source, target) in enumerate(zip(sources, targets)):
            # No word has the number 0.
            ids = list(filter(None, map(self._source_ids.get, source)))
            others = list(filter(None, map(self._target_ids.get, target)))
            starts = np.array([0, *ids]) * self._base
            links.append(np.add.outer(np.array(others, int), starts).ravel())
            words += others
            pairs += [number] * len(others)
            num_sources.append(len(ids))
        words, pairs, num_sources = (
            np.array(numbers, int) for numbers in (words, pairs, num_sources)
        )
        # A target word has a link to each source word and to the empty one.
        numbers = np.arange(len(words), dtype=np.int32)
        groups = np.repeat(numbers, num_sources[pairs] + 1)
        return np.concatenate(links), groups, words, pairs, num_sources


def _number_words(sides):
    """Returns a number from 1 on for each word that is frequent enough."""
    counts = collections.Counter(word for side in sides for word in side)
    frequent = sorted(word for word in counts if counts[word] >= MIN_COUNT)
    return {word: number for number, word in enumerate(frequent, start=1)}


class DuplicateRule:
    """Drops a pair if an earlier pair has the same key.

    The key `str` finds pairs with the same text. The key `normal_form` also
    finds pairs that differ only in case, punctuation, digits and spaces.

    It keeps a hash of 8 bytes for each distinct pair and no text. The
    probability that any two of 100 million pairs share one is 0.03 %.
    """

    def __init__(self, name, key):
        self.name = name
        self._key = key
        self._hashes = HashSet()

    def find_drops(self, pairs):
        texts = ("\n".join(map(self._key, pair)).encode() for pair in pairs)
        # `hash` would be faster, but differs from process to process.
        digests = b"".join(
            hashlib.blake2b(text, digest_size=8).digest() for text in texts
        )
        hashes = np.frombuffer(digests, np.uint64)
        return self._hashes.add(hashes).tolist()


class HashSet:
    """A set of 64-bit integers that takes 8 bytes for each of them.

    It consists of sorted arrays, each more than twice as long as the next one.
    A search goes through few arrays, and an integer is moved few times.

    >>> hashes = HashSet()
    >>> hashes.add(np.array([3, 5, 3], np.uint64)).tolist()
    [False, False, True]
    >>> hashes.add(np.array([7, 5], np.uint64)).tolist()
    [False, True]
    """

    def __init__(self):
        self._arrays = []

    def add(self, hashes):
        """Adds uint64 integers, and returns whether each occurred before."""
        distinct, first_positions = np.unique(hashes, return_index=True)
        were_there = self._contains(distinct)
        occurred = np.ones(len(hashes), bool)
        occurred[first_positions] = were_there
        self._append(distinct[~were_there])
        return occurred

    def _contains(self, hashes):
        is_there = np.zeros(len(hashes), bool)
        for array in self._arrays:
            positions = np.searchsorted(array, hashes)
            # A value above all others would be looked up beyond the end.
            is_there |= array.take(positions, mode="clip") == hashes
        return is_there

    def _append(self, array):
        if not len(array):
            return
        self._arrays.append(array)
        while len(self._arrays) > 1 and (
            len(self._arrays[-2]) <= 2 * len(self._arrays[-1])
        ):
            last = self._arrays.pop()
            merged = np.concatenate([self._arrays.pop(), last])
            # The stable sort merges two sorted halves in one pass.
            merged.sort(kind="stable")
            self._arrays.append(merged)
