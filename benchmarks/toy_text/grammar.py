"""The grammar of the toy language pair: says one clause in two languages.

A `Clause` says who does what, how and when; `english` and `german` put it into
words. English keeps the order subject, verb, objects, and needs "do" in
questions and negations. In German the verb moves:

    second in a statement:          Heute *ruft* die Frau den Mann *an*.
    first in a question:            *Hat* die Frau den Mann *angerufen*?
    last in a subordinate clause:   Ich weiß, dass die Frau den Mann *anruft*.
"""

import dataclasses
import re

from toy_text import lexicon


def _by_person(forms):
    return dict(zip(("I", "he", "they"), forms.split()))


_BE = {"present": _by_person("am is are"), "past": _by_person("was was were")}
_DO = {"present": _by_person("do does do"), "past": _by_person("did did did")}
_SEIN = {
    "present": _by_person("bin ist sind"),
    "past": _by_person("war war waren"),
}
_PERFECT = {"hat": _by_person("habe hat haben"), "ist": _SEIN["present"]}
_MERGED = {"in dem ": "im ", "in das ": "ins ", "von dem ": "vom "}

# Positions of German phrases, from the first to the last.
_FRONT, _PRONOUN, _SUBJECT, _TIME, _OBJECT, _NOT, _LAST = range(7)


@dataclasses.dataclass(frozen=True)
class Modal:
    """A verb that takes the infinitive of another verb."""

    english: str
    stem: str
    third: str


CAN = Modal("can", "können", "kann")
MUST = Modal("must", "müssen", "muss")
SHOULD = Modal("should", "sollten", "sollte")
WANT = Modal("want to", "wollen", "will")
MODALS = (CAN, MUST, SHOULD, WANT)


@dataclasses.dataclass(frozen=True)
class Clause:
    """Who does what, how and when; or, with a predicate, who is what.

    Tense "now" is the English progressive and "future" the one with "will".
    German expresses both in the present tense, so they need a time.
    """

    subject: lexicon.NounPhrase | lexicon.Pronoun | lexicon.RelativePronoun
    verb: lexicon.Verb
    objects: tuple = ()  # one for each of the verb's complements
    predicate: lexicon.Adjective | None = None  # only with the verb BE
    tense: str = "present"  # or "now", "past", "future"
    modal: Modal | None = None  # only in the present
    negated: bool = False
    time: tuple | None = None  # English and German
    time_first: bool = False  # in statements


def english(clause, asked=False):
    """Returns a clause in English, as a statement or as a question."""
    auxiliary, main = _english_verb(clause, asked)
    subject = _english_phrase(clause.subject, "nominative")
    negation = "not" if clause.negated else ""
    words = [subject, auxiliary, negation, main]
    if asked:
        words = [auxiliary, subject, negation, main]
    words += _english_objects(clause)
    if clause.time:
        words.insert(0 if clause.time_first else len(words), clause.time[0])
    # A relative pronoun opens its clause even if it is the object.
    for phrase in clause.objects:
        if isinstance(phrase, lexicon.RelativePronoun):
            words.insert(0, phrase.english("accusative"))
    return lexicon.join(*words).replace("can not", "cannot")


def _english_verb(clause, asked):
    """Returns the auxiliary, which "not" follows, or "", and the main verb."""
    person, tense = clause.subject.person, clause.tense
    if clause.predicate:
        return _BE[tense][person], clause.predicate.english
    base = clause.verb.english
    if clause.modal is WANT:
        base = f"{WANT.english} {base}"
    elif clause.modal:
        return clause.modal.english, base
    if tense == "future":
        return "will", base
    if tense == "now":
        return _BE["present"][person], _gerund(base)
    if clause.negated or asked:
        return _DO[tense][person], base
    if tense == "past":
        return "", clause.verb.past
    return "", _third_person(base) if person == "he" else base


def _third_person(phrase):
    verb, _, rest = phrase.partition(" ")
    if re.search("[^aeiou]y$", verb):
        verb = verb[:-1] + "ie"
    elif re.search("(sh|ch|o)$", verb):
        verb += "e"
    return lexicon.join(verb + "s", rest)


