"""Searches again for translations that lack terms of a glossary.

The search of Keras has a constraint. CTranslate2 has none, but continues
prefixes: a prefix ends with a term, at the place where attention finds what the
term should replace.
"""

import dataclasses
import typing
import unicodedata

from keras_transformer.decoding.engines.attention import WORD
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.engines.engine import keep
from keras_transformer.decoding.preparation import Call
from keras_transformer.decoding.steps.glossary import TERM_END
from keras_transformer.decoding.steps.glossary import find_lacking
from keras_transformer.decoding.steps.glossary import find_missing_terms
from keras_transformer.decoding.steps.glossary import merge_hypotheses

MAX_SEARCHES = 8  # for the terms of a text; further ones go to its end


def enforce_terms(translator, call, window, texts, sources, hypotheses, search):
    """Returns hypotheses that hold the terms of the glossary of a `Call`.

    `texts` come from the `Window`, as the model reads them, and `sources` their
    ids. `search`, a partial function of ids, found the hypotheses.
    """
    codec, glossary = translator.codec, call.glossary
    terms = find_missing_terms(glossary, texts, hypotheses, codec.normalize)
    if not any(terms):
        return hypotheses
    if translator.engine.takes_terms:
        encoded = codec.encode_terms(terms, window.start)
        with_terms = [number for number, each in enumerate(terms) if each]
        results = search(keep(sources, with_terms), terms=encoded)
    else:
        writer = _TermWriter(translator, call, terms, sources, search)
        results = writer.write(hypotheses, window.prefixes)
    return merge_hypotheses(results, hypotheses, terms)


class _Edit(typing.NamedTuple):
    """The parts of a translation around a term, which ends the prefix."""

    prefix: str
    replaced: str
    rest: str


@dataclasses.dataclass
class _TermWriter:
    """Writes terms by a search that continues prefixes."""

    translator: typing.Any
    call: Call
    terms: list  # of each text; emptied where they do not fit
    sources: list
    search: typing.Any

    def write(self, hypotheses, prefixes):
        """Returns hypotheses with all terms, of the texts that have terms."""
        results = list(hypotheses)
        # Each text keeps what is before this place.
        done = [len(prefix) for prefix in prefixes or [""] * len(results)]
        for _ in range(MAX_SEARCHES):
            edits = self._plan(results, done)
            if not edits:
                break
            for number, edit in edits.items():
                done[number] = len(edit.prefix)
            self._continue(results, edits)
        for number, rest in self._find_lacking(results).items():
            text = results[number][0].text
            end = _find_end(text)
            text, signs = text[:end], text[end:]
            # Each comes after the last one, which may end in a sign.
            while rest:
                text = " ".join([text, *rest]).lstrip()
                rest = find_lacking(text + signs, self.terms[number])
            if self._fits(number, text + signs):
                results[number] = [self._score(number, text + signs)]
        return results

    def _find_lacking(self, results):
        """Returns the terms that best hypotheses lack, by number."""
        return {
            number: lacking
            for number, required in enumerate(self.terms)
            if (lacking := find_lacking(results[number][0].text, required))
        }

    def _plan(self, results, done):
        """Returns the `_Edit` of each text that lacks a term, by number."""
        lacking = self._find_lacking(results)
        sources = [self.sources[number] for number in lacking]
        links = self.translator.engine.link_words(
            sources,
            [results[number][0].ids for number in lacking],
            WORD,
            scored=False,
        )
        texts = self.translator.codec.source_vocabulary.decode(sources)
        edits = {}
        for (number, terms), text, link in zip(lacking.items(), texts, links):
            translation, kept = results[number][0].text, done[number]
            # Without a place of its own, a term goes to the end.
            end = max(_find_end(translation), kept)
            places = [(end, end, terms[0])]
            for start, stop, target in self.call.glossary.find_places(text):
                target = self.translator.codec.normalize(target)
                start, stop = link.find_span(start, stop)
                is_there = target in translation[start:stop]
                if target in terms and start >= kept and not is_there:
                    places.append((start, stop, target))
            start, stop, target = min(places)
            before, rest = translation[:start], translation[stop:]
            if start == stop:
                before = f"{before.rstrip()} ".lstrip()
            edit = _Edit(before + target, translation[start:stop], rest)
            if self._fits(number, edit.prefix + rest):
                edits[number] = edit
        return edits

    def _continue(self, results, edits):
        """Replaces hypotheses by those that begin with prefixes."""
        prefixes = [""] * len(results)
        for number, edit in edits.items():
            prefixes[number] = edit.prefix
        most = self.search.keywords["num_hypotheses"]
        continued = self.search(
            keep(self.sources, edits),
            prefixes=self.translator.codec.encode_prefixes(prefixes),
            num_hypotheses=max(most, self.call.options.beam_size),
        )
        for number, (prefix, replaced, rest) in edits.items():
            whole = [
                one
                for one in continued[number]
                if one.text.startswith(prefix)
                and TERM_END.match(one.text, len(prefix))
                # A model that does not know the term would say it again.
                and not (replaced and replaced in one.text[len(prefix) :])
            ]
            # The model may insist on another word that begins with the term.
            results[number] = whole[:most] or [
                self._score(number, prefix + rest)
            ]

    def _fits(self, number, text):
        """Returns whether a text is short enough; if not, gives it up."""
        codec = self.translator.codec
        (length,) = codec.count_tokens([text], of_targets=True)
        if length > self.translator.engine.max_length:
            self.terms[number] = []
        return bool(self.terms[number])

    def _score(self, number, text):
        ids = self.translator.codec.encode_texts([text], of_targets=True)
        pair = [self.sources[number]], ids
        (score,) = self.translator.score_ids(*pair, self.call.options.alpha)
        return Hypothesis(text, score, ids[0])


def _find_end(text):
    """Returns the place after the last word of a text."""
    # Marks, such as vowel signs, belong to words.
    places = (
        n
        for n, sign in enumerate(text, 1)
        if sign == "_" or unicodedata.category(sign)[0] in "LMN"
    )
    return max(places, default=0)
