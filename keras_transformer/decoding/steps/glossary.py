"""Terms of a text and the translations that they must have."""

import hashlib
import json
import os
import re
import typing
import unicodedata

from keras_transformer import errors
from keras_transformer.data.text.normalization import normalize
from keras_transformer.data.text.tags import find_tag_end
from keras_transformer.data.text.text_files import read_lines
from keras_transformer.decoding.engines.attention import SPACED
from keras_transformer.decoding.engines.attention import WORD
from keras_transformer.decoding.steps import check_translates
from keras_transformer.errors import UserError
from keras_transformer.search.options import MAX_TERM_TOKENS
from keras_transformer.token_ids import UNSPACED

# A place where a term ends. In a script without spaces, it may be anywhere.
TERM_END = re.compile(rf"(?!{SPACED})|(?<=[{UNSPACED}])")


class Glossary:
    """Translations that terms of the source must have.

    A term is found where all its words occur in a row, whatever spaces are
    between them. In a script without spaces, each character is a word. The text
    is matched from left to right. At each position the longest term wins, and
    matches do not overlap. Case matters, but the first word of a text may begin
    with a capital letter where the glossary has a small one. A translation is
    written exactly as the glossary spells it. Other forms of a term, such as a
    plural, need separate lines.

    Args:
        terms: Dictionary of source term to target term, both str. None as a
            target means that the term stays as it is in the text.

    Example:

    >>> glossary = Glossary({"cat": "felino", "New York": None})
    >>> glossary.find("Cat food from New York for my cat.")
    ['felino', 'New York', 'felino']
    >>> glossary.find("Cats concatenate.")
    []
    >>> Glossary({"猫": "cat"}).find("猫が好きです。")
    ['cat']
    """

    def __init__(self, terms: dict[str, str | None]):
        self.terms = {
            " ".join(source.split()): target and " ".join(target.split())
            for source, target in terms.items()
        }
        self._targets = {
            tuple(WORD.findall(spelling)): target
            for source, target in self.terms.items()
            for spelling in (source, normalize(source))
        }
        # Of the terms, the longest first.
        self._lengths = sorted(set(map(len, self._targets)), reverse=True)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> typing.Self:
        """Reads a glossary from a file.

        Each line has a source term, a tab and its translation. A term alone on
        its line is not translated. Raises a `UserError` if the file is missing,
        or if a line is malformed or contradicts an earlier one.
        """
        terms: dict[str, str | None] = {}
        for number, line in enumerate(read_lines(path), 1):
            source, *targets = (" ".join(x.split()) for x in line.split("\t"))
            if not source or len(targets) > 1 or not all(targets):
                raise UserError(
                    "`--glossary` must have a term, or a term, a tab and its "
                    f"translation on each line. Received: {path}, line "
                    f"{number}, {line[:60]!r}. Correct the line."
                )
            target = targets[0] if targets else None
            if terms.setdefault(source, target) != target:
                raise UserError(
                    "`--glossary` must have one translation for each term. "
                    f"Received: {path}, line {number} with a second one for "
                    f"{source!r}. Remove one of the two lines."
                )
        return cls(terms)

    @property
    def sha256(self) -> str:
        """SHA-256 of the terms, in hexadecimal."""
        content = json.dumps(sorted(self.terms.items(), key=str))
        return hashlib.sha256(content.encode(errors="replace")).hexdigest()

    def find(self, text: str) -> list[str]:
        """Returns the target terms of a text, as often as they are in it.

        A tag before the text, such as `<fr>`, is not a part of it.
        """
        return [target for _, _, target in self.find_places(text)]

    def find_places(self, text: str) -> list[tuple[int, int, str]]:
        """Returns start, end and target of each term of a text; see `find`."""
        matches = list(WORD.finditer(text, find_tag_end(text)))
        words = [match[0] for match in matches]
        first = next((i for i, word in enumerate(words) if word.isalnum()), 0)
        places, place = [], 0
        while place < len(words):
            end, target = self._find_longest(words, place, place == first)
            if end == place:
                place += 1
                continue
            start, stop = matches[place].start(), matches[end - 1].end()
            places.append((start, stop, target or text[start:stop]))
            place = end
        return places

    def _find_longest(self, words, start, is_first):
        """Returns where the longest term from `start` ends, and its target."""
        # Without a term it ends at `start`. A mark after a term, such as a
        # vowel sign, would make another word of it.
        word = words[start]
        spellings = [word]
        if is_first:
            spellings.append(word[0].lower() + word[1:])
        for length in self._lengths:
            others = words[start + 1 : start + length]
            for spelling in spellings:
                term = (spelling, *others)
                end = start + len(term)
                if term in self._targets and not _is_mark(words[end : end + 1]):
                    return end, self._targets[term]
        return start, None


