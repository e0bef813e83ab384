"""Tests of the scores of each corpus of a split."""

import dataclasses

from keras_transformer.decoding.test_sets import Texts
from keras_transformer.scoring.report import scores_by_corpus
from keras_transformer.scoring.translations import bleu_report

REFERENCES = ["a small red house by the sea", "the old dog sleeps in the sun"]
REFERENCES += ["ein kleines rotes Haus am Meer", "der alte Hund schläft"]
CORPORA = [
    {"name": "a.tsv", "pairs": 2, "weight": 1},
    {"name": "b.tsv", "pairs": 2, "weight": 1, "tag": "de"},
]
TEXTS = Texts("test", "here", ["x"] * 4, REFERENCES, {}, corpora=CORPORA)


def cells(table):
    return [line.split() for line in table if line]


class ScoresByCorpusTest:
    def test_each_corpus_is_scored_by_itself(self):
        outputs = [*REFERENCES[:2], "ein rotes Haus am Meer", "der Hund"]
        table = scores_by_corpus(TEXTS, outputs, [], bleu_report)
        head, first, second = cells(table)
        assert head == ["corpus", "sentences", "bleu", "chrf"]
        assert first == ["a.tsv", "2", "100.00", "100.00"]
        scores = bleu_report(outputs[2:], REFERENCES[2:]).scores
        assert second == ["b.tsv@de", "2"] + [
            f"{scores[name]:.2f}" for name in ("bleu", "chrf")
        ]

    def test_gains_are_over_the_other_outputs(self):
        worse = ["a red house", "the dog", *REFERENCES[2:]]
        table = scores_by_corpus(TEXTS, REFERENCES, worse, bleu_report)
        head, first, second = cells(table)
        assert head == ["corpus", "sentences", "bleu", "gain", "chrf", "gain"]
        lost = bleu_report(worse[:2], REFERENCES[:2]).scores["bleu"]
        assert first[2:4] == ["100.00", f"{100 - lost:+.2f}"]
        assert second[2:] == ["100.00", "+0.00", "100.00", "+0.00"]

    def test_one_corpus_has_no_table(self):
        one = dataclasses.replace(TEXTS, corpora=CORPORA[:1])
        assert scores_by_corpus(one, REFERENCES, [], bleu_report) == []
