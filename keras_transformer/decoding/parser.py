"""Parses sentences with a translator whose model writes trees."""

from collections.abc import Iterable
from collections.abc import Sequence

from keras_transformer.decoding.engines import Engine
from keras_transformer.decoding.engines import Hypothesis
from keras_transformer.decoding.steps import Step
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import WORD_START
from keras_transformer.trees.consensus import estimate_f1
from keras_transformer.trees.consensus import find_consensus
from keras_transformer.trees.symbols import LEAF
from keras_transformer.trees.target_text import is_tree
from keras_transformer.trees.target_text import read_tree
from keras_transformer.trees.target_text import write_tree
from keras_transformer.trees.tokenizer import tokenize
from keras_transformer.trees.tree import escape
from keras_transformer.trees.tree import parse_tree
from keras_transformer.trees.tree import replace_tags


class Trees(Step):
    """Turns sentences into words, and symbols into trees over these words.

    `num_malformed` counts the outputs so far that were no trees.
    """

    def __init__(self, linearization, tokenized, tagger, normalize):
        self._linearization = linearization
        self._tokenized = tokenized
        self._tagger = tagger
        self._normalize = normalize
        self.num_malformed = 0

    def prepare(self, texts):
        words = list(map(self.split, texts))
        # As in the training data, spaces separate the words.
        return list(map(" ".join, words)), words

    def prepare_targets(self, texts):
        return list(map(self.write, texts))

    def finish(self, hypotheses, memory):
        tags = [None] * len(memory)
        if self._tagger:
            tags = self._tagger(memory)
        return [
            [
                one._replace(text=self._read(one.text, words, tags_of_words))
                for one in each
            ]
            for each, words, tags_of_words in zip(hypotheses, memory, tags)
        ]

    def split(self, text):
        """Returns the words of a sentence as a treebank spells them."""
        # SentencePiece writes this character for a space.
        text = text.replace(WORD_START, " ")
        if self._tokenized:
            words = map(escape, text.split())
            # The model reads no word that consists of invisible marks.
            return [word for word in words if self._normalize(word).strip()]
        return tokenize(self._normalize(text))

    def write(self, tree, name="the text", line=1):
        """Returns the symbols that the model writes for a tree in brackets.

        `name` and `line` are what an error message calls the tree and its line.
        """
        return write_tree(parse_tree(tree, name, line), self._linearization)

    def _read(self, symbols, words, tags):
        """Returns the tree that the model wrote, repaired if necessary."""
        if not words:  # a blank text has no tree
            return ""
        self.num_malformed += not is_tree(symbols, words, self._linearization)
        tree = read_tree(symbols, words, self._linearization)
        if tags:
            pairs = zip(tree.tags(), tags, strict=True)
            # Punctuation has its tag from the word already.
            tree = replace_tags(tree, [t if o == LEAF else o for o, t in pairs])
        return str(tree)


class Consensus(Step):
    """Joins the samples of each sentence into one tree.

    Its score, from 0 to 100, is its mean F1 with each sample as the gold tree.
    """

    def __init__(self, parser):
        self._parser = parser

    def finish(self, hypotheses, memory):
        return [
            [self._join(each)] if each[0].text else each for each in hypotheses
        ]

    def _join(self, samples):
        trees = [parse_tree(sample.text) for sample in samples]
        weights = [1] * len(trees)
        tree = find_consensus(trees, weights)
        score = estimate_f1(tree, trees, weights)
        (ids,) = self._parser.encode_targets([(1, str(tree))])
        return Hypothesis(str(tree), score, ids)


class Parser(Translator):
    """Parses sentences with a trained model.

    The result is always a well-formed tree over the words of the sentence. A
    search that is not constrained to trees (`constrained=False`, or a
    CTranslate2 model) can write something else. The parser repairs it and
    counts it in `trees.num_malformed`.

    A parser is called like a `Translator`. Its outputs are trees in brackets,
    str that `nltk.Tree.fromstring` accepts.

    Args:
        engine: The engine of a model that was trained to parse. If it has a
            `Tagger`, that gives the words their parts of speech where the model
            writes none. Otherwise they are XX.
        tokenized: Whether the sentences are words with spaces between them, as
            in a treebank, instead of raw text. Defaults to False.
        steps: List of `Step` that precede. Defaults to none.

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
    ):
        if engine.linearization is None:
            raise UserError(
                "A parser must have a model that was trained to parse. "
                "Received: one without brackets in its vocabulary. Use it as "
                "a `Translator`."
            )
        self.trees = Trees(
            engine.linearization,
            tokenized,
            engine.tagger,
            engine.codec.normalize,
        )
        super().__init__(engine, [*steps, self.trees])

    def change_options(self, **changes) -> DecodeOptions:
        options = super().change_options(**changes)
        if options.mbr_samples and options.num_hypotheses > 1:
            raise UserError(
                "`num_hypotheses` must be 1 where `mbr_samples` makes one tree "
                f"of all samples. Received: num_hypotheses="
                f"{options.num_hypotheses}, mbr_samples={options.mbr_samples}. "
                "Leave one of them out."
            )
        return options

    def check_translations(
        self, trees: Iterable[str], name: str = "the input"
    ) -> int:
        def check_trees():
            for line, tree in enumerate(trees, 1):
                self.trees.write(tree, name, line)  # the error names the line
                yield tree

        return super().check_translations(check_trees(), name)

    def combine_steps(
        self, options: DecodeOptions, *others, **constraints
    ) -> list[Step]:
        steps = super().combine_steps(options, *others, **constraints)
        # The first step finishes last, when the samples are trees.
        return [Consensus(self), *steps] if options.mbr_samples else steps