def _gerund(verb):
    # A short vowel doubles the consonant: "run", "running".
    if re.search("^[^aeiou]+[aeiou][^aeiouwxy]$", verb):
        verb += verb[-1]
    return verb.removesuffix("e") + "ing"


def _english_phrase(phrase, case):
    text = phrase.english(case)
    relative = getattr(phrase, "relative", None)
    return f"{text} {english(relative)}" if relative else text


def _english_objects(clause):
    """Returns the objects; a relative pronoun leaves its preposition here."""
    words = []
    for complement, phrase in zip(clause.verb.complements, clause.objects):
        words.append(complement.english_preposition)
        if not isinstance(phrase, lexicon.RelativePronoun):
            words.append(_english_phrase(phrase, complement.case))
    # "Picks up the man", but "picks him up".
    has_pronoun = any(
        isinstance(phrase, lexicon.Pronoun) for phrase in clause.objects
    )
    words.insert(len(words) if has_pronoun else 0, clause.verb.particle)
    return words


def german(clause, verb="second"):
    """Returns a clause in German; `verb` may also be "first" or "last"."""
    finite, closing = _german_verb(clause)
    words = _german_phrases(clause, verb)
    if verb == "last":
        words.append(closing + finite)
    else:
        words.insert(0 if verb == "first" else 1, finite)
        words.append(closing.strip())
    words += [_german_relative(phrase) for phrase in clause.objects]
    return lexicon.join(*words).replace(" ,", ",")


def _german_verb(clause):
    """Returns the finite verb and the end of the clause."""
    # The closing part is a prefix of the next verb, or a word and a space.
    person, verb = clause.subject.person, clause.verb
    if clause.predicate:
        return _SEIN[clause.tense][person], ""
    if clause.modal:
        return _german_present(clause.modal, person), verb.infinitive + " "
    if clause.tense == "past":
        return _PERFECT[verb.auxiliary][person], verb.participle + " "
    return _german_present(verb, person), verb.prefix


def _german_present(verb, person):
    if person == "they":
        return verb.stem
    # "Er kann" and "ich kann", but "er ruft" and "ich rufe".
    if person == "he" or not verb.third.endswith("t"):
        return verb.third
    return verb.stem.removesuffix("n")


def _german_phrases(clause, verb):
    """Returns everything but the verbs, in order."""
    subject_place, time_place = _place(clause.subject, _SUBJECT), _TIME
    if verb == "second" and clause.time_first:
        time_place = _FRONT
    elif verb == "second":
        subject_place = _FRONT
    subject = clause.subject.german("nominative")
    relative = _german_relative(clause.subject)
    if relative:
        subject += f"{relative},"
    phrases = [(subject_place, subject)]
    if clause.time:
        phrases.append((time_place, clause.time[1]))
    phrases += _german_objects(clause)
    # "Kein" already negates the clause.
    if clause.negated and lexicon.NO not in map(_determiner, clause.objects):
        phrases.append((_NOT, "nicht"))
    if clause.predicate:
        phrases.append((_LAST, clause.predicate.german))
    return [text for _, text in sorted(phrases, key=lambda phrase: phrase[0])]


def _german_objects(clause):
    """Yields the position and the text of each object."""
    for complement, phrase in zip(clause.verb.complements, clause.objects):
        text = phrase.german(complement.case)
        if not complement.german_preposition:
            yield _place(phrase, _OBJECT), text
            continue
        text = f"{complement.german_preposition} {text}"
        # Only the article contracts: "im Haus", but "in diesem Haus".
        if _determiner(phrase) is lexicon.THE:
            for apart, merged in _MERGED.items():
                text = text.replace(apart, merged)
        yield _place(phrase, _LAST), text


def _place(phrase, place_of_noun):
    if isinstance(phrase, lexicon.RelativePronoun):
        return _FRONT
    is_light = isinstance(phrase, lexicon.Pronoun) and place_of_noun != _LAST
    return _PRONOUN if is_light else place_of_noun


def _german_relative(phrase):
    relative = getattr(phrase, "relative", None)
    return f", {german(relative, verb='last')}" if relative else ""


def _determiner(phrase):
    return getattr(phrase, "determiner", None)
