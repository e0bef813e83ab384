"""Parses sentences with a translator whose model writes trees."""

import dataclasses

from keras_transformer.decoding import exported
from keras_transformer.decoding.selection import join_trees
from keras_transformer.decoding.steps import Step
from keras_transformer.decoding.texts import check_texts
from keras_transformer.decoding.translator import Translator
from keras_transformer.decoding.translator import open_engine
from keras_transformer.errors import UserError
from keras_transformer.token_ids import WORD_START
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


class Parser(Translator):
    """Parses sentences with a trained model.

    The result is always a well-formed tree over the words of the sentence. A
    search that is not constrained to trees (`constrained=False`, or a
    CTranslate2 model) can write something else. The parser repairs it and
    counts it in `trees.num_malformed`.

    A parser is called like a `Translator`. Its outputs are trees in brackets,
    str that `nltk.Tree.fromstring` accepts.

    Args:
        engine: The engine of a model that was trained to parse.
        tokenized: Whether the sentences are words with spaces between them, as
            in a treebank, instead of raw text. Defaults to False.
        tagger: A `Tagger`, which gives the words their parts of speech where
            the model writes none. Defaults to None, which means XX.
        steps: List of `Step` that precede. Defaults to none.

    Example:

        parser = Parser.load("runs/parser")
        parser(["The dog barks."])
        # ["(TOP (S (NP (XX The) (XX dog)) (VP (XX barks)) (. .)))"]
    """

    def __init__(self, engine, tokenized=False, tagger=None, steps=()):
        if engine.linearization is None:
            raise UserError(
                "A parser must have a model that was trained to parse. "
                "Received: one without brackets in its vocabulary. Use it as "
                "a `Translator`."
            )
        self.tagger = tagger
        self.trees = Trees(
            engine.linearization, tokenized, tagger, engine.codec.normalize
        )
        super().__init__(engine, [*steps, self.trees])

    @classmethod
    def load(cls, path, step=None, precision="float32", tokenized=False):
        """Opens a model as a parser, see `Translator.load` and `Parser`."""
        paths = exported.list_directories(path)
        engine = open_engine(paths, step, precision)
        return cls(engine, tokenized, find_tagger(engine, paths, step))

    def hypotheses(
        self,
        texts,
        report=None,
        prefixes=None,
        seed=0,
        start=0,
        scored=True,
        **options,
    ):
        if prefixes is not None:
            raise UserError(
                "`prefixes` must be None for a parser. Received: prefixes. "
                "Leave them out."
            )
        check_texts(texts)
        things = {
            name: options.pop(name, None) for name in ("glossary", "protect")
        }
        options = self.change_options(**options)
        for each in super().hypotheses(
            texts,
            report,
            seed=seed,
            start=start,
            scored=scored,
            **things,
            **dataclasses.asdict(options.to_search_options()),
        ):
            is_joined = options.mbr_samples and each[0].text
            yield [self._join(each)] if is_joined else each

    def change_options(self, **changes):
        options = super().change_options(**changes)
        if options.mbr_samples and options.num_hypotheses > 1:
            raise UserError(
                "`num_hypotheses` must be 1 where `mbr_samples` makes one tree "
                f"of all samples. Received: num_hypotheses="
                f"{options.num_hypotheses}, mbr_samples={options.mbr_samples}. "
                "Leave one of them out."
            )
        return options

    def check_translations(self, trees, name="the input"):
        def check_trees():
            for line, tree in enumerate(trees, 1):
                self.trees.write(tree, name, line)  # the error names the line
                yield tree

        return super().check_translations(check_trees(), name)

    def _join(self, samples):
        """Returns the consensus of samples with the ids of its symbols."""
        tree = join_trees(samples)
        (ids,) = self.encode_targets([(1, tree.text)])
        return tree._replace(ids=ids)


def find_tagger(engine, paths, step=None):
    """Opens the `Tagger` of a run that parses, or of the first of an ensemble.

    Returns None if the run has none or the model is an exported one.
    """
    if engine.linearization is None or exported.find_format(paths):
        return None
    # Imported here because an exported model starts faster without Keras.
    from keras_transformer.decoding.engines import keras_engine
    from keras_transformer.decoding.pos_tagger import load_tagger

    runs = keras_engine.open_runs(paths)
    step = keras_engine.find_steps(runs, step)[0]
    model, *_ = getattr(engine.model, "models", [engine.model])
    return load_tagger(runs[0], step, model)
