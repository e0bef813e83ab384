"""Tests of parseval: by hand, by its properties, against PYEVALB."""

import pytest
from parse_pairs import PUNCTUATION
from parse_pairs import is_doubled
from parse_pairs import random_pairs

from keras_transformer.parsing.parseval import find_other_words
from keras_transformer.parsing.parseval import parseval
from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import parse_tree


def score(gold, test):
    return parseval([parse_tree(gold)], [parse_tree(test)])


def counts(report):
    return report.num_matched, report.num_gold, report.num_test


class ParsevalTest:
    def test_example_counted_by_hand(self):
        report = score(
            "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ eats) (NP (NNS mice))"
            " (PP (IN at) (NP (NN night)))) (. .)))",
            "(TOP (S (NP (DT The) (NN cat)) (VP (VBZ eats) (NP (NP (NN mice))"
            " (PP (IN at) (NP (NN night))))) (. .)))",
        )
        assert counts(report) == (6, 6, 7)
        assert report.precision == pytest.approx(100 * 6 / 7)
        assert report.recall == 100
        assert report.f1 == pytest.approx(100 * 12 / 13)
        assert report.exact_match == 0
        assert report.tag_accuracy == pytest.approx(100 * 5 / 6)

    def test_equal_trees_score_100(self):
        gold, _ = random_pairs(50, ["NP", "PRT"], ["NN", "VB", ","])
        scores = parseval(gold, gold).scores
        assert set(scores.values()) == {100}
        assert list(scores) == [
            *("f1", "precision", "recall"),
            *("exact_match", "tag_accuracy", "f1_40"),
        ]

    def test_precision_and_recall_change_places_with_the_trees(self):
        gold, test = random_pairs(200, ["NP", "VP", "S"], ["NN", "IN"])
        one, other = parseval(gold, test), parseval(test, gold)
        assert 20 < one.precision < 80
        assert one.precision == other.recall != one.recall
        assert one.f1 == pytest.approx(other.f1)
        assert one.f1 == pytest.approx(2 / (1 / one.precision + 1 / one.recall))

    @pytest.mark.parametrize("tag", PUNCTUATION)
    def test_attachment_of_punctuation_does_not_matter(self, tag):
        low = f"(TOP (S (NP (NN a) (PRN ({tag} x))) (VP (VB b) ({tag} y))))"
        high = f"(TOP (S (NP (NN a)) ({tag} x) (VP (VB b)) ({tag} y)))"
        report = score(low, high)
        assert counts(report) == (3, 3, 3)
        assert report.exact_match == 100
        assert report.num_words == 2

    def test_gold_tags_decide_what_is_punctuation(self):
        gold = "(TOP (S (NP (NN a)) (: -) (VP (VB b) (NN x))))"
        test = "(TOP (S (NP (NN a) (NN -)) (VP (VB b) (, x))))"
        report = score(gold, test)
        assert counts(report) == (3, 3, 3)
        assert (report.num_right_tags, report.num_words) == (2, 3)

    def test_traces_do_not_count_in_either_tree(self):
        full = "(S (NP (-NONE- *)) (VP (VB a) (NP (-NONE- *T*-1) (NN b))))"
        bare = "(S (VP (VB a) (NP (NN b))))"
        for report in (score(full, bare), score(bare, full)):
            assert counts(report) == (3, 3, 3)
            assert report.num_failed == 0

    @pytest.mark.parametrize("num_gold", range(4))
    @pytest.mark.parametrize("num_test", range(4))
    def test_brackets_match_as_multisets(self, num_gold, num_test):
        def nested(depth):
            return "(TOP " + "(NP " * depth + "(NN a)" + ")" * depth + ")"

        report = score(nested(num_gold), nested(num_test))
        common = min(num_gold, num_test)
        assert counts(report) == (common, num_gold, num_test)
        assert report.exact_match == (100 if num_gold == num_test else 0)

    @pytest.mark.parametrize(
        "one, other, is_same",
        [
            ("ADVP", "PRT", True),
            ("ADVP-TMP", "PRT", True),
            ("NP-SBJ-1", "NP=2", True),
            ("ADVP", "ADJP", False),
            ("NP", "NPX", False),
            ("-X", "-Y", False),
        ],
    )
    def test_which_labels_are_the_same(self, one, other, is_same):
        report = score(
            f"(S ({one} (NN a)) (NN b))", f"(S ({other} (NN a)) (NN b))"
        )
        assert report.num_matched == 1 + is_same

    @pytest.mark.parametrize(
        "test", [None, "(S (NP (NN a)))", "(S (NP (NN c)))"]
    )
    def test_failed_sentence_counts_with_its_gold_brackets(self, test):
        gold = parse_tree("(TOP (S (NP (NN a)) (VP (VB b) (. .))))")
        report = parseval([gold] * 2, [test and parse_tree(test), gold])
        assert (report.num_sentences, report.num_failed) == (2, 1)
        assert counts(report) == (3, 6, 3)
        assert (report.precision, report.recall) == (100, 50)
        assert (report.exact_match, report.tag_accuracy) == (50, 50)

    def test_parses_of_other_words_are_told_apart_from_missing_ones(self):
        gold = parse_tree("(S (NN a) (NN b))")
        shorter = parse_tree("(S (NN a))")
        assert find_other_words([gold] * 2, [gold, None]) == []
        parses = [None, shorter, gold, shorter]
        assert find_other_words([gold] * 4, parses) == [2, 4]

    def test_failed_sentence_without_brackets_is_no_exact_match(self):
        gold = parse_tree("(TOP (NN a))")
        assert parseval([gold], [gold]).exact_match == 100
        assert parseval([gold], [None]).exact_match == 0

    def test_second_column_is_of_at_most_40_words_with_punctuation(self):
        def flat(size):
            return parse_tree("(S (NN a)" + " (, x)" * (size - 1) + ")")

        gold = [flat(39), flat(40), flat(41)]
        report = parseval(gold, [flat(39), None, None])
        assert (report.num_sentences, report.num_failed) == (3, 2)
        assert report.up_to_40.num_sentences == 2
        assert report.up_to_40.num_failed == 1
        assert report.scores["f1_40"] == report.up_to_40.f1 > report.f1

    @pytest.mark.parametrize("gold", ["(TOP (NN a))", "(TOP (. .))"])
    def test_nothing_to_count_scores_0_and_is_no_error(self, gold):
        report = score(gold, gold)
        assert (report.precision, report.recall, report.f1) == (0, 0, 0)
        assert parseval([parse_tree(gold)], [None]).tag_accuracy == 0

    def test_depth_is_not_limited(self):
        deep = Tree("NN", ("a",))
        for _ in range(5000):
            deep = Tree("NP", (deep,))
        assert parseval([deep], [deep]).num_matched == 5000

    def test_text_is_an_aligned_table_with_the_rules(self):
        gold, test = random_pairs(30, ["NP", "VP"], ["NN", ","], max_words=60)
        report = parseval(gold, [None, *test[1:]])
        *table, signature = report.text.split("\n")
        assert len({len(line) for line in table}) == 1
        cells = {line[:12].strip(): line[12:].split() for line in table[1:]}
        short = report.up_to_40
        assert cells["sentences"] == ["30", str(short.num_sentences)]
        assert cells["failed"] == ["1", str(short.num_failed)]
        assert cells["F1"] == [f"{report.f1:.2f}", f"{short.f1:.2f}"]
        assert signature.startswith("parseval|rules:EVALB|prm:COLLINS|")

    def test_unequal_counts_are_an_error_that_names_both(self):
        tree = parse_tree("(S (NN a))")
        with pytest.raises(ValueError, match="1 gold trees and 2 parses"):
            parseval([tree], [tree, None])

    def test_nothing_to_score_is_an_error(self):
        with pytest.raises(ValueError, match="at least one"):
            parseval([], [])


