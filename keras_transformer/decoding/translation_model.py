"""Scores existing translations, reranks, and finds what they attend to."""

import operator
import re
import typing
from collections.abc import Sequence

from keras_transformer.decoding.engines.attention import SPACED_WORD
from keras_transformer.decoding.engines.attention import Attention
from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.engines.engine import check_capabilities
from keras_transformer.decoding.preparation import Call
from keras_transformer.decoding.preparation import Preparation
from keras_transformer.decoding.preparation import check_pairs
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.decoding.steps.placeholders import make_mask
from keras_transformer.decoding.translation import REACHED_LIMIT
from keras_transformer.decoding.translation import Extras
from keras_transformer.decoding.translation import Translation
from keras_transformer.scoring import alarms
from keras_transformer.scoring.quality import measure_features
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID


class TranslationModel(Preparation):
    """The part of a `Translator` that needs a model, but no search."""

    engine: typing.Any
    reranker: "Reranker | None"

    def score(
        self,
        texts: list[str],
        translations: list[str],
        alpha: float | None = None,
    ) -> list[float]:
        """Scores translations as the search would score them.

        Args:
            texts: List of str.
            translations: List of str, one for each text.
            alpha: Float, length penalty's exponent. Defaults to the model's.

        Returns:
            List of float: log-probabilities divided by the length penalty, and
            0 for a blank text. With a reranker, its scores.
        """
        check_pairs(texts, translations)
        targets = self.encode(translations, of_targets=True)
        scores = self.score_ids(self.encode(texts), targets, alpha)
        if self.reranker:
            alpha = self.options.alpha if alpha is None else alpha
            return self.reranker.add_scores(texts, translations, scores, alpha)
        return scores

    def score_ids(
        self,
        sources: list[list[int]],
        targets: list[list[int]],
        alpha: float | None = None,
    ) -> list[float]:
        """Scores encoded translations, see `score`."""
        # Trees get the scores of a search that is not constrained, because a
        # constrained one redistributes the probability of illegal symbols.
        options = self.change_options(alpha=alpha)
        found = dict.fromkeys(range(len(sources)), 0.0)
        for batch in self.engine.score(sources, targets, options):
            found.update(zip(*batch))
        return list(found.values())

    def describe(
        self,
        texts: list[str],
        hypotheses: list[list[Hypothesis]],
        limits: list[int],
        call: Call,
        extras: Extras,
    ) -> list[Translation]:
        """Returns the `Translation` of each text, with what the extras ask for.

        A translation of `limits` tokens may be cut off. Blank texts and trees
        have no warnings.
        """
        translations = list(map(Translation, hypotheses))
        if extras.warns and not self.linearization:
            best = [each[0] for each in hypotheses]
            warnings = self.find_alarms(
                texts, hypotheses, call.protect, call.glossary
            )
            qualities = [None] * len(texts)
            if extras.quality:
                features = measure_features(self, best, call.options.alpha)
                estimates, warnings = extras.quality.judge(features, warnings)
                qualities = estimates.tolist()
            lengths = self.count_written(best)
            for i, text in enumerate(texts):
                if text.strip():
                    cut = [REACHED_LIMIT] if lengths[i] >= limits[i] else []
                    translations[i] = Translation(
                        hypotheses[i], cut + warnings[i], None, qualities[i]
                    )
        if extras.links_words or extras.scores_words:
            links = self.word_links(
                texts, hypotheses, scored=extras.scores_words
            )
            pairs = zip(translations, links)
            translations = [one._replace(links=each) for one, each in pairs]
        return translations

    def count_written(self, hypotheses: list[Hypothesis]) -> list[int]:
        """Returns the number of tokens of each hypothesis, with the end."""
        # A SavedModel returns no ids.
        unknown = [one.text for one in hypotheses if not one.ids]
        counts = iter(self.count_tokens(unknown, True) if unknown else ())
        return [len(one.ids) or next(counts) for one in hypotheses]

    def find_alarms(
        self,
        texts: list[str],
        hypotheses: list[list[Hypothesis]],
        protect: Placeholders | None = None,
        glossary: Glossary | None = None,
    ) -> list[list[str]]:
        """Returns the alarms of the best translation of each text.

        They are names of `alarms.REASONS`, without "low_score". Trees have
        none, nor have digits without words, which may well repeat themselves.
        `hypotheses` come from `Translator.hypotheses` for the same arguments.
        """
        if self.linearization or not self.codec.has_words:
            return [[] for _ in texts]
        best = [each[0] for each in hypotheses]
        alarm_names = [
            alarms.find_alarms(text, one.text) for text, one in zip(texts, best)
        ]
        if protect:
            mask = make_mask(protect, glossary, self.codec)
            all_masked = list(map(mask, texts))
            texts = [masked.text for masked in all_masked]
            for names, masked in zip(alarm_names, all_masked):
                names += ["message"] if masked.has_message else []
        # The texts as the steps give them to the model.
        sources = self.prepare(texts)
        if self.codec.may_lack_text and not protect:
            for names, text in zip(alarm_names, sources):
                spans = self.codec.find_unknown(text)
                unknown = "".join(text[start:end] for start, end in spans)
                names += ["unknown"] if unknown.strip() else []
        if "word_links" not in self.capabilities.supports:
            return alarm_names
        written = self.codec.vocabulary.decode([one.ids for one in best])
        rows = zip(texts, best, alarm_names, sources, written)
        short = [
            (text, one, names)
            for text, one, names, *pair in rows
            # The translation of a text in parts has no ids.
            if one.ids and names in ([], ["unknown"]) and alarms.is_short(*pair)
        ]
        links = self.word_links(
            [text for text, *_ in short],
            [[one] for _, one, _ in short],
            scored=False,
        )
        for (*_, names), each in zip(short, links):
            names += ["uncovered"] if alarms.leaves_out(each) else []
        return alarm_names

    def attention(
        self, texts: list[str], hypotheses: list[list[Hypothesis]]
    ) -> list[Attention]:
        """Returns the `Attention` of the best translation of each text.

        `hypotheses` come from `Translator.hypotheses` for the same texts.
        """
        check_capabilities(self.capabilities, {"return_attention": True})
        return self.engine.attend(
            self.encode(texts), [best.ids for best, *_ in hypotheses]
        )

    def word_links(
        self,
        texts: list[str],
        hypotheses: list[list[Hypothesis]],
        pattern: re.Pattern[str] = SPACED_WORD,
        scored: bool = True,
    ) -> list[WordLinks]:
        """Returns the `WordLinks` of the best translation of each text.

        The texts and hypotheses are as in `attention`. The pattern, a compiled
        regular expression, matches a word. Without `scored`, the links may lack
        the scores of the words.
        """
        check_capabilities(self.capabilities, {"return_alignments": True})
        sources = self.encode(texts)
        target_ids = [best.ids for best, *_ in hypotheses]
        links = self.engine.link_words(sources, target_ids, pattern, scored)
        for step in reversed(self.steps):
            links = list(map(step.finish_links, links))
        return links


