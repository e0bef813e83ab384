"""What all translators have in common, whatever does the work."""

import itertools
import math
import typing
from concurrent import futures

from keras_transformer.search.options import MAX_SOURCE_TOKENS

WINDOW = 1024  # sentences that are sorted by length together
CACHE_POSITIONS = 16384  # most keys of a layer's cache: rows x beam x length
TREE_GROWTH = 3  # a tree has at most 4.0 symbols a word, in 3,669 of the WSJ


class Hypothesis(typing.NamedTuple):
    """A translation, its score, and its ids with the end id, if known."""

    text: str
    score: float
    ids: list = ()


class TextTranslator:
    """Translates lists of sentences.

    Subclasses write `hypotheses`, and hold the `options`, a `DecodeOptions`,
    that apply where a call changes nothing. What a model that parses writes is
    the `linearization` of trees, one of its `LINEARIZATIONS`; see
    `Parser`.
    """

    linearization = None

    def __call__(
        self,
        texts,
        num_hypotheses=None,
        return_scores=False,
        return_attention=False,
        prefixes=None,
        seed=0,
        **options,
    ):
        """Translates a list of sentences.

        Args:
            texts: list of str.
            num_hypotheses: how many translations of each to return.
            return_scores: whether to return the scores as well.
            return_attention: whether to return the attention weights as well,
                those of the best translations.
            prefixes: list of str that the translations begin with.
            seed: of samples.
            **options: other fields of `DecodeOptions` to change, such as
                `beam_size` (1 is greedy), `alpha`, `temperature`.

        Returns:
            list of str, or with `num_hypotheses` a list of lists of str, best
            first; a blank text gives an empty one. With `return_scores` a
            tuple of that and the scores in the same form: log-probabilities
            divided by the length penalty. With `return_attention` the tuple
            ends in a list of `Attention`.
        """
        found = list(
            self.hypotheses(
                texts,
                prefixes=prefixes,
                seed=seed,
                num_hypotheses=num_hypotheses,
                **options,
            )
        )
        results = [_in_form(found, "text", num_hypotheses)]
        if return_scores:
            results.append(_in_form(found, "score", num_hypotheses))
        if return_attention:
            results.append(self.attention(texts, found))
        return results[0] if len(results) == 1 else tuple(results)

    def translate(self, texts, report=None, **options):
        """Yields the best translations of any number of sentences, str.

        Args:
            texts, report, **options: see `hypotheses`.
        """
        for found in self.hypotheses(texts, report, **options):
            yield found[0].text

    def hypotheses(self, texts, report=None, prefixes=None, seed=0, **options):
        """Yields the translations of any number of sentences.

        Reads `texts` a window at a time, so that a large file need not fit
        into memory, and its first translations come early.

        Args:
            texts: iterable of str.
            report: function that is told the number of sentences after each
                batch.
            prefixes: iterable of str, as many as texts, that the translations
                begin with.
            seed: of samples.
            **options: fields of `DecodeOptions` to change.

        Yields:
            list of `Hypothesis` of each text, best first.
        """
        raise NotImplementedError

    def attention(self, texts, found):
        """Returns the attention weights of the best translations.

        Args:
            texts: list of str.
            found: what `hypotheses` yielded for them.

        Returns:
            list of `Attention`.
        """
        raise ValueError(
            "`return_attention` needs the model itself. Received: an exported "
            "one. Load the run's directory."
        )


def check_texts(texts):
    """Checks that `texts` is not one text.

    Raises:
        ValueError: if it is.
    """
    if isinstance(texts, str):
        raise ValueError(
            "`texts` must be a list of str. Received: one str, "
            f"{texts[:40]!r}. Put it into a list."
        )


def check_pairs(texts, translations):
    """Checks that there is one translation for each text.

    Raises:
        ValueError: if not, or if `texts` is one str.
    """
    check_texts(texts)
    if len(texts) != len(translations):
        raise ValueError(
            "`translations` must be as many as texts. Received: "
            f"{len(translations)} for {len(texts)}. Give one for each."
        )


def windows(texts, prefixes, size):
    """Yields texts and their prefixes, some at a time.

    Args:
        texts: iterable of str.
        prefixes: iterable of str, as many as texts, or None.
        size: most texts to take together.

    Yields:
        list of (number, text), numbers from 1 on, and the list of prefixes, or
        None where there are none.

    Raises:
        ValueError: if `texts` is one str, or the prefixes are fewer.
    """
    check_texts(texts)
    numbered = enumerate(texts, 1)
    prefixes = None if prefixes is None else iter(prefixes)
    while window := list(itertools.islice(numbered, size)):
        beginnings = None
        if prefixes is not None:
            beginnings = list(itertools.islice(prefixes, len(window)))
            if len(beginnings) < len(window):
                raise ValueError(
                    "`prefixes` must be as many as texts. Received: none for "
                    f"text {window[len(beginnings)][0]}. Give an empty one "
                    "where the translation is free."
                )
        yield window, beginnings


def check_length(number, text, length, most=MAX_SOURCE_TOKENS):
    """Checks that a sentence is not far too long.

    Args:
        number: of the sentence, from 1 on.
        text: the sentence.
        length: its number of tokens.
        most: how many it may have.

    Raises:
        ValueError: if it has more.
    """
    if length > most:
        raise ValueError(
            f"A sentence must have at most {most:,} tokens. Received: sentence "
            f"{number} with {length:,}, {text[:20]!r}... Put one sentence on a "
            "line."
        )


def search_costs(lengths, options, linearization):
    """Returns how many positions of a cache each sentence's search may take.

    Args:
        lengths: numbers of tokens of the sentences; 0 of an empty one.
        options: a `DecodeOptions`.
        linearization: how the model writes trees, None if it writes none.
            Trees grow with the sentence, whatever room there is.
    """
    samples = options.num_hypotheses if options.temperature else 0
    rows = samples or options.beam_size
    growth = TREE_GROWTH if linearization and options.constrained else math.inf
    return [
        (n + min(options.extra_length, growth * n)) * rows if n else 0
        for n in lengths
    ]


def batches(costs, budget, num_workers=1, fitting_rows=lambda rows: rows):
    """Yields indices of what goes together, the dearest first.

    Args:
        costs: of each, what it takes of the budget; 0 leaves it out.
        budget: most that number times greatest cost may be, but for one alone.
        num_workers: at least as many batches are made, if there is as much.
        fitting_rows: function of the most that would fit; returns how many to
            take.

    Example:

    >>> list(batches([1, 3, 0, 2, 1], budget=4))
    [[1], [3, 0], [4]]
    """
    order = [i for i, cost in enumerate(costs) if cost]
    order.sort(key=lambda i: costs[i], reverse=True)
    most = -(-len(order) // num_workers)
    while order:
        rows = min(most, fitting_rows(max(1, budget // costs[order[0]])))
        yield order[:rows]
        order = order[rows:]


def in_parallel(function, items, num_workers):
    """Yields each item with what a function makes of it, in order.

    Args:
        function: of one item; called in threads where there are more workers.
        items: iterable.
        num_workers: calls at the same time.
    """
    if num_workers == 1:
        for item in items:
            yield item, function(item)
        return
    pool = futures.ThreadPoolExecutor(num_workers)
    try:
        begun = [(item, pool.submit(function, item)) for item in items]
        for item, result in begun:
            yield item, result.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _in_form(found, field, num_hypotheses):
    values = [[getattr(one, field) for one in each] for each in found]
    return values if num_hypotheses else [best for best, *_ in values]
