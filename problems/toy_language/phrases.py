"""Noun phrases and pronouns of the toy language pair, in both languages.

Each has a `person`, with which its verb agrees, and methods `english(case)` and
`german(case)` that return its text. Where English has "the old man" and "he" or
"him", German inflects article, adjective, noun and pronoun for three cases.
"""

import dataclasses

from keras_transformer.problems.toy_language.lexicon import Adjective
from keras_transformer.problems.toy_language.lexicon import Noun


def _declension(nominative, accusative, dative):
    """Returns {case: {gender: ending}}, where "-" stands for none."""
    cases = zip(
        ("nominative", "accusative", "dative"),
        (nominative, accusative, dative),
    )
    genders = ("masculine", "feminine", "neuter", "plural")
    return {
        case: dict(zip(genders, endings.replace("-", "").split(" ")))
        for case, endings in cases
    }


_DER = _declension("der die das die", "den die das die", "dem der dem den")
_WHO = _declension("der die das die", "den die das die", "dem der dem denen")
_DIESER = _declension("er e es e", "en e es e", "em er em en")
_EIN = _declension("- e - e", "en e - e", "em er em en")
_NOTHING = _declension("- - - -", "- - - -", "- - - -")
# An adjective shows gender and case if the word before it does not.
_AFTER_DER = _declension("e e e en", "en e e en", "en en en en")
_AFTER_EIN = _declension("er e es en", "en e es en", "en en en en")
_AFTER_NOTHING = _DIESER


@dataclasses.dataclass(frozen=True)
class Determiner:
    """An article or similar word with the German endings that it requires."""

    english: str
    english_plural: str
    german: str
    endings: dict
    adjective_endings: dict


THE = Determiner("the", "the", "", _DER, _AFTER_DER)
THIS = Determiner("this", "these", "dies", _DIESER, _AFTER_DER)
A = Determiner("a", "", "ein", _EIN, _AFTER_EIN)  # singular only
SOME = Determiner("", "", "", _NOTHING, _AFTER_NOTHING)  # plural only
NO = Determiner("a", "any", "kein", _EIN, _AFTER_EIN)  # as in "not ... any"
OWNERS = (
    Determiner("my", "my", "mein", _EIN, _AFTER_EIN),
    Determiner("his", "his", "sein", _EIN, _AFTER_EIN),
    Determiner("her", "her", "ihr", _EIN, _AFTER_EIN),
    Determiner("our", "our", "unser", _EIN, _AFTER_EIN),
)


@dataclasses.dataclass(frozen=True)
class Pronoun:
    """A personal pronoun; `person` is "I", "he" or "they"."""

    person: str
    english_subject: str
    english_object: str
    nominative: str
    accusative: str
    dative: str

    def english(self, case):
        if case == "nominative":
            return self.english_subject
        return self.english_object

    def german(self, case):
        return getattr(self, case)


FIRST_PERSON = (
    Pronoun("I", "I", "me", "ich", "mich", "mir"),
    Pronoun("they", "we", "us", "wir", "uns", "uns"),
)
THIRD_PERSON = (
    Pronoun("he", "he", "him", "er", "ihn", "ihm"),
    Pronoun("he", "she", "her", "sie", "sie", "ihr"),
    Pronoun("they", "they", "them", "sie", "sie", "ihnen"),
)


@dataclasses.dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner and, optionally, an adjective and a clause.

    `english` and `german` leave out the relative clause. The clause around the
    phrase adds it, since German may put other words in between.
    """

    noun: Noun
    determiner: Determiner
    plural: bool = False
    adjective: Adjective | None = None
    relative: object = None  # a Clause with a RelativePronoun

    @property
    def person(self):
        return "they" if self.plural else "he"

    def english(self, case):
        determiner, noun = self.determiner.english, self.noun.english
        if self.plural:
            determiner = self.determiner.english_plural
            noun = self.noun.english_plural
        adjective = self.adjective.english if self.adjective else ""
        if determiner == "a" and (adjective or noun)[0] in "aeiou":
            determiner = "an"
        return join(determiner, adjective, noun)

    def german(self, case):
        gender = "plural" if self.plural else self.noun.gender
        determiner = self.determiner
        article = determiner.german + determiner.endings[case][gender]
        adjective = ""
        if self.adjective:
            stem = self.adjective.stem or self.adjective.german
            adjective = stem + determiner.adjective_endings[case][gender]
        return join(article, adjective, self._german_noun(case))

    def _german_noun(self, case):
        if not self.plural:
            is_subject = case == "nominative"
            return self.noun.german if is_subject else self.noun.oblique
        noun = self.noun.german_plural
        takes_ending = case == "dative" and noun[-1] not in "ns"
        return noun + "n" if takes_ending else noun


@dataclasses.dataclass(frozen=True)
class RelativePronoun:
    """The "who" or "that" that stands for a noun in a relative clause."""

    noun: Noun
    plural: bool

    @property
    def person(self):
        return "they" if self.plural else "he"

    def english(self, case):
        if self.noun.kind not in ("adult", "child"):
            return "that"
        return "who" if case == "nominative" else "whom"

    def german(self, case):
        return _WHO[case]["plural" if self.plural else self.noun.gender]


def join(*words):
    """Joins all non-empty words with spaces."""
    return " ".join(word for word in words if word)
