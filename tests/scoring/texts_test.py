import pytest
from number_problem import Numbers
from number_problem import generated

from keras_transformer.decoding import test_sets as texts
from keras_transformer.problem import Problem


class EndeProblem(Problem):
    name = "ende"


class TokenizedProblem(EndeProblem):
    is_tokenized = True


class SplitTextsTest:
    def test_the_references_of_both_directions_have_no_single_language(
        self, tmp_path
    ):
        problem = generated(tmp_path)
        assert texts.get_split(problem, "dev").language == "upper"
        problem.use_both_directions()
        text = texts.get_split(problem, "dev")
        assert text.language is None
        assert len(text.sources) == 2 * len(Numbers.pairs["dev"])


class TestSetTextsTest:
    @pytest.fixture(autouse=True)
    def a_test_set(self, monkeypatch):
        def read_test_set(name, pair):
            return [f"{name} {pair}"], ["eins"]

        monkeypatch.setattr(texts, "read_test_set", read_test_set)

    def test_the_problem_chooses_the_direction(self):
        for reverse, pair in ((False, "en-de"), (True, "de-en")):
            text = texts.get_test_set(
                EndeProblem(reverse=reverse), "wmt14/full"
            )
            assert text.sources == [f"wmt14/full {pair}"]
            assert text.origin == {"test": "wmt14/full", "lang": pair}
            assert text.language == pair[-2:]

    def test_the_name_is_one_for_files(self):
        text = texts.get_test_set(EndeProblem(), "wmt14/full")
        assert text.name == "wmt14_full"

    def test_tokenised_problems_are_refused(self):
        with pytest.raises(ValueError, match="raw text.*Use --split"):
            texts.get_test_set(TokenizedProblem(), "wmt14/full")
