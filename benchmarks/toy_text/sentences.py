"""Generates random sentences of the toy language that make sense."""

import dataclasses
import random

from toy_text import lexicon
from toy_text.grammar import MODALS
from toy_text.grammar import MUST
from toy_text.grammar import Clause
from toy_text.grammar import english
from toy_text.grammar import german
from toy_text.lexicon import NOUNS
from toy_text.lexicon import VERBS

SENTENCE_LENGTHS = range(4, 19)  # in words
ALL_TENSES = ("present", "now", "past", "future")
SIMPLE_TENSES = ("present", "past")

# An entry that occurs twice in a tuple is twice as likely.
_KNOWN = (*6 * (lexicon.THE,), *lexicon.OWNERS, lexicon.THIS)
_INDEFINITE = (lexicon.A, lexicon.SOME)
_ANY = (*_KNOWN, *4 * (lexicon.A,))
_PRONOUNS = 2 * lexicon.FIRST_PERSON + lexicon.THIRD_PERSON
_TENSES = {
    "activity": ("present", "now", "past", "past", "future"),
    "event": ("present", "past", "past", "future"),
    "state": ("present", "past"),
}
_CONJUNCTIONS = (("because", "weil"), ("although", "obwohl"), ("if", "wenn"))
_LINKS = ((" and", " und"), (", but", ", aber"))
# Pairs of an English and a German time, by the tense of their clause.
_TIMES = {
    tense: [(english, german) for (english,), (german,) in rows]
    for tense, rows in lexicon.read_table("times.txt")
}


