"""Generates random clauses of the toy language that make sense."""

import dataclasses
import random

from keras_transformer.problems.toy_language.grammar import MODALS
from keras_transformer.problems.toy_language.grammar import MUST
from keras_transformer.problems.toy_language.grammar import Clause
from keras_transformer.problems.toy_language.lexicon import ADJECTIVES
from keras_transformer.problems.toy_language.lexicon import BE
from keras_transformer.problems.toy_language.lexicon import MOODS
from keras_transformer.problems.toy_language.lexicon import NOUNS
from keras_transformer.problems.toy_language.lexicon import VERBS
from keras_transformer.problems.toy_language.phrases import FIRST_PERSON
from keras_transformer.problems.toy_language.phrases import NO
from keras_transformer.problems.toy_language.phrases import OWNERS
from keras_transformer.problems.toy_language.phrases import SOME
from keras_transformer.problems.toy_language.phrases import THE
from keras_transformer.problems.toy_language.phrases import THIRD_PERSON
from keras_transformer.problems.toy_language.phrases import THIS
from keras_transformer.problems.toy_language.phrases import A
from keras_transformer.problems.toy_language.phrases import NounPhrase
from keras_transformer.problems.toy_language.phrases import Pronoun
from keras_transformer.problems.toy_language.phrases import RelativePronoun

ALL_TENSES = ("present", "now", "past", "future")
SIMPLE_TENSES = ("present", "past")

# An entry that occurs twice in a tuple is twice as likely.
_KNOWN = (*6 * (THE,), *OWNERS, THIS)
_ANY = (*_KNOWN, *4 * (A,))
_PRONOUNS = 2 * FIRST_PERSON + THIRD_PERSON
_TENSES = {
    "activity": ("present", "now", "past", "past", "future"),
    "event": ("present", "past", "past", "future"),
    "state": ("present", "past"),
}
_TODAY = ("today", "heute")
_TIMES = {
    "present": (
        ("every day", "jeden Tag"),
        ("sometimes", "manchmal"),
        ("in summer", "im Sommer"),
    ),
    "now": (_TODAY, ("now", "jetzt"), ("at the moment", "im Moment")),
    "past": (
        _TODAY,
        ("yesterday", "gestern"),
        ("last week", "letzte Woche"),
        ("this morning", "heute Morgen"),
        ("on Monday", "am Montag"),
    ),
    "future": (
        ("tomorrow", "morgen"),
        ("next week", "nächste Woche"),
        ("this evening", "heute Abend"),
    ),
    "modal": (_TODAY, ("now", "jetzt"), ("tomorrow", "morgen")),
}


