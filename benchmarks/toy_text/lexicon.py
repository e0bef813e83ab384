"""The words of the toy language pair, and the noun phrases that they make.

The text files beside this module hold the entries of the dictionary and
describe their form. Phrases and pronouns have a `person`, with which their verb
agrees, and methods `english(case)` and `german(case)` that return their text.
Where English has "the old man" and "he" or "him", German inflects article,
adjective, noun and pronoun for three cases.
"""

import dataclasses
import importlib.resources


@dataclasses.dataclass(frozen=True, eq=False)
class Noun:
    """A noun; `kind` determines which adjectives suit it."""

    kind: str
    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str  # the article "der", "die" or "das"
    oblique: str  # German accusative and dative singular


@dataclasses.dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective; `kinds` determines which nouns it suits."""

    english: str
    german: str
    kinds: str
    stem: str  # the part before endings


@dataclasses.dataclass(frozen=True, eq=False)
class Complement:
    """An object that a verb requires, with its case."""

    case: str
    nouns: tuple
    english_preposition: str
    german_preposition: str


@dataclasses.dataclass(frozen=True, eq=False)
class Verb:
    """A verb with its complements and its aspect.

    An "activity" has a progressive form, an "event" has none ("I am finding"),
    and a "state" takes no time at all ("I know him tomorrow").
    """

    aspect: str
    subjects: tuple
    complements: tuple
    english: str
    particle: str  # "up" in "pick up"
    past: str
    prefix: str  # "ab" in "abholen", "holt ... ab"
    stem: str  # German infinitive without the prefix
    third: str  # German 3rd person singular without the prefix
    auxiliary: str  # of the German perfect tense: "hat" or "ist"
    participle: str

    @property
    def infinitive(self):
        return self.prefix + self.stem


def read_lines(package, name):
    """Returns the lines of a text file of a package, without its comments."""
    file = importlib.resources.files(package).joinpath(name)
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def read_table(name):
    """Yields `(heading, rows)`; a row is two lists, English and German."""
    lines = read_lines(__package__, name)
    for section in "\n".join(lines).strip().split("\n\n"):
        heading, *rows = section.splitlines()
        yield (
            heading,
            [list(map(_split_fields, row.split("="))) for row in rows],
        )


def _split_fields(text):
    return [field.strip() for field in text.split(",")]


def _union(groups, names):
    """Returns the nouns of several groups, whose names spaces separate."""
    return sum((groups[name] for name in names.split()), ())


def _read_nouns(unions):
    """Returns the groups of nouns, a dictionary of name to tuple."""
    groups = {}
    for heading, rows in read_table("nouns.txt"):
        name, kind = heading.split(": ")
        groups[name] = tuple(_noun(kind, *row) for row in rows)
    for name, parts in unions.items():
        groups[name] = _union(groups, parts)
    return groups


def _noun(kind, english, german):
    article, _, singular = german[0].partition(" ")
    oblique = german[2] if len(german) > 2 else singular
    return Noun(kind, *english, singular, german[1], article, oblique)


def _read_verbs(name):
    verbs = []
    for heading, rows in read_table(name):
        aspect, subjects, *complements = _split_fields(heading)
        frame = (
            aspect,
            _union(NOUNS, subjects),
            tuple(_complement(text) for text in complements),
        )
        verbs.extend(_verb(frame, *row) for row in rows)
    return tuple(verbs)


def _complement(text):
    """Reads "of/von dative people" or "/ accusative people animals"."""
    prepositions, case, nouns = text.split(maxsplit=2)
    english, german = prepositions.split("/")
    return Complement(case, _union(NOUNS, nouns), english, german)


def _verb(frame, english, german):
    base, _, particle = english[0].partition(" ")
    past, _, _ = english[1].partition(" ")
    prefix, _, stem = german[0].rpartition("|")
    third, _, _ = german[1].partition(" ")
    auxiliary, participle = german[2].split()
    german_parts = prefix, stem, third, auxiliary, participle
    return Verb(*frame, base, particle, past, *german_parts)


NOUNS = _read_nouns(
    {
        "people": "strangers acquaintances children",
        "beings": "people animals",
        "objects": "food clothes dishes texts luggage gifts",
        "goods": "clothes dishes luggage gifts machines vehicles",
        "places": "rooms homes outdoors",
    }
)
ADJECTIVES = tuple(
    Adjective(english, german[0], kinds, german[-1])
    for kinds, rows in read_table("adjectives.txt")
    for (english,), german in rows
)
MOODS = ADJECTIVES[:4]
VERBS = _read_verbs("verbs.txt")
*SAY, ASK, BE = _read_verbs("clause_verbs.txt")
KNOW = SAY[-1]


def _declension(*cases):
    """Returns {case: {gender: ending}}, where "-" stands for none."""
    names = ("nominative", "accusative", "dative")
    genders = ("der", "die", "das", "plural")
    return {
        name: dict(zip(genders, endings.replace("-", "").split(" ")))
        for name, endings in zip(names, cases)
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
            ending = determiner.adjective_endings[case][gender]
            adjective = self.adjective.stem + ending
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
