"""Translations of texts with placeholders and tags."""

import collections
import functools

from keras_transformer.decoding.placeholders import STAND_INS
from keras_transformer.decoding.placeholders import needs_links
from keras_transformer.decoding.placeholders import restore
from keras_transformer.decoding.windows import in_windows
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
    mask = mask_of(placeholders, options.get("glossary"))

    def masked_texts():
        for _, text in numbered_texts(texts, start):
            untranslated.append(mask(text))
            yield untranslated[-1].text

    translated = translator.hypotheses(masked_texts(), start=start, **options)
    for window in in_windows(translated):
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


def mask_of(placeholders, glossary=None):
    """Returns the function by which texts are masked for a translation.

    A word of the glossary cannot stand for a placeholder. It would be
    translated as a term, or a term would become the placeholder.

    Args:
        placeholders: A `Placeholders`.
        glossary: The `Glossary` of the translation. Defaults to None.

    Returns:
        A function of a text that returns a `Masked`.
    """
    terms = glossary.terms if glossary else {}
    targets = filter(None, terms.values())
    words = WORD.findall("\n".join([*terms, *targets]))
    # A small term may begin with a capital letter at the start of a text, and
    # a stand-in may have an ending.
    words = {*words, *map(str.capitalize, words)}
    taken = {
        name
        for name in STAND_INS
        if any(word.startswith(name) for word in words)
    }
    return functools.partial(placeholders.mask, taken=taken)


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