class ClauseWriter:
    """Writes random clauses, the same ones for the same seed.

    No noun is repeated until `start_sentence` is called.
    """

    def __init__(self, seed):
        # Python promises to keep the sequence of this method only.
        self._random = random.Random(seed).random
        self._used = set()

    def chance(self, probability):
        """Returns True with a given probability."""
        return self._random() < probability

    def choose(self, options):
        """Returns one of the options, each with equal probability."""
        return options[int(self._random() * len(options))]

    def start_sentence(self):
        """Makes all nouns available again."""
        self._used.clear()

    def clause(self, tenses=ALL_TENSES, denied=0.2, timed=0.5):
        """Returns a clause in one of the tenses.

        `denied` is the probability of "not", `timed` that of a time where the
        tense needs none.
        """
        if self.chance(0.12):
            group = self.choose(("people", "animals", "goods", "places"))
            nouns = NOUNS[group]
            subject = self._noun_phrase(nouns, _KNOWN, described=0)
            if group == "people" and self.chance(0.5):
                subject = self.choose(_PRONOUNS)
            return self._being(subject, tenses, denied)
        verb = self.choose(VERBS)
        return self._acting(self.subject(verb), verb, tenses, denied, timed)

    def subject(self, verb):
        """Returns a subject that suits a verb."""
        if _is_for_people(verb) and self.chance(0.35):
            return self.choose(_PRONOUNS)
        return self._noun_phrase(verb.subjects)

    def describe(self, phrase, clause):
        """Returns a phrase with a relative clause, unless it is a pronoun."""
        if isinstance(phrase, Pronoun):
            return phrase
        if phrase.determiner not in (A, SOME):
            phrase = dataclasses.replace(phrase, determiner=THE)
        who = RelativePronoun(phrase.noun, phrase.plural)
        tenses = ("past",) if clause.tense == "past" else SIMPLE_TENSES
        acts = [v for v in VERBS if phrase.noun in v.subjects]
        says_how = phrase.adjective or clause.predicate
        if not says_how and self.chance(0.3):
            relative = self._being(who, tenses)
        elif acts and self.chance(0.5):
            relative = self._acting(who, self.choose(acts), tenses)
        else:
            relative = self._undergoing(who, tenses)
        return dataclasses.replace(phrase, relative=relative)

    def _being(self, subject, tenses, denied=0):
        """Returns a clause that says how somebody or something is."""
        is_pronoun = isinstance(subject, Pronoun)
        suited = _suited("adult" if is_pronoun else subject.noun.kind)
        moods = [a for a in suited if a in MOODS]
        return Clause(
            subject,
            BE,
            predicate=self.choose(moods or suited),
            tense=self.choose([t for t in SIMPLE_TENSES if t in tenses]),
            negated=self.chance(denied),
        )

    def _acting(self, subject, verb, tenses, denied=0, timed=0):
        """Returns a clause that says what somebody does."""
        tense = self.choose([t for t in _TENSES[verb.aspect] if t in tenses])
        negated = self.chance(denied)
        modal = None
        if tense == "present" and verb.aspect != "state" and self.chance(0.4):
            # "Must not" is "darf nicht", another verb in German.
            modal = self.choose([m for m in MODALS if m != MUST or not negated])
        # "Not every day" negates the time and has another place in German.
        is_habit = tense == "present" and not modal
        if verb.aspect == "state" or (is_habit and negated):
            timed = 0
        elif tense in ("now", "future"):
            timed = 1
        times = _TIMES["modal" if modal else tense]
        return Clause(
            subject,
            verb,
            self._objects(subject, verb, negated),
            tense=tense,
            modal=modal,
            negated=negated,
            time=self.choose(times) if self.chance(timed) else None,
        )

    def _undergoing(self, who, tenses):
        """Returns a relative clause in which `who` is the object."""
        verbs = [v for v in VERBS if _takes(v, who.noun)]
        if who.noun in NOUNS["beings"]:
            # "Die Frau, die das Kind sieht" is ambiguous: who sees whom?
            verb = self.choose([v for v in verbs if _is_for_people(v)])
            subject = self.choose([p for p in _PRONOUNS if not _is_sie(p)])
        else:
            verb = self.choose(verbs)
            subject = self.subject(verb)
        clause = self._acting(subject, verb, tenses)
        return dataclasses.replace(clause, objects=(*clause.objects[:-1], who))

    def _objects(self, subject, verb, negated):
        """Returns one object for each complement; the last may be "kein"."""
        if not verb.complements:
            return ()
        *others, last = verb.complements
        objects = [self._object(subject, each, _KNOWN) for each in others]
        phrase = self._object(subject, last, _ANY)
        is_any = getattr(phrase, "determiner", None) in (A, SOME)
        if negated and is_any and not last.german_preposition:
            phrase = dataclasses.replace(phrase, determiner=NO)
        return (*objects, phrase)

    def _object(self, subject, complement, determiners):
        case, nouns = complement.case, complement.nouns
        if nouns[0].kind == "adult" and self.chance(0.25):
            others = THIRD_PERSON if subject in FIRST_PERSON else FIRST_PERSON
            return self.choose([p for p in others if not _is_sie(p, case)])
        return self._noun_phrase(nouns, determiners)

    def _noun_phrase(self, nouns, determiners=_ANY, described=0.35):
        """Returns a noun phrase; `described` is the chance of an adjective."""
        noun = self.choose([n for n in nouns if n not in self._used] or nouns)
        self._used.add(noun)
        determiner = self.choose(determiners)
        plural = self.chance(0.25)
        if noun in NOUNS["strangers"] and determiner in OWNERS:
            determiner = THE  # "mein Mann" means "my husband"
        if determiner is A and plural:
            determiner = SOME
        adjective = None
        if self.chance(described):
            adjective = self.choose(_suited(noun.kind))
        return NounPhrase(noun, determiner, plural, adjective)


def _suited(kind):
    return [a for a in ADJECTIVES if kind in a.kinds.split()]


def _takes(verb, noun):
    """Returns whether a noun may be the last object of a verb."""
    return bool(verb.complements) and noun in verb.complements[-1].nouns


def _is_for_people(verb):
    return verb.subjects[0].kind == "adult"


def _is_sie(pronoun, case="nominative"):
    """Returns whether a pronoun is "sie", which has five English meanings."""
    return pronoun.german(case) == "sie"
