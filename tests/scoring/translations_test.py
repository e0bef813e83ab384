import collections
import importlib.util
import math
import re

import pytest
import sacrebleu

from keras_transformer.scoring import translations
from keras_transformer.scoring.translations import bleu_report
from keras_transformer.scoring.translations import check_tokenizer
from keras_transformer.scoring.translations import choose_tokenizer
from keras_transformer.scoring.translations import tokenize_as_paper
from keras_transformer.scoring.translations import translation_report

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
        assert report.scores["bleu"] == pytest.approx(bleu.score)
        assert report.scores["chrf"] == pytest.approx(chrf.score)

    def test_bleu_is_the_brevity_penalty_times_the_mean_of_precisions(self):
        # Six of 7 words match, four of 6 bigrams, and so on. The reference has
        # 8 words.
        report = bleu_report(
            ["a b c d e x g"], ["a b c d e f g h"], tokenize="none"
        )
        precisions = 6 / 7 * 4 / 6 * 3 / 5 * 2 / 4
        expected = 100 * math.exp(1 - 8 / 7) * precisions**0.25
        assert report.scores["bleu"] == pytest.approx(expected)

    def test_equal_text_scores_100(self):
        report = bleu_report(REFERENCES, REFERENCES)
        assert report.scores["bleu"] == pytest.approx(100)
        assert report.scores["chrf"] == pytest.approx(100)

    def test_no_common_word_scores_0(self):
        assert bleu_report(["x y"], ["Das ist gut."]).scores["bleu"] == 0

    def test_lines_hold_both_full_signatures(self):
        bleu, chrf = bleu_report(HYPOTHESES, REFERENCES).lines
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
        assert lowered.scores["bleu"] > cased.scores["bleu"]
        assert lowered.scores["chrf"] > cased.scores["chrf"]
        assert lowered.text.count("case:lc") == 2

    def test_tokenizer_can_be_chosen(self):
        report = bleu_report(HYPOTHESES, REFERENCES, tokenize="none")
        expected = sacrebleu.corpus_bleu(
            HYPOTHESES, [REFERENCES], tokenize="none"
        )
        assert report.scores["bleu"] == pytest.approx(expected.score)
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


def multi_bleu(hypotheses, references):
    """BLEU as multi-bleu.perl computes it, in a few lines."""
    matches, totals = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references):
        for order in range(4):
            ours, theirs = (
                collections.Counter(
                    zip(*(text.split()[i:] for i in range(order + 1)))
                )
                for text in (hypothesis, reference)
            )
            matches[order] += (ours & theirs).total()
            totals[order] += ours.total()
    if not all(matches):
        return 0.0
    lengths = [
        sum(map(len, map(str.split, t))) for t in (hypotheses, references)
    ]
    penalty = min(1, math.exp(1 - lengths[1] / lengths[0]))
    mean = sum(math.log(m / t) for m, t in zip(matches, totals)) / 4
    return 100 * penalty * math.exp(mean)


