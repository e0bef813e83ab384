"""A translator that prefers the corrections that people made."""

from keras_transformer.data.memory.fitting import recall
from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.preparation import finish_hypotheses
from keras_transformer.decoding.preparation import prepare_texts
from keras_transformer.decoding.translator import Translator
from keras_transformer.scoring.alarms import find_alarms

# Number and minimum similarity of the corrections that a search consults.
_NEAR = 8, 0.55


class RememberingTranslator(Translator):
    """Translates as a `Translator` does, but prefers corrections.

    A sentence that a person corrected gets the last correction. A sentence that
    differs from it by names alone gets the correction with its own names; see
    `memory.fitting`. Such a translation has the score 0 and no warnings. Other
    similar sentences are translated near the corrections, if Keras can search;
    see `search.neighbours`. Those with a prefix, and samples, stay as the model
    writes them.

    Args:
        memory: A `TranslationMemory`.
        *arguments: Arguments of `Translator`.

    Example:

        translator = load("runs/ende", memory="corrections")
        translator.remember("A dog runs.", "Ein Hund rennt.")
        translator(["A dog runs."])  # ["Ein Hund rennt."]
    """

    def __init__(self, memory: TranslationMemory, *arguments):
        super().__init__(*arguments)
        self.memory = memory

    def remember(self, source: str, target: str, origin: str = "") -> None:
        """Keeps a correction for the next sentences, and for other processes.

        Args:
            source: The sentence that was translated.
            target: Its correct translation.
            origin: Who corrected it, or where. Defaults to nothing.
        """
        self.memory.remember(source, target, origin)

    def _set_aside(self, texts, max_tokens):
        blank, long = super()._set_aside(texts, max_tokens)
        counts = self.count_tokens([texts[place] for place in long])
        for place, count in zip(list(long), counts):
            # A corrected sentence needs no parts.
            if count <= self.max_tokens and self.memory.find(texts[place]):
                blank[place] = texts[place]
                long.remove(place)
        return blank, long

    def describe(self, texts, hypotheses, limits, call, extras):
        hypotheses = list(hypotheses)
        recalled, near = {}, {}
        for place, (text, found) in enumerate(zip(texts, hypotheses)):
            is_led = call.prefixes and call.prefixes[place]
            if not text.strip() or is_led or call.options.is_random:
                continue
            if one := recall(self.memory, text, found[0].text):
                recalled[place] = one
                others = [each for each in found if each.text != one.target]
                first = Hypothesis(one.target, 0.0, self._encode(one.target))
                hypotheses[place] = [first, *others][: len(found)]
            elif matches := self.memory.find_similar(text, *_NEAR):
                near[place] = matches
        near = self._search_near(texts, near, call, hypotheses)
        translations = super().describe(texts, hypotheses, limits, call, extras)
        for place, one in recalled.items():
            translations[place] = translations[place]._replace(
                warnings=(), quality=None, matches=[one.match]
            )
        for place, matches in near.items():
            translations[place] = translations[place]._replace(matches=matches)
        return translations

    def _search_near(self, texts, near, call, hypotheses):
        """Replaces hypotheses of texts by those near their matches.

        `near` has the matches of texts by their places. Returns those that were
        of use.
        """
        search = getattr(self.engine, "search_near", None)
        if not search or self.reranker or call.glossary or call.protect:
            return {}
        pairs = {}
        for place, matches in near.items():
            if not hypotheses[place][0].ids:  # emoji, which no model reads
                continue
            sides = zip(*(match.pair[:2] for match in matches))
            sources, targets = map(list, sides)
            targets = self.prepare_targets(targets)
            fitting = [
                pair
                for pair in zip(
                    self.codec.encode_texts(self.prepare(sources)),
                    self.codec.encode_texts(targets, of_targets=True),
                )
                if all(0 < len(ids) <= self.trained_length for ids in pair)
            ]
            if fitting:
                pairs[place] = fitting
        if not pairs:
            return {}
        prepared, memories = prepare_texts(
            self.steps, [texts[place] for place in pairs]
        )
        found = search(
            self.codec.encode(prepared),
            list(pairs.values()),
            call.options.to_search_options(),
        )
        if found is None:
            return {}
        used = {}
        found = finish_hypotheses(self.steps, found, memories)
        for place, each in zip(pairs, found):
            # A search that is led astray must not replace a sound one.
            if each and not find_alarms(texts[place], each[0].text):
                hypotheses[place] = each
                used[place] = near[place]
        return used

    def _encode(self, target):
        """Returns the ids of a correction, to link its words."""
        if "word_links" not in self.capabilities.supports:
            return ()
        targets = self.prepare_targets([target])
        (ids,) = self.codec.encode_texts(targets, of_targets=True)
        return ids if len(ids) <= self.max_tokens else ()
