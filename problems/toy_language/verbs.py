"""Verbs of the toy language pair: the other half of its dictionary.

An entry looks as in a dictionary: infinitive and past; in German infinitive,
present tense (3rd person singular) and perfect tense. A bar follows a separable
prefix.

The sentence always decides between two translations of a verb, and no English
past tense equals its infinitive. So a model can translate every sentence
correctly.
"""

import dataclasses

from keras_transformer.problems.toy_language.lexicon import NOUNS
from keras_transformer.problems.toy_language.lexicon import read_table
from keras_transformer.problems.toy_language.lexicon import split_fields
from keras_transformer.problems.toy_language.lexicon import union


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


def _read_verbs(table):
    verbs = []
    for heading, rows in read_table(table):
        aspect, subjects, *complements = split_fields(heading)
        frame = (
            aspect,
            union(NOUNS, subjects),
            tuple(_complement(text) for text in complements),
        )
        verbs.extend(_verb(frame, *row) for row in rows)
    return tuple(verbs)


def _complement(text):
    """Reads "of/von dative people" or "/ accusative people animals"."""
    prepositions, case, nouns = text.split(maxsplit=2)
    english, german = prepositions.split("/")
    return Complement(case, union(NOUNS, nouns), english, german)


def _verb(frame, english, german):
    base, _, particle = english[0].partition(" ")
    past, _, _ = english[1].partition(" ")
    prefix, _, stem = german[0].rpartition("|")
    third, _, _ = german[1].partition(" ")
    auxiliary, participle = german[2].split()
    german_parts = prefix, stem, third, auxiliary, participle
    return Verb(*frame, base, particle, past, *german_parts)


# The heading of a group is its aspect, its subjects and its complements.
VERBS = _read_verbs("""
activity, people, / accusative people
call, called = an|rufen, ruft an, hat angerufen
pick up, picked up = ab|holen, holt ab, hat abgeholt
invite, invited = ein|laden, lädt ein, hat eingeladen
visit, visited = besuchen, besucht, hat besucht

activity, people, / accusative food goods texts
buy, bought = kaufen, kauft, hat gekauft
sell, sold = verkaufen, verkauft, hat verkauft

activity, people, / accusative objects
bring along, brought along = mit|bringen, bringt mit, hat mitgebracht
throw away, threw away = weg|werfen, wirft weg, hat weggeworfen

activity, people, / accusative openings luggage
open, opened = auf|machen, macht auf, hat aufgemacht
close, closed = zu|machen, macht zu, hat zugemacht

activity, people, / accusative machines
turn on, turned on = ein|schalten, schaltet ein, hat eingeschaltet
turn off, turned off = aus|schalten, schaltet aus, hat ausgeschaltet

activity, people, / accusative machines vehicles
repair, repaired = reparieren, repariert, hat repariert

activity, people, / accusative rooms
tidy up, tidied up = auf|räumen, räumt auf, hat aufgeräumt

activity, people, / accusative clothes
wash, washed = waschen, wäscht, hat gewaschen
try on, tried on = an|probieren, probiert an, hat anprobiert

activity, people, / accusative food
eat, ate = essen, isst, hat gegessen

activity, people, / accusative texts
write, wrote = schreiben, schreibt, hat geschrieben

activity, beings, for/ accusative beings objects
look, looked = suchen, sucht, hat gesucht

event, beings, / accusative beings objects
see, saw = sehen, sieht, hat gesehen
find, found = finden, findet, hat gefunden

event, people, / accusative luggage gifts clothes texts
forget, forgot = vergessen, vergisst, hat vergessen

state, people, / accusative beings
love, loved = lieben, liebt, hat geliebt
know, knew = kennen, kennt, hat gekannt

state, people, / accusative goods
need, needed = brauchen, braucht, hat gebraucht

activity, people, / dative people
help, helped = helfen, hilft, hat geholfen
thank, thanked = danken, dankt, hat gedankt
answer, answered = antworten, antwortet, hat geantwortet

activity, people, to/ dative people
listen, listened = zu|hören, hört zu, hat zugehört

activity, beings, / dative beings
follow, followed = folgen, folgt, ist gefolgt

state, goods texts, to/ dative people
belong, belonged = gehören, gehört, hat gehört

activity, people, / dative people, / accusative objects
give, gave = geben, gibt, hat gegeben
show, showed = zeigen, zeigt, hat gezeigt
send, sent = schicken, schickt, hat geschickt

activity, people, for/auf accusative people
wait, waited = warten, wartet, hat gewartet

activity, people, after/auf accusative children animals
look, looked = auf|passen, passt auf, hat aufgepasst

activity, people, of/an accusative people
think, thought = denken, denkt, hat gedacht

activity, people, of/von dative people animals places
dream, dreamed = träumen, träumt, hat geträumt

activity, people, with/mit dative people
speak, spoke = sprechen, spricht, hat gesprochen
dance, danced = tanzen, tanzt, hat getanzt

activity, beings, into/in accusative places
go, went = gehen, geht, ist gegangen
come, came = kommen, kommt, ist gekommen
run, ran = laufen, läuft, ist gelaufen

activity, beings, in/in dative places
sleep, slept = schlafen, schläft, hat geschlafen
play, played = spielen, spielt, hat gespielt

activity, people, in/in dative places
work, worked = arbeiten, arbeitet, hat gearbeitet

state, people, in/in dative homes
live, lived = wohnen, wohnt, hat gewohnt

activity, people
laugh, laughed = lachen, lacht, hat gelacht
sing, sang = singen, singt, hat gesungen

event, beings
get up, got up = auf|stehen, steht auf, ist aufgestanden
wake up, woke up = auf|wachen, wacht auf, ist aufgewacht
come back, came back = zurück|kommen, kommt zurück, ist zurückgekommen
""")

# These verbs take a clause: "that ..." or "whether ...".
SAY = _read_verbs("""
state, people
say, said = sagen, sagt, hat gesagt
hope, hoped = hoffen, hofft, hat gehofft
believe, believed = glauben, glaubt, hat geglaubt
know, knew = wissen, weiß, hat gewusst
""")
(ASK,) = _read_verbs("state, people\nask, asked = fragen, fragt, hat gefragt")
(BE,) = _read_verbs("state, people\nbe, was = sein, ist, ist gewesen")
KNOW = SAY[-1]
