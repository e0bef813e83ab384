import math

import pytest
import sacrebleu

from keras_transformer.bleu import bleu_report

REFERENCES = [
    "Ein Hund läuft über die Straße.",
    "Zwei Frauen sitzen auf einer Bank.",
    "Das ist gut.",
]
HYPOTHESES = [
    "Ein Hund rennt über die Straße.",
    "Zwei Frauen sitzen auf der Bank.",
    "das ist gut.",
]


class BleuReportTest:
    def test_scores_equal_those_of_sacrebleu(self):
        report = bleu_report(HYPOTHESES, REFERENCES)
        bleu = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES])
        chrf = sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES])
        assert report.bleu == pytest.approx(bleu.score)
        assert report.chrf == pytest.approx(chrf.score)

    def test_bleu_is_the_brevity_penalty_times_the_mean_of_precisions(self):
        # Six of 7 words match, four of 6 bigrams, and so on. The reference has
        # 8 words.
        report = bleu_report(
            ["a b c d e x g"], ["a b c d e f g h"], tokenize="none"
        )
        precisions = 6 / 7 * 4 / 6 * 3 / 5 * 2 / 4
        expected = 100 * math.exp(1 - 8 / 7) * precisions**0.25
        assert report.bleu == pytest.approx(expected)

    def test_equal_text_scores_100(self):
        report = bleu_report(REFERENCES, REFERENCES)
        assert report.bleu == pytest.approx(100)
        assert report.chrf == pytest.approx(100)

    def test_no_common_word_scores_0(self):
        assert bleu_report(["x y"], ["Das ist gut."]).bleu == 0

    def test_text_holds_both_full_signatures(self):
        bleu, chrf = bleu_report(HYPOTHESES, REFERENCES).text.split("\n")
        version = sacrebleu.__version__
        assert bleu.startswith(
            "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|"
            f"version:{version} = "
        )
        assert chrf.startswith(
            "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|"
            f"version:{version} = "
        )

    def test_lowercase_ignores_case_and_says_so(self):
        cased = bleu_report(HYPOTHESES, REFERENCES)
        lowered = bleu_report(HYPOTHESES, REFERENCES, lowercase=True)
        assert lowered.bleu > cased.bleu
        assert lowered.chrf > cased.chrf
        assert lowered.text.count("case:lc") == 2

    def test_tokenizer_can_be_chosen(self):
        report = bleu_report(HYPOTHESES, REFERENCES, tokenize="none")
        expected = sacrebleu.corpus_bleu(
            HYPOTHESES, [REFERENCES], tokenize="none"
        )
        assert report.bleu == pytest.approx(expected.score)
        assert "tok:none" in report.text

    def test_unknown_tokenizer_is_an_error_that_lists_all(self):
        with pytest.raises(ValueError, match="tokenize='moses'.*13a"):
            bleu_report(HYPOTHESES, REFERENCES, tokenize="moses")

    def test_unequal_counts_are_an_error_that_names_both(self):
        with pytest.raises(ValueError, match="3 hypotheses and 2 references"):
            bleu_report(HYPOTHESES, REFERENCES[:2])

    def test_nothing_to_score_is_an_error(self):
        with pytest.raises(ValueError, match="at least one"):
            bleu_report([], [])