class SentenceWriter:
    """Writes random sentences, the same ones for the same seed.

    No noun is repeated in a sentence.

    >>> english_sentence, german_sentence = SentenceWriter(seed=0).sentence()
    """

    def __init__(self, seed):
        # Python promises to keep the sequence of this method only.
        self._random = random.Random(seed).random
        self._used = set()

    def sentence(self):
        """Returns a sentence in English and in German."""
        kinds = (
            *4 * (self._statement,),
            self._question,
            self._report,
            self._description,
            self._condition,
            self._list,
        )
        # Sentences of other lengths are drawn again.
        while True:
            self._used.clear()
            pair = self._choose(kinds)()
            if all(len(text.split()) in SENTENCE_LENGTHS for text in pair):
                return tuple(text[0].upper() + text[1:] for text in pair)

    def _statement(self):
        clause = self._clause()
        if clause.time and self._chance(0.5):
            clause = dataclasses.replace(clause, time_first=True)
        return f"{english(clause)}.", f"{german(clause)}."

    def _question(self):
        clause = self._clause(denied=0)
        why = ("why ", "warum ") if self._chance(0.3) else ("", "")
        return (
            f"{why[0]}{english(clause, asked=True)}?",
            f"{why[1]}{german(clause, verb='first')}?",
        )

    def _report(self):
        """Returns a sentence about what somebody says, knows or asks."""
        verb = self._choose((*lexicon.SAY, lexicon.ASK))
        denied = verb is lexicon.KNOW and self._chance(0.5)
        # "Knows that" but "does not know whether" and "asks whether".
        is_open = denied or verb is lexicon.ASK
        words = ("whether", "ob") if is_open else ("that", "dass")
        main = Clause(self._subject(verb), verb, negated=denied)
        content = self._clause()
        return (
            f"{english(main)} {words[0]} {english(content)}.",
            f"{german(main)}, {words[1]} {german(content, verb='last')}.",
        )

    def _description(self):
        """Returns a statement with a relative clause about one of its nouns."""
        clause = self._clause(SIMPLE_TENSES, denied=0, timed=0)
        if not clause.objects or self._chance(0.4):
            subject = self._describe(clause.subject, clause)
            clause = dataclasses.replace(clause, subject=subject)
        elif not clause.verb.complements[-1].german_preposition:
            *others, last = clause.objects
            objects = (*others, self._describe(last, clause))
            clause = dataclasses.replace(clause, objects=objects)
        return f"{english(clause)}.", f"{german(clause)}."

    def _condition(self):
        """Returns two clauses joined by "because", "although" or "if"."""
        words = self._choose(_CONJUNCTIONS)
        tense = "present" if words[0] == "if" else self._choose(SIMPLE_TENSES)
        main = self._clause((tense,), timed=0)
        other = self._clause((tense,), timed=0)
        texts = (
            f"{words[0]} {english(other)}",
            f"{words[1]} {german(other, verb='last')}",
        )
        if self._chance(0.5):
            return (
                f"{texts[0]}, {english(main)}.",
                f"{texts[1]}, {german(main, verb='first')}.",
            )
        return f"{english(main)} {texts[0]}.", f"{german(main)}, {texts[1]}."

    def _list(self):
        """Returns two main clauses joined by "and" or "but"."""
        words = self._choose(_LINKS)
        tense = self._choose(SIMPLE_TENSES)
        first = self._clause((tense,), timed=0)
        second = self._clause((tense,), timed=0)
        return (
            f"{english(first)}{words[0]} {english(second)}.",
            f"{german(first)}{words[1]} {german(second)}.",
        )

    def _chance(self, probability):
        """Returns True with a given probability."""
        return self._random() < probability

    def _choose(self, options):
        """Returns one of the options, each with equal probability."""
        return options[int(self._random() * len(options))]

    def _clause(self, tenses=ALL_TENSES, denied=0.2, timed=0.5):
        """Returns a clause in one of the tenses."""
        # `denied` is the probability of "not", `timed` of an unneeded time.
        if self._chance(0.12):
            group = self._choose(("people", "animals", "goods", "places"))
            nouns = NOUNS[group]
            subject = self._noun_phrase(nouns, _KNOWN, described=0)
            if group == "people" and self._chance(0.5):
                subject = self._choose(_PRONOUNS)
            return self._being(subject, tenses, denied)
        verb = self._choose(VERBS)
        return self._acting(self._subject(verb), verb, tenses, denied, timed)

    def _subject(self, verb):
        """Returns a subject that suits a verb."""
        if _is_for_people(verb) and self._chance(0.35):
            return self._choose(_PRONOUNS)
        return self._noun_phrase(verb.subjects)

    def _describe(self, phrase, clause):
        """Returns a phrase with a relative clause, unless it is a pronoun."""
        if isinstance(phrase, lexicon.Pronoun):
            return phrase
        if phrase.determiner not in _INDEFINITE:
            phrase = dataclasses.replace(phrase, determiner=lexicon.THE)
        who = lexicon.RelativePronoun(phrase.noun, phrase.plural)
        tenses = ("past",) if clause.tense == "past" else SIMPLE_TENSES
        acts = [v for v in VERBS if phrase.noun in v.subjects]
        says_how = phrase.adjective or clause.predicate
        if not says_how and self._chance(0.3):
            relative = self._being(who, tenses)
        elif acts and self._chance(0.5):
            relative = self._acting(who, self._choose(acts), tenses)
        else:
            relative = self._undergoing(who, tenses)
        return dataclasses.replace(phrase, relative=relative)

    def _being(self, subject, tenses, denied=0):
        """Returns a clause that says how somebody or something is."""
        is_pronoun = isinstance(subject, lexicon.Pronoun)
        suited = _find_suited("adult" if is_pronoun else subject.noun.kind)
        moods = [a for a in suited if a in lexicon.MOODS]
        return Clause(
            subject,
            lexicon.BE,
            predicate=self._choose(moods or suited),
            tense=self._choose([t for t in SIMPLE_TENSES if t in tenses]),
            negated=self._chance(denied),
        )

    def _acting(self, subject, verb, tenses, denied=0, timed=0):
        """Returns a clause that says what somebody does."""
        tense = self._choose([t for t in _TENSES[verb.aspect] if t in tenses])
        negated = self._chance(denied)
        modal = None
        if tense == "present" and verb.aspect != "state" and self._chance(0.4):
            # "Must not" is "darf nicht", another verb in German.
            modal = self._choose(
                [m for m in MODALS if m != MUST or not negated]
            )
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
            time=self._choose(times) if self._chance(timed) else None,
        )

    def _undergoing(self, who, tenses):
        """Returns a relative clause in which `who` is the object."""
        verbs = [
            v
            for v in VERBS
            if v.complements and who.noun in v.complements[-1].nouns
        ]
        if who.noun in NOUNS["beings"]:
            # "Die Frau, die das Kind sieht" is ambiguous: who sees whom?
            verb = self._choose([v for v in verbs if _is_for_people(v)])
            subject = self._choose([p for p in _PRONOUNS if not _is_sie(p)])
        else:
            verb = self._choose(verbs)
            subject = self._subject(verb)
        clause = self._acting(subject, verb, tenses)
        return dataclasses.replace(clause, objects=(*clause.objects[:-1], who))

    def _objects(self, subject, verb, negated):
        """Returns one object for each complement; the last may be "kein"."""
        if not verb.complements:
            return ()
        *others, last = verb.complements
        objects = [self._object(subject, each, _KNOWN) for each in others]
        phrase = self._object(subject, last, _ANY)
        is_any = getattr(phrase, "determiner", None) in _INDEFINITE
        if negated and is_any and not last.german_preposition:
            phrase = dataclasses.replace(phrase, determiner=lexicon.NO)
        return (*objects, phrase)

    def _object(self, subject, complement, determiners):
        case, nouns = complement.case, complement.nouns
        if nouns[0].kind == "adult" and self._chance(0.25):
            others = lexicon.FIRST_PERSON
            if subject in others:
                others = lexicon.THIRD_PERSON
            return self._choose([p for p in others if not _is_sie(p, case)])
        return self._noun_phrase(nouns, determiners)

    def _noun_phrase(self, nouns, determiners=_ANY, described=0.35):
        """Returns a noun phrase; `described` is the chance of an adjective."""
        noun = self._choose([n for n in nouns if n not in self._used] or nouns)
        self._used.add(noun)
        determiner = self._choose(determiners)
        plural = self._chance(0.25)
        if noun in NOUNS["strangers"] and determiner in lexicon.OWNERS:
            determiner = lexicon.THE  # "mein Mann" means "my husband"
        if determiner is lexicon.A and plural:
            determiner = lexicon.SOME
        adjective = None
        if self._chance(described):
            adjective = self._choose(_find_suited(noun.kind))
        return lexicon.NounPhrase(noun, determiner, plural, adjective)


def _find_suited(kind):
    return [a for a in lexicon.ADJECTIVES if kind in a.kinds.split()]


def _is_for_people(verb):
    return verb.subjects[0].kind == "adult"


def _is_sie(pronoun, case="nominative"):
    """Returns whether a pronoun is "sie", which has five English meanings."""
    return pronoun.german(case) == "sie"