class TranslationReportTest:
    def test_all_scores_stand_side_by_side(self):
        pytest.importorskip("sacremoses")
        report = translation_report(HYPOTHESES, REFERENCES, "de")
        titles = [row.title for row in report.rows]
        assert titles == [
            "BLEU 13a",
            "BLEU intl",
            "BLEU paper",
            "chrF2",
            "TER",
        ]
        ter = sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES])
        assert report.scores["ter"] == pytest.approx(ter.score)
        intl = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize="intl")
        assert report.scores["bleu_intl"] == pytest.approx(intl.score)

    def test_the_chosen_tokenizer_comes_first(self):
        report = translation_report(HYPOTHESES, REFERENCES, tokenize="intl")
        titles = [row.title for row in report.rows]
        assert titles == ["BLEU intl", "BLEU 13a", "chrF2", "TER"]
        assert list(report.scores)[:2] == ["bleu", "bleu_13a"]

    def test_the_papers_bleu_is_multi_bleu_of_the_papers_tokens(self):
        pytest.importorskip("sacremoses")
        # Three-word text has no 4-gram, where smoothing would matter.
        for hypotheses, references in (
            (HYPOTHESES, REFERENCES),
            (["Das RTF-Format, z.B. hier!"], ["Das RTF-Format, z.B. dort!"]),
            (["Das ist gut"], ["Das ist gut"]),
        ):
            report = translation_report(hypotheses, references, "de")
            expected = multi_bleu(
                *(
                    tokenize_as_paper(texts, "de")
                    for texts in (hypotheses, references)
                )
            )
            assert report.scores["bleu_paper"] == pytest.approx(expected)
        assert expected == 0

    def test_tokenised_text_is_not_tokenised_again(self):
        hypotheses = ["ein Text im RTF-Format , z.B. hier &quot; !"]
        references = ["ein Text im RTF-Format , z.B. dort &quot; !"]
        report = translation_report(
            hypotheses, references, "fr", tokenize="none"
        )
        titles = [row.title for row in report.rows]
        assert titles == ["BLEU none", "BLEU paper", "chrF2", "TER"]
        for name in ("bleu", "bleu_paper"):
            expected = multi_bleu(hypotheses, references)
            assert report.scores[name] == pytest.approx(expected)
        assert report.text.count("tok:none") == 2

    def test_an_unknown_language_leaves_the_papers_bleu_out(self):
        report = translation_report(HYPOTHESES, REFERENCES)
        assert "bleu_paper" not in report.scores
        assert "--language=de" in report.text.splitlines()[-1]

    def test_without_sacremoses_a_line_says_how_to_get_it(self, monkeypatch):
        monkeypatch.setattr(translations, "has_moses", lambda: False)
        report = translation_report(HYPOTHESES, REFERENCES, "de")
        assert "bleu_paper" not in report.scores
        assert "pip install sacremoses" in report.text.splitlines()[-1]

    def test_signatures_name_the_origin_of_the_text(self):
        origin = {"test": "wmt14/full", "lang": "en-de"}
        report = translation_report(HYPOTHESES, REFERENCES, origin=origin)
        for row in report.rows:
            assert "|test:wmt14/full|lang:en-de|" in row.signature

    def test_columns_of_the_table_are_aligned(self):
        table = translation_report(HYPOTHESES, REFERENCES).text.split("\n\n")[0]
        head, bleu, *_ = table.splitlines()
        ends = [match.end() for match in re.finditer(r"\S+ ?\S+", head)]
        assert ends[-1] == len(bleu)
        for end in ends:
            assert bleu[end - 1].isdigit() and bleu[end : end + 1] in (" ", "")


CHINESE = ["我们今天去超市买东西。", "那只猫在房子里睡觉。"]
JAPANESE = ["猫が家の中で寝ています。", "犬は公園を走る。"]
THAI = ["แมวนอนอยู่ในบ้าน"]
KOREAN = ["고양이가 집에서 자고 있다."]


@pytest.fixture(params=[True, False], ids=["with MeCab", "without MeCab"])
def has_mecab(request, monkeypatch):
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: request.param or None
    )
    return request.param