class Reranker:
    """Reorders the hypotheses of a translator with a reverse model.

    A translation y of a text x that leaves out a part of x can be probable, but
    x is then improbable as a translation of y. The score of y is therefore

        log p(y | x) / penalty(y) + weight * log p(x | y) / penalty(x)

    with the length penalty of the search. All translations of x share
    `penalty(x)`, which only makes one weight suit texts of all lengths. This is
    the noisy channel reranking of Yee et al. (2019) and Ng et al. (2019), but
    without their language model.

    A beam search reorders all hypotheses of its beam, so a wider beam gives
    more to choose from. With sampling, all samples that are drawn are
    reordered. The two models need no common vocabulary, because they exchange
    text. Hypotheses that are too long for the reverse model are left out. If
    all of them are, they stay as the translator found them.

    Args:
        reverse: A `Translator` from a translator's targets to its inputs.
        weight: Float, how much the reverse model counts. Defaults to 1.

    Example:

        reranker = Reranker(load("runs/deen"), weight=0.5)
        load("runs/ende", reranker=reranker)(["A dog runs."], beam_size=16)
    """

    def __init__(self, reverse: TranslationModel, weight: float = 1.0):
        self.reverse = reverse
        self.weight = weight

    def reorder(
        self,
        texts: Sequence[str],
        hypotheses: list[list[Hypothesis]],
        options: DecodeOptions,
    ) -> list[list[Hypothesis]]:
        """Returns the hypotheses of a window of texts in their new order.

        The whole window is scored together, since large batches are faster.
        """
        numbered = [
            (number, one)
            for number, each in enumerate(hypotheses)
            for one in each
            if texts[number].strip()
        ]
        lengths = self.reverse.count_tokens([one.text for _, one in numbered])
        candidates = [
            pair
            for pair, length in zip(numbered, lengths)
            if length <= self.reverse.max_tokens
        ]
        scores = self._score_texts(
            [texts[number] for number, _ in candidates],
            [one.text for _, one in candidates],
            options.alpha,
        )
        rescored: list[list[Hypothesis]] = [[] for _ in texts]
        for (number, one), score in zip(candidates, scores):
            both = one.score + self.weight * score
            rescored[number].append(one._replace(score=both))
        reordered = []
        for original, each in zip(hypotheses, rescored):
            each.sort(key=operator.attrgetter("score"), reverse=True)
            reordered.append((each or original)[: options.num_hypotheses])
        return reordered

    def add_scores(
        self,
        texts: Sequence[str],
        translations: Sequence[str],
        scores: list[float],
        alpha: float,
    ) -> list[float]:
        """Adds the scores of the reverse model; a blank text gets 0."""
        reverse_scores = self._score_texts(texts, translations, alpha)
        return [
            score + self.weight * reverse_score if text.strip() else 0.0
            for text, score, reverse_score in zip(texts, scores, reverse_scores)
        ]

    def _score_texts(self, texts, translations, alpha):
        """Scores the texts as translations of their translations."""
        # Even an empty translation has to explain its text, by the end alone.
        sources = self.reverse.encode(translations)
        sources = [ids or [END_ID] for ids in sources]
        targets = self.reverse.encode(texts, of_targets=True)
        return self.reverse.score_ids(sources, targets, alpha)