@pytest.fixture(name="pyevalb")
def fixture_pyevalb():
    return pytest.importorskip("PYEVALB.scorer")


def pyevalb_results(pyevalb, gold, test):
    """Returns PYEVALB's results; it would count TOP, which is left out."""
    lines = [
        [str(tree.children[0]) for tree in trees] for trees in (gold, test)
    ]
    return pyevalb.Scorer().score_corpus(*lines)


class PyevalbTest:
    def test_agrees_where_the_rules_are_the_same(self, pyevalb):
        # No punctuation, ADVP or function tag. Pairs with a label twice on one
        # span are skipped because PYEVALB counts such a match only once.
        gold, test = random_pairs(
            2000, ["NP", "VP", "PP", "SBAR", "X", "ADJP"], ["NN", "VB", "IN"]
        )
        results = pyevalb_results(pyevalb, gold, test)
        pairs = [pair for pair in zip(gold, test, results)]
        num_compared = 0
        for gold_tree, test_tree, result in pairs:
            if is_doubled(gold_tree) or is_doubled(test_tree):
                continue
            report = parseval([gold_tree], [test_tree])
            assert counts(report) == (
                result.matched_brackets,
                result.gold_brackets,
                result.test_brackets,
            )
            assert report.num_words == result.words
            assert report.num_right_tags == result.correct_tags
            assert report.precision == pytest.approx(100 * result.prec)
            assert report.recall == pytest.approx(100 * result.recall)
            num_compared += 1
        assert num_compared >= 500

    @pytest.mark.parametrize(
        "why, gold, test, ours, theirs",
        [
            (
                "punctuation counts, so where it hangs matters",
                "(S (NP (NN a) (, x)) (VB b))",
                "(S (NP (NN a)) (, x) (VB b))",
                (2, 2, 2),
                (1, 2, 2),
            ),
            (
                "a constituent of punctuation alone is a bracket",
                "(S (NN a) (PRN (: x)))",
                "(S (NN a) (NP (: x)))",
                (1, 1, 1),
                (1, 2, 2),
            ),
            (
                "ADVP and PRT are two labels",
                "(S (VB a) (PRT (RP b)))",
                "(S (VB a) (ADVP (RP b)))",
                (2, 2, 2),
                (1, 2, 2),
            ),
            (
                "function tags are part of the label",
                "(S (NP-SBJ (NN a)) (VB b))",
                "(S (NP (NN a)) (VB b))",
                (2, 2, 2),
                (1, 2, 2),
            ),
            (
                "TOP counts",
                "(TOP (S (NN a)))",
                "(TOP (NP (NN a)))",
                (0, 1, 1),
                (1, 2, 2),
            ),
            (
                "sets of brackets are compared, not multisets",
                "(S (NP (NP (NN a))) (VB b))",
                "(S (NP (NP (NN a))) (VB b))",
                (3, 3, 3),
                (2, 3, 3),
            ),
        ],
    )
    def test_differs_by_rule(self, pyevalb, why, gold, test, ours, theirs):
        (result,) = pyevalb.Scorer().score_corpus([gold], [test])
        their_counts = (
            result.matched_brackets,
            result.gold_brackets,
            result.test_brackets,
        )
        assert their_counts == theirs, why
        assert counts(score(gold, test)) == ours, why

    def test_drops_failed_sentences_and_we_do_not(self, pyevalb):
        gold = ["(S (NP (NN a)) (VB b))"] * 2
        test = [gold[0], "(S (NP (NN a)) (VB c))"]
        results = pyevalb.Scorer().score_corpus(gold, test)
        assert pyevalb.summary.summary(results).bracket_recall == 100
        report = parseval(*[[parse_tree(t) for t in x] for x in (gold, test)])
        assert report.recall == 50

    def test_divides_by_0_without_brackets_and_we_do_not(self, pyevalb):
        tree = pyevalb.parser.create_from_bracket_string("(NN a)")
        with pytest.raises(ZeroDivisionError):
            pyevalb.Scorer().score_trees(tree, tree)
        assert score("(NN a)", "(NN a)").f1 == 0

    def test_reads_no_word_past_an_underscore_and_we_do(self, pyevalb):
        gold, test = "(S (NN a_b))", "(S (NN a_c))"
        (result,) = pyevalb.Scorer().score_corpus([gold], [test])
        assert result.state == 0
        assert score(gold, test).num_failed == 1