class ChooseTokenizerTest:
    @pytest.mark.parametrize(
        "language, texts, tokenizer, replacement",
        [
            ("zh", [], "zh", "zh"),
            ("yue", [], "zh", "zh"),
            (None, CHINESE, "zh", "zh"),
            ("target", ["TCP 协议的三次握手"], "zh", "zh"),
            ("ja", [], "ja-mecab", "char"),
            (None, JAPANESE, "ja-mecab", "char"),
            ("ja", ["東京都"], "ja-mecab", "char"),
            ("ko", [], "ko-mecab", "13a"),
            (None, KOREAN, "ko-mecab", "13a"),
            ("th", [], "char", "char"),
            (None, THAI, "char", "char"),
            ("de", CHINESE, "13a", "13a"),
            (None, REFERENCES, "13a", "13a"),
            (None, ["Das Zeichen 猫 heißt Katze."], "13a", "13a"),
            (None, ["?", ""], "13a", "13a"),
        ],
    )
    def test_the_language_or_else_the_script_decides(
        self, has_mecab, language, texts, tokenizer, replacement
    ):
        expected = tokenizer if has_mecab else replacement
        assert choose_tokenizer(language, texts) == expected

    @pytest.mark.parametrize(
        "references, titles, note",
        [
            (CHINESE, ["BLEU zh", "chrF2", "TER"], "none between words"),
            (JAPANESE, ["BLEU char", "chrF2"], r"install 'sacrebleu\[ja\]'"),
            (THAI, ["BLEU char", "chrF2"], "none between words"),
            (
                KOREAN,
                ["BLEU 13a", "BLEU intl", "chrF2", "TER"],
                r"install 'sacrebleu\[ko\]'",
            ),
        ],
    )
    @pytest.mark.parametrize("has_mecab", [False], indirect=True)
    def test_no_score_divides_at_spaces_that_are_missing(
        self, has_mecab, references, titles, note
    ):
        tokenize = choose_tokenizer(None, references)
        report = translation_report(references, references, None, tokenize)
        assert [row.title for row in report.rows] == titles
        assert re.search(note, report.left_out)
        assert f"tok:{tokenize}" in report.rows[0].signature
        expected = {"bleu": 100, "chrf": 100, "ter": 0}
        for name, score in report.scores.items():
            assert score == pytest.approx(expected.get(name, 100))

    def test_one_edit_of_chinese_is_that_of_a_character(self):
        changed = [CHINESE[0].replace("今", "明"), CHINESE[1]]
        report = translation_report(changed, CHINESE, "zh", "zh")
        num_characters = sum(map(len, CHINESE))
        assert report.scores["ter"] == pytest.approx(100 / num_characters)

    def test_a_tokenizer_for_spaces_is_named_as_the_fault(self):
        report = translation_report(CHINESE, CHINESE, "zh", "13a")
        assert "means little here" in report.left_out
        assert "--tokenize=zh" in report.left_out

    def test_a_missing_tokenizer_is_an_error(self):
        if importlib.util.find_spec("MeCab"):
            pytest.skip("MeCab is here")
        with pytest.raises(ValueError, match=r"tokenize=ja-mecab: .*\[ja\]"):
            check_tokenizer("ja-mecab")


class SeveralReferencesTest:
    HYPOTHESES = ["the red dog runs fast", "it is good"]
    REFERENCES = (["a red dog runs fast", "that is"], ["the red dog", "it is"])

    def test_scores_are_those_of_sacrebleu(self):
        first, second = self.REFERENCES
        report = translation_report(
            self.HYPOTHESES, first, "en", more_references=[second]
        )
        metrics = {
            "bleu": sacrebleu.BLEU(),
            "chrf": sacrebleu.CHRF(),
            "ter": sacrebleu.TER(),
        }
        for name, metric in metrics.items():
            expected = metric.corpus_score(self.HYPOTHESES, self.REFERENCES)
            assert report.scores[name] == expected.score
        assert "nrefs:2" in report.text
        alone = translation_report(self.HYPOTHESES, first, "en")
        assert report.scores["bleu_paper"] > alone.scores["bleu_paper"]

    def test_another_number_of_references_is_an_error(self):
        with pytest.raises(ValueError, match="as many hypotheses as"):
            translation_report(["a"], ["a"], more_references=[["a", "b"]])


class PaperTokensTest:
    def test_tokens_are_those_of_moses_with_split_compounds(self):
        pytest.importorskip("sacremoses")
        text = 'Das ist "gut", z.B. das RTF-Format-Handbuch - oder?'
        assert tokenize_as_paper([text], "de") == [
            "Das ist &quot; gut &quot; , z.B. das RTF ##AT##-##AT## Format "
            "##AT##-##AT## Handbuch - oder ?"
        ]

    def test_compounds_of_other_languages_remain_whole(self):
        pytest.importorskip("sacremoses")
        text = "C'est l'arc-en-ciel."
        assert tokenize_as_paper([text], "fr") == [
            "C&apos; est l&apos; arc-en-ciel ."
        ]

    def test_split_text_is_not_split_again(self):
        once = tokenize_as_paper(["RTF-Format"], "de", is_tokenized=True)
        assert once == ["RTF ##AT##-##AT## Format"]
        assert tokenize_as_paper(once, "de", is_tokenized=True) == once
