"""Translations reordered by a model of the opposite direction."""

import itertools

from keras_transformer.data.text_files import is_blank
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.decoding.windows import check_pairs
from keras_transformer.decoding.windows import check_texts
from keras_transformer.decoding.windows import in_windows
from keras_transformer.decoding.word_links import SPACED_WORD
from keras_transformer.token_ids import END_ID


class Reranker(TextTranslator):
    """Translates with one model and reorders its hypotheses by a reverse one.

    A translation y of a text x that leaves out a part of x can be probable, but
    x is then improbable as a translation of y. The score of y is therefore

        log p(y | x) / penalty(y) + weight * log p(x | y) / penalty(x)

    with the length penalty of the search. All translations of x share
    `penalty(x)`, which only makes one weight suit texts of all lengths. Noisy
    channel reranking of Yee et al. (2019) and Ng et al. (2019), who add a
    language model as well.

    A beam search reorders all hypotheses of its beam, so a wider beam gives
    more to choose from. With sampling, all samples that are drawn are
    reordered. The two models need no common vocabulary, because they exchange
    text. Hypotheses that are too long for the reverse model are left out. If
    all of them are, they stay as the translator found them.

    A reranker is called like a `Translator`.

    Args:
        translator: A `Translator`.
        reverse: A `Translator` from the translator's targets to its inputs.
        weight: Float, how much the reverse model counts. Defaults to 1.

    Raises:
        ValueError: If one of the two parses.

    Example:

        reranker = Reranker(load("runs/ende"), load("runs/deen"), weight=0.5)
        reranker(["A dog is running."], beam_size=16)
    """

    def __init__(self, translator, reverse, weight=1.0):
        if translator.linearization or reverse.linearization:
            raise ValueError(
                "Reranking must go with two runs that translate. Received: one "
                "that parses. Decode with the parsing run alone."
            )
        self.translator = translator
        self.reverse = reverse
        self.weight = weight
        self.options = translator.options
        self.trained_length = translator.trained_length

    @property
    def has_attention(self):
        return self.translator.has_attention

    def hypotheses(
        self, texts, report=None, prefixes=None, seed=0, start=0, **options
    ):
        check_texts(texts)
        glossary = options.pop("glossary", None)
        changed = self.changed_options(**options)
        options["num_hypotheses"] = changed.num_beams
        texts, sources = itertools.tee(texts)
        candidates = self.translator.hypotheses(
            texts, report, prefixes, seed, start, glossary=glossary, **options
        )
        # A window is reordered together, since large batches score faster.
        for window in in_windows(zip(sources, candidates)):
            for ordered in self._reordered(window, options.get("alpha")):
                yield ordered[: changed.num_hypotheses]

    def score(self, texts, translations, alpha=None):
        """Scores translations as they are scored for reordering.

        Args:
            texts: List of str.
            translations: List of str, one for each text.
            alpha: Float, exponent of both length penalties. Defaults to the
                translator's.

        Returns:
            List of float. A blank text gets 0.
        """
        check_pairs(texts, translations)
        scores = self.translator.score(texts, translations, alpha)
        reverse = self._reverse_scores(texts, translations, alpha)
        return [
            0.0 if is_blank(text) else score + self.weight * reverse_score
            for text, score, reverse_score in zip(texts, scores, reverse)
        ]

    def changed_options(self, **changes):
        options = super().changed_options(**changes)
        if options.mbr_samples:
            raise ValueError(
                "`mbr_samples` must be 0 with reranking, which orders the "
                f"samples itself. Received: mbr_samples={options.mbr_samples}. "
                "Use temperature=1 and num_hypotheses in its place."
            )
        return options

    def num_tokens(self, texts, of_targets=False):
        if of_targets:
            return self.translator.num_tokens(texts, of_targets=True)
        counts = (
            self.translator.num_tokens(texts),
            self.reverse.num_tokens(texts, of_targets=True),
        )
        return list(map(max, *counts))

    def length_limit(self, text, prefix="", **options):
        return self.translator.length_limit(text, prefix, **options)

    def encode(self, numbered):
        # Checks the length for the reverse model, too, which writes the texts.
        self.reverse.encode_targets(numbered)
        return self.translator.encode(numbered)

    def encode_targets(self, numbered):
        # Checks the length for the reverse model, too, which reads them.
        self.reverse.encode(numbered)
        return self.translator.encode_targets(numbered)

    def attention(self, texts, hypotheses):
        return self.translator.attention(texts, hypotheses)

    def word_links(self, texts, hypotheses, pattern=SPACED_WORD):
        return self.translator.word_links(texts, hypotheses, pattern)

    def _reordered(self, window, alpha):
        """Yields the hypotheses of each text in their new order.

        Args:
            window: List of pairs of a text and its list of `Hypothesis`.
            alpha: Float, or None for the translator's.
        """
        candidates = self._candidates(window)
        pairs = [(text, one.text) for text, each in candidates for one in each]
        scores = iter(pairs and self._reverse_scores(*zip(*pairs), alpha))
        for (_, hypotheses), (_, each) in zip(window, candidates):
            rescored = [
                one._replace(score=one.score + self.weight * score)
                for one, score in zip(each, scores)
            ]
            yield sorted(rescored, key=lambda one: -one.score) or hypotheses

    def _candidates(self, window):
        """Returns the window with the hypotheses that can be rescored."""
        hypotheses = [one.text for _, each in window for one in each]
        lengths = iter(self.reverse.num_tokens(hypotheses))
        return [
            (
                text,
                [
                    one
                    for one, length in zip(each, lengths)
                    if length <= self.reverse.max_tokens and not is_blank(text)
                ],
            )
            for text, each in window
        ]

    def _reverse_scores(self, texts, translations, alpha):
        """Scores the texts as translations of their translations."""
        alpha = self.options.alpha if alpha is None else alpha
        # Even an empty translation has to explain its text, by the end alone.
        sources, targets = (
            [ids or [END_ID] for ids in encode(list(enumerate(side, 1)))]
            for encode, side in (
                (self.reverse.encode, translations),
                (self.reverse.encode_targets, texts),
            )
        )
        return self.reverse.score_ids(sources, targets, alpha)
