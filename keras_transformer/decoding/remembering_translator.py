"""A translator that prefers the corrections that people made."""

from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.translator import Translator
from keras_transformer.memory.fitting import recall_exact
from keras_transformer.memory.fitting import recall_similar
from keras_transformer.memory.store import TranslationMemory


class RememberingTranslator(Translator):
    """Translates as a `Translator` does, but prefers corrections.

    A sentence that a person corrected gets the last correction. A sentence that
    differs from it by names alone gets the correction with its own names; see
    `memory.fitting`. Such a translation has the score 0 and no warnings. Those
    with a prefix, and samples, stay as the model writes them.

    Args:
        memory: A `TranslationMemory`.
        *arguments: Those of `Translator`.

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

    def describe(self, texts, hypotheses, limits, call, extras):
        hypotheses = list(hypotheses)
        recalled = {}
        for place, (text, found) in enumerate(zip(texts, hypotheses)):
            is_led = call.prefixes and call.prefixes[place]
            if not text.strip() or is_led or call.options.is_random:
                continue
            one = recall_exact(self.memory, text)
            one = one or recall_similar(self.memory, text, found[0].text)
            if one:
                recalled[place] = one
                others = [each for each in found if each.text != one.target]
                first = Hypothesis(one.target, 0.0, self._encode(one.target))
                hypotheses[place] = [first, *others][: len(found)]
        translations = super().describe(texts, hypotheses, limits, call, extras)
        for place, one in recalled.items():
            translations[place] = translations[place]._replace(
                warnings=(), quality=None, matches=[one.match]
            )
        return translations

    def _encode(self, target):
        """Returns the ids of a correction, to link its words."""
        if "word_links" not in self.capabilities.supports:
            return ()
        targets = self.prepare_targets([target])
        (ids,) = self.codec.encode_texts(targets, of_targets=True)
        return ids if len(ids) <= self.max_tokens else ()
