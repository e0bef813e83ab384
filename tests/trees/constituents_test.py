import pytest

from keras_transformer.trees.constituents import find_smallest_constituents
from keras_transformer.trees.tree import parse_tree


class SmallestConstituentsTest:
    @pytest.mark.parametrize(
        "text, spans",
        [
            ("(S (NN a))", [(0, 1)]),
            ("(S (NP (NP (NN a))) (VP (VB b)))", [(0, 2), (0, 2)]),
            (
                "(S (A (X a) (B (X b) (X c))) (X d))",
                [(0, 3), (1, 3), (1, 3), (0, 4)],
            ),
        ],
    )
    def test_the_innermost_of_several_words(self, text, spans):
        assert find_smallest_constituents(parse_tree(text)) == spans
