import collections

import pytest
from sacrebleu.metrics import BLEU

from keras_transformer.scoring.words import Words
from keras_transformer.scoring.words import f_measure
from keras_transformer.scoring.words import match_orders

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
