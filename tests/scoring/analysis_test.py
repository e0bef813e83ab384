import collections
import random

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU

from keras_transformer.scoring import analysis
from keras_transformer.scoring.analysis import Words
from keras_transformer.scoring.analysis import f_measure
from keras_transformer.scoring.analysis import match_orders

GENERATOR = random.Random(0)
# The n-th letter has a frequency of 2 ** n, so letters fall into all groups.
FREQUENCIES = collections.Counter(
    {c: 2**n for n, c in enumerate("abcdefghijk")}
)
WORDS = Words("none")


def sentence(length):
    return " ".join(GENERATOR.choices("xabcdefghijk", k=length))


def damaged(texts, share):
    return [
        " ".join(
            "y" if GENERATOR.random() < share else word for word in text.split()
        )
        for text in texts
    ]


REFERENCES = [sentence(length) for length in range(50)]
SYSTEMS = damaged(REFERENCES, 0.2), damaged(REFERENCES, 0.5)


class ByLengthTest:
    GROUPS = analysis.score_by_length(REFERENCES, SYSTEMS, REFERENCES, WORDS)

    def test_groups_hold_every_sentence_once(self):
        titles = [group.title for group in self.GROUPS]
        assert titles[0] == "0 to 5" and titles[-1] == "41 or more"
        counts = [group.count for group in self.GROUPS]
        assert counts == [6, 5, 5, 5, 10, 10, 9]

    def test_scores_are_bleu_of_those_sentences(self):
        places = slice(6, 11)  # of 6 to 10 words
        for name, system in zip(("this", "other"), SYSTEMS):
            expected = sacrebleu.corpus_bleu(
                system[places],
                [REFERENCES[places]],
                tokenize="none",
                force=True,
            )
            score = getattr(self.GROUPS[1], name)
            assert score == pytest.approx(expected.score)

    def test_empty_groups_are_left_out(self):
        texts = ["a b c", "a " * 45]
        groups = analysis.score_by_length(texts, [texts, texts], texts, WORDS)
        assert [group.title for group in groups] == ["0 to 5", "41 or more"]


class ByFrequencyTest:
    GROUPS = analysis.score_by_frequency(
        SYSTEMS, REFERENCES, WORDS, FREQUENCIES
    )

    def test_groups_hold_every_word_of_the_references_once(self):
        assert [group.title for group in self.GROUPS] == [
            "0",
            "1 to 4",
            "5 to 19",
            "20 to 99",
            "100 to 999",
            "1,000 or more",
        ]
        num_words = sum(len(text.split()) for text in REFERENCES)
        assert sum(group.count for group in self.GROUPS) == num_words

    def test_the_worse_system_has_the_lower_scores(self):
        for group in self.GROUPS:
            assert 0 < group.other < group.this < 100

    def test_perfect_translations_score_100(self):
        groups = analysis.score_by_frequency(
            (REFERENCES, SYSTEMS[1]), REFERENCES, WORDS, FREQUENCIES
        )
        assert {group.this for group in groups} == {100}


class GreatestDifferencesTest:
    def test_differences_fall_and_are_those_of_chrf(self):
        better, worse = analysis.find_largest_differences(SYSTEMS, REFERENCES)
        assert better and len(better) <= analysis.NUM_SENTENCES
        sizes = [abs(s.difference) for s in better]
        assert sizes == sorted(sizes, reverse=True)
        for found in (*better, *worse):
            place = found.number - 1
            chrf = sacrebleu.sentence_chrf(
                SYSTEMS[0][place], [REFERENCES[place]]
            )
            assert found.this == pytest.approx(chrf.score)

    def test_exchanged_systems_exchange_the_lists(self):
        better, worse = analysis.find_largest_differences(SYSTEMS, REFERENCES)
        others = analysis.find_largest_differences(SYSTEMS[::-1], REFERENCES)
        numbers = [[s.number for s in found] for found in (worse, better)]
        assert numbers == [[s.number for s in found] for found in others]

    def test_equal_translations_are_not_shown(self):
        systems = (REFERENCES, REFERENCES)
        assert analysis.find_largest_differences(systems, REFERENCES) == (
            [],
            [],
        )


REFERENCE = "the cat sat on the mat and the dog sat too".split()
HYPOTHESES = [
    REFERENCE,
    "on the mat sat the cat".split(),
    "the the the the the".split(),
    "a bird".split(),
    [],
]


class WordsTest:
    @pytest.mark.parametrize(
        "tokenize, lowercase, expected",
        [
            ("13a", False, ["Is", "it", "good", "?"]),
            ("13a", True, ["is", "it", "good", "?"]),
            ("none", False, ["Is", "it", "good?"]),
            ("char", False, list("Isitgood?")),
        ],
    )
    def test_they_are_the_tokens_of_bleu(self, tokenize, lowercase, expected):
        words = Words(tokenize, lowercase)
        assert list(words.tokenize_all(["Is it good?"])) == [expected]

    def test_counts_are_over_all_texts(self):
        counts = Words().count(["a dog", "a cat, a dog"])
        assert counts == {"a": 3, "dog": 2, "cat": 1, ",": 1}


class FMeasureTest:
    def test_a_repeated_word_is_right_as_often_as_in_the_reference(self):
        # 3 of 5 words are right; the reference has 3 of them.
        score = f_measure([HYPOTHESES[2]], [REFERENCE], lambda w: w == "the")
        assert score == pytest.approx(100 * 2 * 3 / (5 + 3))

    def test_only_the_counted_words_matter(self):
        pairs = [["a", "dog"]], [["a", "cat"]]
        assert f_measure(*pairs, lambda word: word == "a") == 100
        assert f_measure(*pairs, lambda word: word != "a") == 0
        assert f_measure(*pairs, lambda word: False) == 0

    def test_sentences_do_not_share_their_words(self):
        assert f_measure([["a"], ["b"]], [["b"], ["a"]], lambda word: True) == 0


class MatchOrdersTest:
    @pytest.mark.parametrize("hypothesis", HYPOTHESES)
    def test_marked_words_are_as_many_as_bleu_counts(self, hypothesis):
        orders = match_orders(hypothesis, REFERENCE)
        bleu = BLEU(tokenize="none", force=True)
        texts = " ".join(hypothesis), " ".join(REFERENCE)
        counts = bleu.corpus_score([texts[0]], [[texts[1]]]).counts
        assert sum(order > 0 for order in orders) == counts[0]
        longest = max((n for n in range(1, 5) if counts[n - 1]), default=0)
        assert max(orders, default=0) == longest

    def test_no_ngram_matches_more_often_than_it_occurs(self):
        orders = match_orders(HYPOTHESES[2], REFERENCE)
        assert orders == [1, 1, 1, 0, 0]

    def test_a_marked_word_stands_in_such_an_ngram_of_the_reference(self):
        hypothesis = HYPOTHESES[1]
        ngrams = collections.defaultdict(set)
        for n in range(1, 5):
            for start in range(len(REFERENCE) - n + 1):
                ngrams[n].add(tuple(REFERENCE[start : start + n]))
        for place, order in enumerate(match_orders(hypothesis, REFERENCE)):
            around = [
                tuple(hypothesis[start : start + order])
                for start in range(max(0, place - order + 1), place + 1)
            ]
            assert ngrams[order] & set(around)
