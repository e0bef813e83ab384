"""Where two systems differ: by length, by word frequency, by sentence."""

import collections
import dataclasses
import itertools

from keras_transformer.scoring.translations import bleu_metric
from keras_transformer.scoring.translations import sentence_chrf

MAX_ORDER = 4  # of n-grams, as in BLEU
# Upper bounds of the groups; a last group holds all greater values.
LENGTHS = (5, 10, 15, 20, 30, 40)
FREQUENCIES = (0, 4, 19, 99, 999)
NUM_SENTENCES = 20  # shown of those that one system translates better


@dataclasses.dataclass(frozen=True)
class Group:
    """The scores of two systems on a part of the text."""

    title: str  # such as "6 to 10"
    count: int  # of sentences, or of words of the references
    this: float
    other: float


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A sentence with its translations by two systems."""

    number: int  # line in the text, from 1
    this: float  # chrF of the translations
    other: float

    @property
    def difference(self):
        """How much better this translation is than the other one."""
        return self.this - self.other


def score_by_length(sources, systems, references, words):
    """Scores two systems on sources of similar length with BLEU.

    Sources have spaces between words. The groups go from short to long and
    none is empty.
    """
    bleu = bleu_metric(words.tokenize, words.lowercase)
    lengths = [len(source.split()) for source in sources]
    texts, groups = (*systems, references), []
    for title, low, high in _ranges((-1, *LENGTHS)):
        is_in = [low <= length <= high for length in lengths]
        *parts, part = (list(itertools.compress(t, is_in)) for t in texts)
        if part:
            scores = [bleu.corpus_score(each, [part]).score for each in parts]
            groups.append(Group(title, len(part), *scores))
    return groups


def score_by_frequency(systems, references, words, frequencies):
    """Scores two systems on words of similar frequency with F1.

    `frequencies` counts the words of the training text. The groups go from rare
    to frequent, without those that have no word in the references.
    """
    *systems, references = (
        list(words.tokenize_all(texts)) for texts in (*systems, references)
    )
    groups = []
    for title, low, high in _ranges((-1, *FREQUENCIES)):

        def is_counted(word, low=low, high=high):
            return low <= frequencies[word] <= high

        count = sum(sum(map(is_counted, line)) for line in references)
        if count:
            scores = [f_measure(s, references, is_counted) for s in systems]
            groups.append(Group(title, count, *scores))
    return groups


def find_largest_differences(systems, references, lowercase=False):
    """Finds the sentences on which one of two systems is far better by chrF.

    Returns two lists of at most `NUM_SENTENCES` `Sentence`, the largest
    difference first: one for each system that is better.
    """
    sentences = []
    for number, (*pair, reference) in enumerate(zip(*systems, references), 1):
        # Most sentences are often equal, and equal ones have no difference.
        if pair[0] != pair[1]:
            scores = sentence_chrf(pair, [reference, reference], lowercase)
            sentences.append(Sentence(number, *scores))
    sentences.sort(key=lambda sentence: -sentence.difference)
    better = [s for s in sentences if s.difference > 0]
    worse = [s for s in reversed(sentences) if s.difference < 0]
    return better[:NUM_SENTENCES], worse[:NUM_SENTENCES]


def _ranges(bounds):
    """Yields the name, the smallest and the largest number of each range."""
    for before, high in itertools.pairwise(bounds):
        low = before + 1
        yield f"{low}" if low == high else f"{low} to {high}", low, high
    yield f"{bounds[-1] + 1:,} or more", bounds[-1] + 1, float("inf")


@dataclasses.dataclass(frozen=True)
class Words:
    """Divides texts into the tokens that BLEU counts."""

    tokenize: str = "13a"  # name of sacreBLEU's tokenizer
    lowercase: bool = False  # whether case is ignored

    def tokenize_all(self, texts):
        """Yields a list of tokens for each text."""
        metric = bleu_metric(self.tokenize, self.lowercase)
        for text in texts:
            text = text.lower() if self.lowercase else text
            yield metric.tokenizer(text).split()

    def count(self, texts):
        """Returns how often each token occurs, a `Counter`."""
        tokens = itertools.chain.from_iterable(self.tokenize_all(texts))
        return collections.Counter(tokens)


def f_measure(hypotheses, references, is_counted):
    """Returns the F1 of those words that `is_counted` is true of, in percent.

    A word of a hypothesis is right if it occurs in its reference, at most as
    often as there. Precision is the share of right words in the hypotheses, and
    recall their share in the references.

    >>> f_measure([["a", "dog"]], [["the", "dog"]], lambda word: True)
    50.0
    """
    num_right = num_words = 0
    for pair in zip(hypotheses, references):
        ours, theirs = (
            collections.Counter(filter(is_counted, words)) for words in pair
        )
        num_right += (ours & theirs).total()
        num_words += ours.total() + theirs.total()
    return 200 * num_right / num_words if num_words else 0.0


def match_orders(hypothesis, reference):
    """Returns the longest matching n-gram, up to 4, that each word belongs to.

    An n-gram matches at most as often as it occurs in the reference, and the
    first ones match, as BLEU counts. A word without a match has 0.

    >>> match_orders("the small dog".split(), "a small dog".split())
    [0, 2, 2]
    """
    orders = [0] * len(hypothesis)
    for order in range(1, MAX_ORDER + 1):
        unmatched = collections.Counter(_ngrams(reference, order))
        for start, ngram in enumerate(_ngrams(hypothesis, order)):
            if unmatched[ngram] > 0:
                unmatched[ngram] -= 1
                orders[start : start + order] = [order] * order
    return orders


def _ngrams(words, order):
    return zip(*(words[start:] for start in range(order)))
