"""English sentences of a small grammar, with their trees: a quick start."""

from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.problems.toy_treebank import treebank
from keras_transformer.registry import register_problem


@register_problem
class ParsingToy(ParsingProblem):
    """Parse the sentences of a toy grammar; nothing to download.

    Each has one reading, which its words decide. No sentence occurs twice:
    those of dev and test do not occur in training, but all their words do.
    """

    vocab_size = 1500
    linearization = "lexicalised"

    def trees(self, split, tmp_dir):
        return iter(treebank.trees(split))
