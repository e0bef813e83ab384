"""What a parser does to its texts and symbols, and how it joins trees."""

import math
import re

from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.steps import Step
from keras_transformer.parsing import consensus
from keras_transformer.parsing import target_text
from keras_transformer.parsing.tokenizer import tokenize
from keras_transformer.parsing.tree import escape
from keras_transformer.parsing.tree import join_spaces
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.token_ids import WORD_START


class Trees(Step):
    """Turns sentences into words, and symbols into trees over these words.

    `num_outputs` counts the outputs so far, samples and all hypotheses of a
    beam among them, and `num_malformed` those that were not trees.
    """

    def __init__(self, codec, tokenized=False):
        self._linearization = codec.linearization
        self._normalize = codec.normalize
        self._tokenized = tokenized
        self.num_outputs = self.num_malformed = 0

    def prepare(self, texts):
        words = list(map(self.split, texts))
        # As in the training data, spaces separate the words.
        return list(map(" ".join, words)), words

    def prepare_targets(self, texts):
        return [self.write(text, line=i) for i, text in enumerate(texts, 1)]

    def check_target(self, text, name, line):
        self.write(text, name, line)

    def finish(self, hypotheses, memory):
        return [
            [one._replace(text=self._read(one.text, words)) for one in each]
            for each, words in zip(hypotheses, memory)
        ]

    def split(self, text):
        """Returns the words of a sentence as a treebank spells them."""
        # SentencePiece writes this character for a space.
        text = text.replace(WORD_START, " ")
        if self._tokenized:
            words = map(escape, map(join_spaces, re.split(r"[ \t-\r]+", text)))
            # The model reads no word that consists of invisible marks.
            return [word for word in words if self._normalize(word).strip()]
        return tokenize(self._normalize(text))

    def write(self, tree, name="the text", line=1):
        """Returns the symbols that the model writes for a tree in brackets.

        Error messages call the tree `name` and its line `line`.
        """
        parsed = parse_tree(tree, name, line)
        return target_text.write_tree(parsed, self._linearization)

    def _read(self, symbols, words):
        """Returns the tree that the model wrote, repaired if necessary."""
        if not words:  # a blank text has no tree
            return ""
        self.num_outputs += 1
        self.num_malformed += not target_text.is_tree(
            symbols, words, self._linearization
        )
        return str(target_text.read_tree(symbols, words, self._linearization))


class Consensus(Step):
    """Joins the trees of each sentence, and the chart if the run has one.

    The trees are samples, which count the same, or hypotheses of a beam, which
    count by their probabilities. The score of the result, from 0 to 100, is its
    expected F1; see `estimate_f1`.
    """

    def __init__(self, parser, options):
        self._parser = parser
        self._options = options

    def finish(self, hypotheses, memory):
        parses = [
            [parse_tree(one.text) for one in each if one.text]
            for each in hypotheses
        ]
        charts = [()] * len(parses)
        if chart := self._parser.chart:
            charts = chart([each[0].words() if each else [] for each in parses])
        return [
            [self._join(some, each, chart)] if some else each
            for some, each, chart in zip(parses, hypotheses, charts)
        ]

    def _join(self, trees, hypotheses, chart):
        weights = self._weigh(hypotheses)
        tree = consensus.find_consensus(trees, weights, chart)
        score = consensus.estimate_f1(tree, trees, weights, chart)
        (ids,) = self._parser.encode([str(tree)], of_targets=True)
        return Hypothesis(str(tree), score, ids)

    def _weigh(self, hypotheses):
        if self._options.mbr_samples:
            return [1] * len(hypotheses)
        # Their probabilities, without the length penalty.
        logarithms = [
            one.score * ((5 + len(one.ids)) / 6) ** self._options.alpha
            for one in hypotheses
        ]
        # Relative to the largest, the weights of a long sentence do not vanish.
        return [math.exp(one - max(logarithms)) for one in logarithms]
