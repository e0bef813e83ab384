"""Searches again for translations that lack terms of a glossary.

The search of Keras has a constraint. CTranslate2 has none, but continues
prefixes: a prefix ends with a term, at the place where attention finds what the
term should replace.
"""

import re

from keras_transformer.decoding.engines.attention import SPACED
from keras_transformer.decoding.engines.attention import WORD
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.steps.glossary import find_lacking
from keras_transformer.decoding.steps.glossary import find_missing_terms
from keras_transformer.decoding.steps.glossary import merge_hypotheses

MAX_SEARCHES = 8  # for the terms of a text; further ones go to its end
# A place where a word ends; `SPACED` words have letters on both sides.
_ENDS_WORD = re.compile(rf"(?<!{SPACED})|(?!{SPACED})")


def enforce_terms(translator, call, window, texts, sources, hypotheses, search):
    """Returns hypotheses that hold the terms of the glossary of a `Call`.

    Args:
        translator: The `Translator`.
        call: The `Call`.
        window: The `Window`.
        texts: List of str, as the model reads them.
        sources: Their ids.
        hypotheses: List of the `Hypothesis` of each text.
        search: Function of ids that found them, with options by name.
    """
    codec = translator.codec
    terms = find_missing_terms(
        call.glossary, texts, hypotheses, codec.normalize
    )
    if not any(terms):
        return hypotheses
    if translator.engine.takes_terms:
        found = search(
            _keep(sources, terms), terms=codec.encode_terms(terms, window.start)
        )
    else:
        writer = _TermWriter(translator, call, terms, sources, search)
        found = writer.write(hypotheses, window.prefixes)
    return merge_hypotheses(found, hypotheses, terms)


class _TermWriter:
    """Writes terms by a search that continues prefixes."""

    def __init__(self, translator, call, terms, sources, search):
        self._translator = translator
        self._codec = translator.codec
        self._call = call
        self._terms = terms
        self._sources = sources
        self._search = search

    def write(self, hypotheses, prefixes):
        """Returns hypotheses with all terms, of the texts that have terms."""
        found = list(hypotheses)
        # Each text keeps what is before this place.
        done = [len(prefix) for prefix in prefixes or [""] * len(found)]
        for _ in range(MAX_SEARCHES):
            lacking = self._find_lacking(found)
            if not any(lacking):
                break
            edits = self._plan(found, lacking, done)
            for number, one in edits.items():
                done[number] = len(one[0])
            found = self._continue(found, edits)
        for number, rest in enumerate(self._find_lacking(found)):
            text = found[number][0].text
            while rest:
                end = _find_end(text)
                text = " ".join([text[:end], *rest]) + text[end:]
                rest = find_lacking(text, self._terms[number])
            if text != found[number][0].text and self._fits(number, text):
                found[number] = [self._score(number, text)]
        return found

    def _find_lacking(self, found):
        return [
            find_lacking(each[0].text, required) if required else []
            for each, required in zip(found, self._terms)
        ]

    def _plan(self, found, lacking, done):
        """Returns a prefix, what it replaces, and the rest, of each text."""
        numbers = [number for number, each in enumerate(lacking) if each]
        links = self._translator.engine.link_words(
            [self._sources[number] for number in numbers],
            [found[number][0].ids for number in numbers],
            WORD,
            scored=False,
        )
        texts = self._codec.source_vocabulary.decode(
            [self._sources[number] for number in numbers]
        )
        edits = {}
        for number, text, link in zip(numbers, texts, links):
            translation, kept = found[number][0].text, done[number]
            # Without a place of its own, a term goes to the end.
            end = max(_find_end(translation), kept)
            places = [(end, end, lacking[number][0])]
            for start, stop, target in self._call.glossary.find_places(text):
                start, stop = link.find_span(start, stop)
                is_there = target in translation[start:stop]
                if target in lacking[number] and start >= kept and not is_there:
                    places.append((start, stop, target))
            start, stop, target = min(places)
            before, rest = translation[:start], translation[stop:]
            if start == stop:
                before = f"{before.rstrip()} ".lstrip()
            if self._fits(number, before + target + rest):
                replaced = translation[start:stop]
                edits[number] = before + target, replaced, rest
        return edits

    def _fits(self, number, text):
        """Returns whether a text is short enough; if not, gives it up."""
        (length,) = self._codec.count_tokens([text], of_targets=True)
        if length > self._translator.engine.max_length:
            self._terms[number] = []
        return bool(self._terms[number])

    def _continue(self, found, edits):
        """Returns hypotheses that begin with the prefixes of edits."""
        prefixes = [
            edits[number][0] if number in edits else ""
            for number in range(len(found))
        ]
        most = self._search.keywords["num_hypotheses"]
        continued = self._search(
            _keep(self._sources, prefixes),
            prefixes=self._codec.encode_prefixes(prefixes),
            num_hypotheses=max(most, self._call.options.beam_size),
        )
        found = list(found)
        for number, (prefix, replaced, rest) in edits.items():
            whole = [
                one
                for one in continued[number]
                if one.text.startswith(prefix)
                and _ENDS_WORD.match(one.text, len(prefix))
                # A model that does not know the term would say it again.
                and not (replaced and replaced in one.text[len(prefix) :])
            ]
            # The model may insist on another word that begins with the term.
            found[number] = whole[:most] or [self._score(number, prefix + rest)]
        return found

    def _score(self, number, text):
        ids = self._codec.encode_texts([text], of_targets=True)
        source = [self._sources[number]]
        alpha = self._call.options.alpha
        (score,) = self._translator.score_ids(source, ids, alpha)
        return Hypothesis(text, score, ids[0])


def _find_end(text):
    """Returns the place after the last word of a text."""
    return max(
        (n for n, sign in enumerate(text, 1) if sign.isalnum()), default=0
    )


def _keep(sources, kept):
    """Returns sources of which those without a true value are blank."""
    return [source if each else [] for source, each in zip(sources, kept)]
