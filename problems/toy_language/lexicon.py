"""The dictionary of the toy language pair: nouns, adjectives and verbs.

`nouns.txt` and `verbs.txt` hold the entries and describe their form.
"""

import dataclasses
import importlib.resources

_GENDERS = {"der": "masculine", "die": "feminine", "das": "neuter"}


@dataclasses.dataclass(frozen=True, eq=False)
class Noun:
    """A noun; `kind` determines which adjectives suit it."""

    kind: str
    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str
    oblique: str  # German accusative and dative singular


@dataclasses.dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective; `kinds` determines which nouns it suits."""

    english: str
    german: str
    kinds: str
    stem: str = ""  # the part before endings, if it differs from `german`


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


def _read_table(lines):
    """Yields `(heading, rows)`; a row is two lists, English and German."""
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


def _read_nouns(lines, unions):
    """Returns the groups of nouns, a dictionary of name to tuple."""
    groups = {}
    for heading, rows in _read_table(lines):
        name, kind = heading.split(": ")
        groups[name] = tuple(_noun(kind, *row) for row in rows)
    for name, parts in unions.items():
        groups[name] = _union(groups, parts)
    return groups


def _noun(kind, english, german):
    article, _, singular = german[0].partition(" ")
    oblique = german[2] if len(german) > 2 else singular
    gender = _GENDERS[article]
    return Noun(kind, *english, singular, german[1], gender, oblique)


def _read_verbs(lines):
    verbs = []
    for heading, rows in _read_table(lines):
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
    read_lines(__package__, "nouns.txt"),
    unions={
        "people": "strangers acquaintances children",
        "beings": "people animals",
        "objects": "food clothes dishes texts luggage gifts",
        "goods": "clothes dishes luggage gifts machines vehicles",
        "places": "rooms homes outdoors",
    },
)

ADJECTIVES = (
    Adjective("tired", "müde", "adult child animal", stem="müd"),
    Adjective("hungry", "hungrig", "adult child animal"),
    Adjective("sad", "traurig", "adult child"),
    Adjective("happy", "glücklich", "adult child"),
    Adjective("old", "alt", "adult animal text thing place"),
    Adjective("young", "jung", "adult animal"),
    Adjective("clever", "klug", "adult child animal"),
    Adjective("friendly", "freundlich", "adult child"),
    Adjective("rich", "reich", "adult"),
    Adjective("poor", "arm", "adult"),
    Adjective("small", "klein", "child animal food thing place"),
    Adjective("big", "groß", "animal food thing place"),
    Adjective("new", "neu", "text thing"),
    Adjective("beautiful", "schön", "text thing place"),
    Adjective("good", "gut", "food text"),
    Adjective("fresh", "frisch", "food"),
    Adjective("expensive", "teuer", "food thing", stem="teur"),
    Adjective("red", "rot", "thing"),
    Adjective("green", "grün", "thing"),
    Adjective("black", "schwarz", "thing"),
    Adjective("white", "weiß", "thing"),
)
MOODS = ADJECTIVES[:4]

VERBS = _read_verbs(read_lines(__package__, "verbs.txt"))

# Verbs that take a clause, "that ..." or "whether ...", and the copula.
*SAY, ASK, BE = _read_verbs(
    """
state, people
say, said = sagen, sagt, hat gesagt
hope, hoped = hoffen, hofft, hat gehofft
believe, believed = glauben, glaubt, hat geglaubt
know, knew = wissen, weiß, hat gewusst
ask, asked = fragen, fragt, hat gefragt
be, was = sein, ist, ist gewesen
""".splitlines()
)
KNOW = SAY[-1]
