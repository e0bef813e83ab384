"""Parses sentences with a translator whose model writes trees."""

import math
import re
import typing
from collections.abc import Sequence

from keras_transformer.decoding.engine_plan import EnginePlan
from keras_transformer.decoding.engines.engine import Engine
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.preparation import Call
from keras_transformer.decoding.steps import Step
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.parsing.consensus import estimate_f1
from keras_transformer.parsing.consensus import find_consensus
from keras_transformer.parsing.target_text import is_tree
from keras_transformer.parsing.target_text import read_tree
from keras_transformer.parsing.target_text import write_tree
from keras_transformer.parsing.tokenizer import tokenize
from keras_transformer.parsing.tree import escape
from keras_transformer.parsing.tree import join_spaces
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import WORD_START

if typing.TYPE_CHECKING:
    from keras_transformer.parsing.chart import Chart


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
        return list(map(self.write, texts))

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
        return write_tree(parse_tree(tree, name, line), self._linearization)

    def _read(self, symbols, words):
        """Returns the tree that the model wrote, repaired if necessary."""
        if not words:  # a blank text has no tree
            return ""
        self.num_outputs += 1
        self.num_malformed += not is_tree(symbols, words, self._linearization)
        return str(read_tree(symbols, words, self._linearization))


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
        trees = [
            [parse_tree(one.text) for one in each if one.text]
            for each in hypotheses
        ]
        charts = [()] * len(trees)
        if chart := self._parser.chart:
            charts = chart([each[0].words() if each else [] for each in trees])
        return [
            [self._join(parses, each, chart)] if parses else each
            for parses, each, chart in zip(trees, hypotheses, charts)
        ]

    def _join(self, trees, hypotheses, chart):
        weights = self._weigh(hypotheses)
        tree = find_consensus(trees, weights, chart)
        score = estimate_f1(tree, trees, weights, chart)
        (ids,) = self._parser.encode_targets([str(tree)])
        return Hypothesis(str(tree), score, ids)

    def _weigh(self, hypotheses):
        if self._options.mbr_samples:
            return [1] * len(hypotheses)
        # Their probabilities, without the length penalty.
        logarithms = [
            one.score * ((5 + len(one.ids)) / 6) ** self._options.alpha
            for one in hypotheses
        ]
        # Relative to the largest, those of a long sentence do not vanish.
        return [math.exp(one - max(logarithms)) for one in logarithms]


class Parser(Translator):
    """Parses sentences with a trained model.

    The result is always a well-formed tree over the words of the sentence. A
    search that is not constrained to trees (`constrained=False`, or a
    CTranslate2 model) can write something else. The parser repairs it and
    counts it in its attribute `trees.num_malformed`.

    A parser is called like a `Translator`. Its outputs are trees in brackets,
    str that `nltk.Tree.fromstring` accepts.

    Args:
        engine: The engine of a model that was trained to parse.
        tokenized: Whether the sentences are words with spaces between them, as
            in a treebank, instead of raw text. Defaults to False.
        steps: List of `Step` that come before parsing. Defaults to none.
        chart: The `Chart` that finds the constituents. Defaults to None.

    Example:

        parser = Parser.load("runs/parser")
        parser(["The dog barks."])
        # ["(TOP (S (NP (XX The) (XX dog)) (VP (XX barks)) (. .)))"]
    """

    sorts_samples = False  # a step joins them

    def __init__(
        self,
        engine: Engine,
        tokenized: bool = False,
        steps: Sequence[Step] = (),
        chart: "Chart | None" = None,
    ):
        if engine.codec.linearization is None:
            raise UserError(
                "A parser must have a model that was trained to parse. "
                "Received: one without brackets in its vocabulary. Use it as "
                "a `Translator`."
            )
        self.chart = chart
        self.trees = Trees(engine.codec, tokenized)
        super().__init__(engine, [*steps, self.trees])

    @classmethod
    def from_plan(cls, plan: EnginePlan, **options) -> typing.Self:
        engine = plan.open_engine()
        return cls(engine, chart=plan.open_chart(engine), **options)

    def combine_steps(self, call: Call) -> list[Step]:
        steps = super().combine_steps(call)
        # The first step finishes last, when the samples are trees.
        if call.options.mbr_samples or self._uses_chart(call.options):
            return [Consensus(self, call.options), *steps]
        return steps

    def choose_search(self, options: DecodeOptions) -> DecodeOptions:
        if options.mbr_samples or not self._uses_chart(options):
            return options
        return options.replace(num_hypotheses=options.num_beams)

    def _uses_chart(self, options):
        # Several trees, or samples, come only from the decoder.
        is_single = options.num_hypotheses == 1 and not options.temperature
        return bool(self.chart) and is_single
