import random

import pytest
import sacrebleu

from keras_transformer.scoring.comparison import compare
from keras_transformer.scoring.comparison import comparison_text

LETTERS = "abcdefgh"
GENERATOR = random.Random(0)
REFERENCES = [" ".join(GENERATOR.choices(LETTERS, k=12)) for _ in range(60)]


def damaged(share):
    """Returns the references with a share of their words replaced."""
    return [
        " ".join(
            "x" if GENERATOR.random() < share else word for word in text.split()
        )
        for text in REFERENCES
    ]


NAMES = "a.txt", "b.txt"
GOOD, POOR, ALIKE = damaged(0.1), damaged(0.4), damaged(0.1)


class CompareTest:
    def test_scores_are_those_of_sacrebleu(self):
        bleu, chrf, ter = compare(GOOD, POOR, REFERENCES)
        expected = sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score
        assert bleu.this == pytest.approx(expected)
        expected = sacrebleu.corpus_chrf(POOR, [REFERENCES]).score
        assert chrf.other == pytest.approx(expected)
        expected = sacrebleu.corpus_ter(POOR, [REFERENCES]).score
        assert ter.other == pytest.approx(expected)
        assert "|bs:1000|seed:12345|" in bleu.signature

    def test_intervals_hold_the_scores(self):
        for row in compare(GOOD, POOR, REFERENCES):
            assert row.this_interval[0] < row.this < row.this_interval[1]
            assert row.other_interval[0] < row.other < row.other_interval[1]

    @pytest.mark.parametrize("seed", ["7", "none", "abc"])
    def test_the_same_text_gives_the_same_figures(self, monkeypatch, seed):
        first = compare(GOOD, ALIKE, REFERENCES)
        monkeypatch.setenv("SACREBLEU_SEED", seed)
        assert compare(GOOD, ALIKE, REFERENCES) == first

    @pytest.mark.parametrize(
        "this, other, words",
        [
            (GOOD, POOR, "a.txt is significantly better than b.txt."),
            (POOR, GOOD, "b.txt is significantly better than a.txt."),
            (GOOD, ALIKE, "the difference is not significant."),
            (GOOD, GOOD, "both are equal."),
        ],
    )
    def test_words_say_what_the_figures_mean(self, this, other, words):
        text = comparison_text(compare(this, other, REFERENCES), NAMES)
        head = text.splitlines()[0].split()
        assert (head[0], head[3]) == NAMES
        assert f"BLEU 13a: {words}" in text
        assert f"chrF2: {words}" in text
        assert f"TER: {words}" in text

    def test_outputs_that_are_cut_do_not_win_by_ter(self):
        cut = [text[: len(text) // 3] for text in REFERENCES]
        wrong = ["x " * 12 for _ in REFERENCES]
        *_, ter = compare(cut, wrong, REFERENCES)
        assert ter.this < ter.other
        assert "no judgement, because TER favours" in ter.explain(NAMES)

    def test_columns_of_the_table_are_aligned(self):
        text = comparison_text(compare(GOOD, POOR, REFERENCES), NAMES)
        head, *rows = text.split("\n\n")[0].splitlines()
        assert {len(row) for row in rows} == {len(head)}

    def test_a_long_name_keeps_its_end_above_the_columns(self):
        names = "work/" * 20 + "base", "b"
        text = comparison_text(compare(GOOD, POOR, REFERENCES), names)
        head, *_ = text.splitlines()
        assert "rk/base" in head and len(head) < 100
        assert f"{names[0]} is significantly better than b." in text
