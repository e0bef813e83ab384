"""English to German with sentences from a small grammar: a quick start.

The sentences are short and use few words, but they contain what is difficult in
German: gender and case, endings of adjectives, verbs in two parts, and verbs at
the end. A small model learns all of it within minutes.
"""

import dataclasses
import functools

from keras_transformer.problem import Problem
from keras_transformer.problems.toy_language.clauses import SIMPLE_TENSES
from keras_transformer.problems.toy_language.clauses import ClauseWriter
from keras_transformer.problems.toy_language.grammar import Clause
from keras_transformer.problems.toy_language.grammar import english
from keras_transformer.problems.toy_language.grammar import german
from keras_transformer.problems.toy_language.lexicon import ASK
from keras_transformer.problems.toy_language.lexicon import KNOW
from keras_transformer.problems.toy_language.lexicon import SAY
from keras_transformer.registry import register_problem

NUM_PAIRS = {"train": 25_000, "dev": 500, "test": 500}
SENTENCE_LENGTHS = range(4, 19)  # in words

_CONJUNCTIONS = (("because", "weil"), ("although", "obwohl"), ("if", "wenn"))
_LINKS = ((" and", " und"), (", but", ", aber"))


@register_problem
class TranslateEndeToy(Problem):
    """English to German with a toy grammar; needs no download.

    No sentence occurs twice, in either language. Dev and test share all their
    words with training but no sentence.
    """

    vocab_size = 1500

    def text_pairs(self, split, tmp_dir):
        return iter(_corpus()[split])


class SentenceWriter(ClauseWriter):
    """Writes random sentences, the same ones for the same seed.

    >>> english_sentence, german_sentence = SentenceWriter(seed=0).sentence()
    """

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
            self.start_sentence()
            pair = self.choose(kinds)()
            if all(len(text.split()) in SENTENCE_LENGTHS for text in pair):
                return tuple(text[0].upper() + text[1:] for text in pair)

    def _statement(self):
        clause = self.clause()
        if clause.time and self.chance(0.5):
            clause = dataclasses.replace(clause, time_first=True)
        return f"{english(clause)}.", f"{german(clause)}."

    def _question(self):
        clause = self.clause(denied=0)
        why = ("why ", "warum ") if self.chance(0.3) else ("", "")
        return (
            f"{why[0]}{english(clause, asked=True)}?",
            f"{why[1]}{german(clause, verb='first')}?",
        )

    def _report(self):
        """Returns a sentence about what somebody says, knows or asks."""
        verb = self.choose((*SAY, ASK))
        denied = verb is KNOW and self.chance(0.5)
        # "Knows that" but "does not know whether" and "asks whether".
        is_open = denied or verb is ASK
        words = ("whether", "ob") if is_open else ("that", "dass")
        main = Clause(self.subject(verb), verb, negated=denied)
        content = self.clause()
        return (
            f"{english(main)} {words[0]} {english(content)}.",
            f"{german(main)}, {words[1]} {german(content, verb='last')}.",
        )

    def _description(self):
        """Returns a statement with a relative clause about one of its nouns."""
        clause = self.clause(SIMPLE_TENSES, denied=0, timed=0)
        if not clause.objects or self.chance(0.4):
            subject = self.describe(clause.subject, clause)
            clause = dataclasses.replace(clause, subject=subject)
        elif not clause.verb.complements[-1].german_preposition:
            *others, last = clause.objects
            objects = (*others, self.describe(last, clause))
            clause = dataclasses.replace(clause, objects=objects)
        return f"{english(clause)}.", f"{german(clause)}."

    def _condition(self):
        """Returns two clauses joined by "because", "although" or "if"."""
        words = self.choose(_CONJUNCTIONS)
        tense = "present" if words[0] == "if" else self.choose(SIMPLE_TENSES)
        main = self.clause((tense,), timed=0)
        other = self.clause((tense,), timed=0)
        texts = (
            f"{words[0]} {english(other)}",
            f"{words[1]} {german(other, verb='last')}",
        )
        if self.chance(0.5):
            return (
                f"{texts[0]}, {english(main)}.",
                f"{texts[1]}, {german(main, verb='first')}.",
            )
        return f"{english(main)} {texts[0]}.", f"{german(main)}, {texts[1]}."

    def _list(self):
        """Returns two main clauses joined by "and" or "but"."""
        words = self.choose(_LINKS)
        tense = self.choose(SIMPLE_TENSES)
        first = self.clause((tense,), timed=0)
        second = self.clause((tense,), timed=0)
        return (
            f"{english(first)}{words[0]} {english(second)}.",
            f"{german(first)}{words[1]} {german(second)}.",
        )


@functools.cache
def _corpus():
    """Returns a dictionary of split to its pairs."""
    pairs = _distinct_pairs()
    corpus = {"train": [next(pairs) for _ in range(NUM_PAIRS["train"])]}
    train_words = set().union(*map(_words, corpus["train"]))
    # No model can translate a word that training lacks.
    fitting = (pair for pair in pairs if _words(pair) <= train_words)
    for split in ("dev", "test"):
        corpus[split] = [next(fitting) for _ in range(NUM_PAIRS[split])]
    return corpus


def _distinct_pairs():
    """Yields pairs in which neither sentence has occurred before."""
    # A constant seed gives every user the same corpus.
    writer = SentenceWriter(seed=2017)
    seen = set()
    while True:
        pair = writer.sentence()
        if seen.isdisjoint(pair):
            seen.update(pair)
            yield pair


def _words(pair):
    return {word.strip(".,?") for text in pair for word in text.split()}
