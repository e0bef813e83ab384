"""Where two systems differ: by length, by word frequency, by sentence."""

import dataclasses

from keras_transformer.scoring.words import bleu_metric
from keras_transformer.scoring.words import f_measure

# Upper bounds of the groups; a last group holds what is greater.
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
    groups = []
    for title, low, high in _ranges((-1, *LENGTHS)):
        places = [
            i for i, length in enumerate(lengths) if low <= length <= high
        ]
        if not places:
            continue
        parts = [[text[i] for i in places] for text in (*systems, references)]
        scores = [
            bleu.corpus_score(part, [parts[-1]]).score for part in parts[:-1]
        ]
        groups.append(Group(title, len(places), *scores))
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


def find_greatest_differences(systems, references, lowercase=False):
    """Finds the sentences on which one of two systems is far better by chrF.

    Returns two lists of at most `NUM_SENTENCES` `Sentence`, the largest
    difference first: one for each system that is better.
    """
    from sacrebleu.metrics import CHRF

    chrf = CHRF(lowercase=lowercase)
    sentences = []
    for number, (*pair, reference) in enumerate(zip(*systems, references), 1):
        # Most sentences are often equal, and equal ones have no difference.
        if pair[0] != pair[1]:
            scores = [chrf.sentence_score(t, [reference]).score for t in pair]
            sentences.append(Sentence(number, *scores))
    sentences.sort(key=lambda sentence: -sentence.difference)
    better = [s for s in sentences if s.difference > 0]
    worse = [s for s in reversed(sentences) if s.difference < 0]
    return better[:NUM_SENTENCES], worse[:NUM_SENTENCES]


def _ranges(bounds):
    """Yields the name, the smallest and the largest number of each range."""
    for before, high in zip(bounds, bounds[1:]):
        low = before + 1
        yield f"{low}" if low == high else f"{low} to {high}", low, high
    yield f"{bounds[-1] + 1:,} or more", bounds[-1] + 1, float("inf")
