import pytest

from keras_transformer.problem import Problem
from keras_transformer.runs.data_record import describe_data

TEXTS = ["the cat sees the dog", "der Hund sieht die Katze"] * 20


class TwoWords(Problem):
    name = "two_words"
    vocab_size = 285
    inputs_language = "en"
    splits = ("train",)

    def text_pairs(self, split, tmp_dir):
        yield from zip(TEXTS[::2], ["ja"] * 20)


@pytest.fixture
def problem(tmp_path):
    problem = TwoWords(str(tmp_path))
    assert describe_data(problem) is None
    problem.generate(None)
    return problem


class DescribeDataTest:
    def test_a_reversed_problem_has_its_sides_swapped(self, problem):
        forwards = describe_data(problem)
        backwards = describe_data(TwoWords(problem.data_dir, reverse=True))
        assert forwards["languages"] == ["en", "de"]
        assert backwards["languages"] == ["de", "en"]
        counts = forwards["splits"]["train"]
        assert counts["pairs"] == 20
        pairs = problem.token_pairs("train")
        assert counts["source_tokens"] == sum(pairs.inputs.lengths)
        assert counts["target_tokens"] == sum(pairs.targets.lengths)
        assert backwards["splits"]["train"] == {
            "pairs": 20,
            "source_tokens": counts["target_tokens"],
            "target_tokens": counts["source_tokens"],
        }

    def test_both_directions_count_each_pair_twice(self, problem):
        assert "both_directions" not in describe_data(problem)
        problem.use_both_directions()
        described = describe_data(problem)
        assert described["both_directions"]
        pairs = problem.token_pairs("train")
        assert described["splits"]["train"] == {
            "pairs": 40,
            "source_tokens": sum(pairs.inputs.lengths),
            "target_tokens": sum(pairs.targets.lengths),
        }
