"""Tensor2Tensor's algorithmic problems."""

import itertools

import pytest

from keras_transformer import registry
from keras_transformer.problems import algorithmic

# What the targets are, as a function of the list of the input's symbols.
RULES = {
    "identity_binary40": lambda symbols: symbols,
    "identity_decimal40": lambda symbols: symbols,
    "shift_decimal40": lambda symbols: [str(int(s) + 10) for s in symbols],
    "reverse_binary40": lambda symbols: symbols[::-1],
    "reverse_decimal40": lambda symbols: symbols[::-1],
    "reverse_nlplike8k": lambda symbols: symbols[::-1],
    "addition_binary40": lambda symbols: calculate(symbols, 2),
    "addition_decimal40": lambda symbols: calculate(symbols, 10),
    "multiplication_binary40": lambda symbols: calculate(symbols, 2),
    "multiplication_decimal40": lambda symbols: calculate(symbols, 10),
    "sort_problem": lambda symbols: sorted(symbols, key=int),
}
# Maximum lengths of train and test there, where they are not 40 and 400.
LENGTHS = {"shift_decimal40": (40, 80), "sort_problem": (10, 20)}
by_name = pytest.mark.parametrize("name", RULES)


def calculate(symbols, base):
    text = " ".join(symbols)
    sign = "+" if "+" in text else "*"
    # Their lowest digit is the first one.
    first, second = (
        int("".join(reversed(number.split())), base)
        for number in text.split(sign)
    )
    result = first + second if sign == "+" else first * second
    digits = f"{result:b}" if base == 2 else str(result)
    return list(reversed(digits))


def read(name, split, num_pairs=600):
    problem = registry.get_problem(f"algorithmic_{name}")
    pairs = problem.text_pairs(split, None)
    return [
        (source.split(" "), target.split(" "))
        for source, target in itertools.islice(pairs, num_pairs)
    ]


class AlgorithmicTest:
    @by_name
    @pytest.mark.parametrize("split", ["train", "test"])
    def test_targets_follow_the_rule(self, name, split):
        for source, target in read(name, split):
            assert target == RULES[name](source)

    @by_name
    def test_inputs_are_as_long_as_theirs(self, name):
        for split, number in (("train", 0), ("dev", 0), ("test", 1)):
            lengths = [len(source) for source, _ in read(name, split)]
            if name == "reverse_nlplike8k":  # around half of 70
                assert 30 < sum(lengths) / len(lengths) < 40
                continue
            limit = LENGTHS.get(name, (40, 400))[number]
            assert 0.9 * limit < max(lengths) <= limit

    @by_name
    def test_all_symbols_are_used_and_each_is_one_token(
        self, name, tmp_path, monkeypatch
    ):
        counts = {"train": 300, "dev": 20, "test": 20}
        monkeypatch.setattr(algorithmic, "NUM_PAIRS", counts)
        data_dir = str(tmp_path)
        problem = registry.get_problem(f"algorithmic_{name}", data_dir)
        manifest = problem.generate(None)
        assert {s: c["pairs"] for s, c in manifest["splits"].items()} == counts
        sources, _ = problem.text_split("dev")
        lengths = problem.token_pairs("dev").inputs.lengths
        assert list(lengths) == [len(s.split()) + 1 for s in sources]
        ids = problem.vocabulary.encode(sources)
        assert problem.vocabulary.decode(ids) == sources
        assert not problem.vocabulary.has_words  # so nothing looks doubtful
        symbols = {s for pair in read(name, "train") for s in sum(pair, [])}
        digits = {s for s in symbols if s.isdigit()}
        expected = min(problem.num_symbols, 100)
        assert expected <= len(digits) <= problem.num_symbols

    def test_words_are_as_frequent_as_in_text(self):
        counts = {}
        for source, _ in read("reverse_nlplike8k", "train", 2000):
            for word in source:
                counts[word] = counts.get(word, 0) + 1
        ratio = counts["0"] / counts["9"]  # of the ranks 1 and 10
        assert ratio == pytest.approx(10**1.3, rel=0.2)

    def test_a_result_with_a_wrong_digit_is_wrong(self):
        problem = registry.get_problem("algorithmic_addition_decimal40")
        scores = problem.score(["1 2 3", "1 2 4"], ["1 2 3", "1 2 3"])
        assert scores[problem.measure] == scores["exact_match"] == 50

    def test_splits_differ_and_do_not_change(self):
        first, again, dev = (
            read("identity_binary40", split)
            for split in ("train", "train", "dev")
        )
        assert first == again
        assert first != dev