def _is_mark(words):
    return any(unicodedata.category(word[0])[0] == "M" for word in words)


def check_glossary(glossary, options, linearization):
    """Checks that a search with these options can obey a glossary."""
    if not isinstance(glossary, Glossary):
        raise UserError(
            "`glossary` must be a `Glossary`. Received: glossary="
            f"{errors.quote(glossary)}. Write Glossary({{term: translation}})."
        )
    check_translates("glossary", linearization)
    if options.is_random:
        raise UserError(
            "`glossary` needs beam search. Received: temperature="
            f"{options.temperature}, mbr_samples={options.mbr_samples}. Leave "
            "them out, or the glossary."
        )
    if options.beam_size < 2:
        raise UserError(
            "`glossary` needs a beam of at least 2, since the beams "
            "are divided among hypotheses with few and with many terms. "
            f"Received: beam_size={options.beam_size}. Use for example 8."
        )


def check_term_lengths(glossary, count_tokens):
    """Checks that an export accepts the lengths of all translations of terms.

    `count_tokens` is a method of a translator. A model that must write a term
    of hundreds of tokens repeats it until its translation is full.
    """
    terms = sorted({target or term for term, target in glossary.terms.items()})
    for term, num_tokens in zip(terms, count_tokens(terms, of_targets=True)):
        if num_tokens - 1 > MAX_TERM_TOKENS:  # the end is counted
            raise UserError(
                f"A term of a glossary must have at most {MAX_TERM_TOKENS} "
                f"tokens. Received: {errors.quote(term)} with "
                f"{num_tokens - 1}. Shorten it, or remove its line."
            )


def find_missing_terms(glossary, texts, hypotheses, normalize=str):
    """Returns the terms of each text whose hypotheses lack one of them.

    The list of any other text is empty: it needs no second search. `normalize`
    is a method of the model's codec.
    """
    terms = [
        list(map(normalize, glossary.find(normalize(text)))) for text in texts
    ]
    return [
        required
        if any(find_lacking(one.text, required) for one in each)
        else []
        for required, each in zip(terms, hypotheses)
    ]


def merge_hypotheses(constrained, free, terms):
    """Puts the hypotheses of both searches together, best first.

    Free hypotheses that hold the terms stay among the best, as many as the
    constrained search found. A text without terms keeps the free ones.
    """
    merged = []
    for found, others, required in zip(constrained, free, terms):
        if required:
            texts = {one.text for one in found}
            kept = [
                one
                for one in others
                if not (one.text in texts or find_lacking(one.text, required))
            ]
            best_first = sorted([*found, *kept], key=lambda one: -one.score)
            others = best_first[: len(found)]
        merged.append(others)
    return merged


def find_lacking(translation, terms):
    """Returns the terms that a translation lacks as whole words.

    A term in a script without spaces may be anywhere. A term that is part of
    another one is needed once more than that one.

    >>> terms = ["protein kinase", "kinase"]
    >>> find_lacking("the kinase is a protein kinase", terms)
    []
    >>> find_lacking("a protein kinase", terms)
    ['kinase']
    """
    return [
        term
        for term in dict.fromkeys(terms)
        if _count(term, translation) < sum(_count(term, each) for each in terms)
    ]


def _count(term, text):
    parts = term.split()
    if not all(part in text for part in parts):  # as in most texts
        return 0
    words = r"\s+".join(map(re.escape, parts))
    begins = rf"(?:(?<!{SPACED})|(?=[{UNSPACED}]))"
    ends = TERM_END.pattern
    # Occurrences may overlap, so the pattern consumes nothing.
    return len(re.findall(rf"{begins}(?={words}(?:{ends}))", text))
