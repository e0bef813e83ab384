"""Words of two systems' translations: how often, how well, and which match."""

import collections
import dataclasses

MAX_ORDER = 4  # of n-grams, as in BLEU


@dataclasses.dataclass(frozen=True)
class Words:
    """Divides texts into the tokens that BLEU counts."""

    tokenize: str = "13a"  # name of sacreBLEU's tokenizer
    lowercase: bool = False  # whether case is ignored

    def tokenize_all(self, texts):
        """Yields the tokens of each text, a list of strings."""
        metric = bleu_metric(self.tokenize, self.lowercase)
        for text in texts:
            text = text.lower() if self.lowercase else text
            yield metric.tokenizer(text).split()

    def count(self, texts):
        """Returns how often each token occurs, a `Counter`."""
        counts = collections.Counter()
        for tokens in self.tokenize_all(texts):
            counts.update(tokens)
        return counts


def bleu_metric(tokenize, lowercase):
    """Returns sacreBLEU's BLEU of text that one of its tokenizers divides."""
    # Imported here because the import takes 0.5 s and few callers score.
    from sacrebleu.metrics import BLEU

    # `force` silences sacreBLEU's warning about text that looks tokenised.
    return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


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
