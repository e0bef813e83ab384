"""Tests of the clauses of the toy language in English and German."""

import pytest
from toy_text import grammar
from toy_text import lexicon
from toy_text.grammar import CAN
from toy_text.grammar import WANT
from toy_text.grammar import Clause
from toy_text.grammar import english
from toy_text.grammar import german
from toy_text.lexicon import NO
from toy_text.lexicon import SOME
from toy_text.lexicon import THE
from toy_text.lexicon import A
from toy_text.lexicon import NounPhrase
from toy_text.lexicon import RelativePronoun

NOUNS = {n.english: n for group in lexicon.NOUNS.values() for n in group}
ADJECTIVES = {a.english: a for a in lexicon.ADJECTIVES}
VERBS = {verb.infinitive: verb for verb in lexicon.VERBS}
MY, HIS, HER, OUR = lexicon.OWNERS
ME, US = lexicon.FIRST_PERSON
HIM, HER_OBJECT, THEM = lexicon.THIRD_PERSON


def phrase(noun, determiner=THE, adjective=None, **more):
    return NounPhrase(
        NOUNS[noun], determiner, adjective=ADJECTIVES.get(adjective), **more
    )


def clause(subject, infinitive, *objects, **more):
    return Clause(subject, VERBS[infinitive], objects, **more)


def being(subject, adjective, **more):
    predicate = ADJECTIVES[adjective]
    return Clause(subject, lexicon.BE, predicate=predicate, **more)


def who(noun, plural=False):
    return RelativePronoun(NOUNS[noun], plural)


MAN, WOMAN, CHILD = phrase("man"), phrase("woman"), phrase("child")
TODAY = ("today", "heute")
YESTERDAY = ("yesterday", "gestern")
TOMORROW = ("tomorrow", "morgen")

STATEMENTS = [
    (
        clause(WOMAN, "anrufen", MAN, tense="now", time=TODAY, time_first=True),
        "today the woman is calling the man",
        "heute ruft die Frau den Mann an",
    ),
    (
        clause(MAN, "kaufen", phrase("coat", A, "old"), tense="past"),
        "the man bought an old coat",
        "der Mann hat einen alten Mantel gekauft",
    ),
    (
        clause(CHILD, "laufen", phrase("house"), tense="past"),
        "the child ran into the house",
        "das Kind ist ins Haus gelaufen",
    ),
    (
        clause(CHILD, "spielen", phrase("garden", THE, "small")),
        "the child plays in the small garden",
        "das Kind spielt im kleinen Garten",
    ),
    (
        clause(
            phrase("friend", OUR, plural=True),
            "helfen",
            phrase("neighbour", HER, "poor"),
        ),
        "our friends help her poor neighbour",
        "unsere Freunde helfen ihrem armen Nachbarn",
    ),
    (
        clause(ME, "schicken", phrase("aunt", MY), phrase("egg", A, "fresh")),
        "I send my aunt a fresh egg",
        "ich schicke meiner Tante ein frisches Ei",
    ),
    (
        clause(US, "sehen", phrase("bird", SOME, "black", plural=True)),
        "we see black birds",
        "wir sehen schwarze Vögel",
    ),
    (
        clause(
            HIM,
            "brauchen",
            phrase("key", NO, "new", plural=True),
            negated=True,
        ),
        "he does not need any new keys",
        "er braucht keine neuen Schlüssel",
    ),
    (
        clause(THEM, "einschalten", phrase("lamp"), negated=True, modal=CAN),
        "they cannot turn on the lamp",
        "sie können die Lampe nicht einschalten",
    ),
    (
        clause(
            phrase("boy"),
            "aufpassen",
            phrase("cow", plural=True),
            tense="past",
            negated=True,
        ),
        "the boy did not look after the cows",
        "der Junge hat nicht auf die Kühe aufgepasst",
    ),
    (
        clause(MAN, "abholen", ME, tense="future", time=TOMORROW),
        "the man will pick me up tomorrow",
        "der Mann holt mich morgen ab",
    ),
    (
        clause(
            WOMAN,
            "helfen",
            ME,
            tense="past",
            time=YESTERDAY,
            time_first=True,
        ),
        "yesterday the woman helped me",
        "gestern hat mir die Frau geholfen",
    ),
    (
        clause(HIM, "wegwerfen", phrase("hat", HIS), modal=WANT),
        "he wants to throw away his hat",
        "er will seinen Hut wegwerfen",
    ),
    (
        clause(phrase("student", plural=True), "träumen", phrase("castle")),
        "the students dream of the castle",
        "die Studenten träumen vom Schloss",
    ),
]


class StatementTest:
    @pytest.mark.parametrize("statement, in_english, in_german", STATEMENTS)
    def test_comes_out_as_checked_by_hand(
        self, statement, in_english, in_german
    ):
        assert english(statement) == in_english
        assert german(statement) == in_german


class OrderTest:
    def test_a_dependent_clause_puts_the_verb_last_and_its_prefix_back(self):
        close = clause(HIM, "zumachen", phrase("door"))
        assert german(close, verb="last") == "er die Tür zumacht"

    def test_a_dependent_clause_puts_the_perfect_auxiliary_last(self):
        close = clause(HIM, "zumachen", phrase("door"), tense="past")
        assert german(close, verb="last") == "er die Tür zugemacht hat"

    def test_a_question_puts_the_verb_first_and_english_asks_with_do(self):
        close = clause(WOMAN, "zumachen", phrase("door"))
        assert english(close, asked=True) == "does the woman close the door"
        assert german(close, verb="first") == "macht die Frau die Tür zu"

    def test_being_needs_no_do(self):
        tired = being(phrase("dog", plural=True), "tired", negated=True)
        assert english(tired) == "the dogs are not tired"
        assert english(tired, asked=True) == "are the dogs not tired"
        assert german(tired) == "die Hunde sind nicht müde"


class RelativeClauseTest:
    def test_about_a_subject_stands_right_behind_it(self):
        relative = clause(who("man"), "kaufen", phrase("car"), tense="past")
        tired = being(phrase("man", relative=relative), "tired")
        assert english(tired) == "the man who bought the car is tired"
        assert german(tired) == "der Mann, der das Auto gekauft hat, ist müde"

    def test_about_an_object_stands_behind_the_whole_german_clause(self):
        relative = clause(US, "helfen", who("boy"), tense="past")
        call = clause(HIM, "anrufen", phrase("boy", relative=relative))
        assert english(call) == "he calls the boy whom we helped"
        assert german(call) == "er ruft den Jungen an, dem wir geholfen haben"

    def test_leaves_its_preposition_behind_in_english_only(self):
        relative = clause(HIM, "wohnen", who("house"))
        big = being(phrase("house", relative=relative), "big")
        assert english(big) == "the house that he lives in is big"
        assert german(big) == "das Haus, in dem er wohnt, ist groß"


class EnglishFormsTest:
    @pytest.mark.parametrize(
        "verb, third_person, gerund",
        [
            ("try", "tries", "trying"),
            ("play", "plays", "playing"),
            ("go", "goes", "going"),
            ("wash", "washes", "washing"),
            ("write", "writes", "writing"),
            ("run", "runs", "running"),
            ("open", "opens", "opening"),
            ("visit", "visits", "visiting"),
            ("repair", "repairs", "repairing"),
            ("throw", "throws", "throwing"),
        ],
    )
    def test_are_spelled_right(self, verb, third_person, gerund):
        assert grammar._third_person(verb) == third_person
        assert grammar._gerund(verb) == gerund

    def test_the_past_never_looks_like_the_present(self):
        for verb in lexicon.VERBS:
            assert verb.past != verb.english
