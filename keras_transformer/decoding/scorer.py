"""Scores existing translations, and finds what they attend to."""

import re

from keras_transformer.decoding.attention import SPACED_WORD
from keras_transformer.decoding.attention import Attention
from keras_transformer.decoding.attention import WordLinks
from keras_transformer.decoding.engines import Hypothesis
from keras_transformer.decoding.engines import check_capabilities
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.decoding.steps.placeholders import make_mask
from keras_transformer.decoding.texts import Preparation
from keras_transformer.decoding.texts import check_pairs
from keras_transformer.scoring import alarms


class Scorer(Preparation):
    """The part of a `Translator` that needs a model, but no search."""

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
        scores = self.score_ids(
            self.encode(texts), self.encode_targets(translations), alpha
        )
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
        scores = [0.0] * len(sources)
        for batch, scores_of_batch in self.engine.score(
            sources, targets, options
        ):
            for i, score in zip(batch, scores_of_batch):
                scores[i] = score
        return scores

    def find_alarms(
        self,
        texts: list[str],
        hypotheses: list[list[Hypothesis]],
        protect: Placeholders | None = None,
        glossary: Glossary | None = None,
    ) -> list[list[str]]:
        """Returns the alarms of the best translation of each text.

        They are names of `alarms.REASONS`, without "low_score". Trees have
        none. `hypotheses` come from `Translator.hypotheses` for the same
        arguments.
        """
        if self.linearization:
            return [[] for _ in texts]
        best = [each[0] for each in hypotheses]
        alarm_names = [
            alarms.find_alarms(text, one.text) for text, one in zip(texts, best)
        ]
        if protect:
            mask = make_mask(protect, glossary, self.codec.normalize)
            all_masked = list(map(mask, texts))
            texts = [masked.text for masked in all_masked]
            for names, masked in zip(alarm_names, all_masked):
                names += ["message"] if masked.has_message else []
        if "word_links" not in self.engine.capabilities.supports:
            return alarm_names
        # The texts as the model read and wrote them, before steps changed them.
        sources = self.prepare(texts)
        written = self.codec.vocabulary.decode([one.ids for one in best])
        short = [
            number
            for number, one in enumerate(best)
            # The translation of a text in parts has no ids.
            if one.ids
            and not alarm_names[number]
            and alarms.is_short(sources[number], written[number])
        ]
        links = self.word_links(
            [texts[number] for number in short],
            [[best[number]] for number in short],
            scored=False,
        )
        for number, each in zip(short, links):
            if alarms.leaves_out(each):
                alarm_names[number].append("uncovered")
        return alarm_names

    def attention(
        self, texts: list[str], hypotheses: list[list[Hypothesis]]
    ) -> list[Attention]:
        """Returns the `Attention` of the best translation of each text.

        `hypotheses` come from `Translator.hypotheses` for the same texts.
        """
        check_capabilities(self.engine.capabilities, {"return_attention": True})
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
        check_capabilities(
            self.engine.capabilities, {"return_alignments": True}
        )
        sources = self.encode(texts)
        target_ids = [best.ids for best, *_ in hypotheses]
        links = self.engine.link_words(sources, target_ids, pattern, scored)
        for step in reversed(self.steps):
            links = list(map(step.finish_links, links))
        return links
