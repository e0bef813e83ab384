"""Translations of texts with placeholders and tags."""

import collections
import itertools

from keras_transformer.decoding.placeholders import needs_links
from keras_transformer.decoding.placeholders import restore
from keras_transformer.decoding.windows import WINDOW
from keras_transformer.decoding.windows import numbered_texts
from keras_transformer.decoding.word_links import WORD
from keras_transformer.decoding.word_links import find_links


def protected_hypotheses(translator, placeholders, texts, start, **options):
    """Yields the hypotheses of texts whose placeholders are kept.

    Args:
        translator: A `Translator`.
        placeholders: A `Placeholders`.
        texts: Iterable of str.
        start: Integer, see `TextTranslator.hypotheses`.
        **options: Other arguments of `TextTranslator.hypotheses`.

    Yields:
        List of `Hypothesis` for each text, best first.
    """
    # The translator reads a window of texts before it yields the first
    # hypotheses, and each of these needs what was taken out of its own text.
    untranslated = collections.deque()
    taken = _words_of(options.get("glossary"))

    def masked_texts():
        for _, text in numbered_texts(texts, start):
            untranslated.append(placeholders.mask(text, taken))
            yield untranslated[-1].text

    translated = translator.hypotheses(masked_texts(), start=start, **options)
    while window := list(itertools.islice(translated, WINDOW)):
        pairs = [(untranslated.popleft(), hypotheses) for hypotheses in window]
        links = _links(translator, pairs)
        for masked, hypotheses in pairs:
            yield [
                one._replace(
                    text=restore(
                        masked, one.text, links.get((masked.text, one.text))
                    )
                )
                for one in hypotheses
            ]


def _words_of(glossary):
    """Returns the words of a glossary's terms on both sides.

    A name among them cannot stand for a placeholder, since it would be
    translated as a term, or a term would become the placeholder.
    """
    terms = glossary.terms if glossary else {}
    targets = filter(None, terms.values())
    words = WORD.findall("\n".join([*terms, *targets]))
    # A small term may begin with a capital letter at the start of a text.
    return {*words, *map(str.capitalize, words)}


def _links(translator, pairs):
    """Returns the `WordLinks` that are needed, by source and translation."""
    needed = {
        (masked.text, one.text): one
        for masked, hypotheses in pairs
        for one in hypotheses
        if needs_links(masked, one.text)
    }
    sources = translator.encode([(source, source) for source, _ in needed])
    links = find_links(
        translator.model,
        translator.vocabulary,
        sources,
        [one.ids for one in needed.values()],
        WORD,
        translator.source_vocabulary,
    )
    return dict(zip(needed, links))
