import json
import os

import numpy as np
import pytest
from number_problem import Numbers
from number_problem import files_of
from number_problem import generated
from number_problem import with_pairs

from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.hparam import HParams


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    return generated(tmp_path_factory.mktemp("data"))


class ReverseTest:
    def test_it_swaps_everything_and_shares_the_data(self, problem):
        reverse = Numbers(data_dir=problem.data_dir, reverse=True)
        assert (reverse.name, problem.name) == ("numbers_rev", "numbers")
        assert reverse.directory == problem.directory
        assert reverse.inputs_language == "upper"
        assert reverse.targets_language == "lower"
        assert reverse.text_split("dev") == problem.text_split("dev")[::-1]
        inputs, targets = reverse.token_pairs("dev")
        decode = problem.vocabulary.decode
        pairs = list(zip(decode(targets), decode(inputs)))
        assert pairs == Numbers.pairs["dev"]

    def test_generating_it_generates_the_shared_data(self, problem, tmp_path):
        reverse = Numbers(data_dir=str(tmp_path), reverse=True)
        assert reverse.generate(None) == problem.manifest


class DevScoresTest:
    TEXTS = ["a b c d", "e f"], ["a b c e", "e f"]

    def test_ter_is_there_only_as_the_measure(self, problem):
        usual = problem.dev_scores(*self.TEXTS, "bleu")
        assert usual == problem.score(*self.TEXTS)
        with_ter = problem.dev_scores(*self.TEXTS, "ter")
        # One of six words is another one.
        assert with_ter == {**usual, "ter": pytest.approx(100 / 6)}

    @pytest.mark.parametrize("measure", ["bleu", "chrf", "ter"])
    def test_each_score_has_its_signature(self, problem, measure):
        scores = problem.dev_scores(*self.TEXTS, measure)
        starts = [s.split("|")[0] for s in problem.dev_signatures(measure)]
        names = {"BLEU": "bleu", "chrF2": "chrf", "TER": "ter"}
        assert [names[start] for start in starts] == list(scores)


class BleuTokenizerTest:
    CHINESE = [
        ("A b c d e", "我们今天去商店买东西。"),
        ("F", "猫在房子里睡觉。"),
    ]

    @pytest.mark.parametrize(
        "reverse, tokenizer", [(False, "zh"), (True, "13a")]
    )
    def test_the_script_of_the_dev_text_decides(
        self, tmp_path, reverse, tokenizer
    ):
        with_pairs(tmp_path, dev=self.CHINESE).generate(None)
        problem = Numbers(tmp_path, reverse)
        assert problem.bleu_tokenizer == tokenizer
        signatures = problem.dev_signatures("bleu")
        assert f"|tok:{tokenizer}|" in signatures[0]
        texts = problem.text_split("dev")[1]
        assert problem.dev_scores(texts, texts, "bleu")["bleu"] > 99.9

    def test_without_data_it_is_that_of_the_language(self, tmp_path):
        assert Numbers(tmp_path).bleu_tokenizer == "13a"


class BothDirectionsTest:
    @pytest.fixture(scope="class")
    def both(self, problem):
        both = Numbers(data_dir=problem.data_dir)
        both.use_both_directions()
        return both

    def test_the_data_are_those_of_the_problem(self, problem, both):
        assert both.name == "numbers_both"
        assert both.directory == problem.directory
        assert both.generate(None) == problem.manifest

    @pytest.mark.parametrize("split", ["train", "dev"])
    def test_a_split_holds_the_pairs_and_then_the_pairs_turned_round(
        self, both, split
    ):
        pairs = [list(map(both.vocabulary.decode, both.token_pairs(split)))]
        forwards = Numbers.pairs[split]
        backwards = [(target, source) for source, target in forwards]
        assert list(zip(*pairs[0])) == forwards + backwards

    def test_the_text_has_the_order_of_the_tokens(self, both):
        inputs, targets = both.token_pairs("dev")
        decode = both.vocabulary.decode
        assert both.text_split("dev") == (decode(inputs), decode(targets))

    @pytest.mark.parametrize("packed", [False, True])
    def test_an_epoch_has_each_pair_once_in_each_direction(self, both, packed):
        plan = both.batches("train", 64, packed=packed)
        indices = np.concatenate([pairs.ravel() for pairs, _ in plan])
        numbers = sorted(indices[indices >= 0])
        assert numbers == list(range(2 * len(Numbers.pairs["train"])))


class ProblemTest:
    def test_data_that_was_not_generated_is_an_error(self, tmp_path):
        problem = Numbers(data_dir=str(tmp_path))
        for use in (
            lambda: problem.manifest,
            lambda: problem.vocabulary,
            lambda: problem.token_pairs("train"),
            lambda: problem.text_split("dev"),
            lambda: problem.batches("train", 100),
        ):
            with pytest.raises(ValueError, match="kt-datagen --problem=numb"):
                use()

    def test_no_data_dir_is_an_error(self):
        with pytest.raises(ValueError, match="Pass data_dir"):
            Numbers().manifest

    def test_an_unknown_split_is_an_error(self, problem):
        with pytest.raises(ValueError, match="split=tset.*train, dev, test"):
            problem.token_pairs("tset")

    def test_the_text_keeps_unusual_line_separators(self, tmp_path):
        pairs = [("a\u2028b\x85", "a\rb"), ("c\nd", "e")]
        problem = with_pairs(tmp_path, dev=pairs)
        problem.generate(None)
        assert problem.text_split("dev") == (
            ["a\u2028b\x85", "c d"],
            ["a\rb", "e"],
        )

    def test_scores_of_the_references_are_perfect(self, problem):
        references = ["This is a test of scores."] * 3
        scores = problem.score(references, references)
        assert scores == {"bleu": pytest.approx(100), "chrf": 100}

    def test_the_manifest_is_readable_json(self, problem):
        text = files_of(problem)["manifest.json"].decode()
        assert json.loads(text) == problem.manifest
        assert text.endswith("}\n")


class GuidanceTest:
    def test_spans_need_a_problem_of_trees(self, problem):
        with pytest.raises(ValueError, match="span_labels=3, .*=numbers. Add"):
            problem.make_guidance(HParams(span_labels=3))

    def test_word_links_need_data_that_have_them(self, problem):
        with pytest.raises(ValueError, match="--train_alignments"):
            problem.make_guidance(HParams(guided_alignment=0.1))

    def test_a_training_without_guidance_reads_none(self, problem):
        assert problem.make_guidance(HParams()) is None


class VocabularyTest:
    def test_it_is_the_file_beside_the_data(self, problem):
        path = os.path.join(problem.directory, "vocab.model")
        assert Subwords(path).sha256 == problem.vocabulary.sha256


class ReportTest:
    @pytest.mark.parametrize(
        "is_tokenized, tok", [(False, "13a"), (True, "none")]
    )
    def test_tokenised_text_is_not_tokenised_again(
        self, monkeypatch, is_tokenized, tok
    ):
        monkeypatch.setattr(Numbers, "is_tokenized", is_tokenized)
        report = Numbers().report(["a &quot; ."], ["a &quot; ."])
        assert f"|tok:{tok}|" in report.lines[0]
