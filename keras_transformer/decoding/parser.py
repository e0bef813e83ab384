"""Parses sentences with a translator whose model writes trees."""

import collections
import dataclasses

from keras_transformer.decoding import ensembles
from keras_transformer.decoding.minimum_bayes_risk import joined
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.decoding.windows import check_pairs
from keras_transformer.decoding.windows import check_texts
from keras_transformer.decoding.windows import in_windows
from keras_transformer.decoding.windows import numbered_texts
from keras_transformer.decoding.word_links import SPACED_WORD
from keras_transformer.token_ids import WORD_START
from keras_transformer.trees.symbols import LEAF
from keras_transformer.trees.target_text import is_tree
from keras_transformer.trees.target_text import read_tree
from keras_transformer.trees.target_text import write_tree
from keras_transformer.trees.tokenizer import tokenize
from keras_transformer.trees.tree import escape
from keras_transformer.trees.tree import parse_tree
from keras_transformer.trees.tree import replace_tags


class Parser(TextTranslator):
    """Parses sentences with a trained model.

    The result is always a well-formed tree over the words of the sentence. A
    search that is not constrained to trees (`constrained=False`, or a
    CTranslate2 model) can write something else. The parser repairs it and
    counts it in `num_malformed`.

    A parser is called like a `Translator`. Its outputs are trees in brackets,
    str that `nltk.Tree.fromstring` accepts.

    Args:
        translator: A `Translator`, `SavedModelTranslator` or
            `CTranslate2Translator` of a parsing run.
        tokenized: Whether the sentences are words with spaces between them, as
            in a treebank, instead of raw text. Defaults to False.
        tagger: A `Tagger`, which gives the words their parts of speech where
            the model writes none. Defaults to None, which means XX.

    Raises:
        ValueError: If the translator's model was not trained to parse.

    Example:

        parser = Parser.load("runs/parser")
        parser(["The dog barks."])
        # ["(TOP (S (NP (XX The) (XX dog)) (VP (XX barks)) (. .)))"]
    """

    def __init__(self, translator, tokenized=False, tagger=None):
        if translator.linearization is None:
            raise ValueError(
                "A parser must have a model that was trained to parse. "
                "Received: one without brackets in its vocabulary. Use it as "
                "a `Translator`."
            )
        self.translator = translator
        self.tokenized = tokenized
        self.tagger = tagger
        self.linearization = translator.linearization
        self.options = translator.options
        self.max_tokens = translator.max_tokens
        self.num_malformed = 0

    @classmethod
    def load(cls, path, step=None, precision="float32", tokenized=False):
        """Opens a run, an ensemble or an exported model as a parser.

        Args:
            path: Directory or list of directories, see `Translator.load`.
            step: Integer, "best" or a list, see `Translator.load`.
            precision: Str, see `Translator.load`.
            tokenized: Boolean, see `Parser`.

        Returns:
            A `Parser`.
        """
        from keras_transformer.decoding.translator import Translator

        path = ensembles.directories(path)  # an iterator can be read only once
        translator = Translator.load(path, step, precision)
        return cls(translator, tokenized, find_tagger(translator, path, step))

    def hypotheses(
        self, texts, report=None, prefixes=None, seed=0, start=0, **options
    ):
        check_texts(texts)
        if prefixes is not None:
            raise ValueError(
                "`prefixes` must be None for a parser. Received: prefixes. "
                "Leave them out."
            )
        # The translator reads a window of sentences before it yields the first
        # hypotheses, and each tree needs the words of its own sentence.
        undecoded = collections.deque()

        def sentences():
            for _, text in numbered_texts(texts, start):
                undecoded.append(self.words(text))
                # As in the training data, spaces separate the words.
                yield " ".join(undecoded[-1])

        joins = bool(options.get("mbr_samples"))
        if joins:
            search_options = self.changed_options(**options).to_search_options()
            options = dataclasses.asdict(search_options)
        decoded = self.translator.hypotheses(
            sentences(), report, seed=seed, start=start, **options
        )
        for window in in_windows(decoded):
            all_words = [undecoded.popleft() for _ in window]
            all_tags = self._tags(all_words)
            for hypotheses, words, tags in zip(window, all_words, all_tags):
                hypotheses = [
                    one._replace(text=self._tree(one.text, words, tags))
                    for one in hypotheses
                ]
                is_joined = joins and words
                yield [self._joined(hypotheses)] if is_joined else hypotheses

    def score(self, texts, trees, alpha=None):
        """Scores trees as an unconstrained search would score them.

        Args:
            texts: List of str.
            trees: List of trees in brackets, one str for each text.
            alpha: Float, exponent of the length penalty. Defaults to the run's.

        Returns:
            List of float: log-probabilities divided by the length penalty.
        """
        check_pairs(texts, trees)
        sentences = list(map(self.spaced, texts))
        symbols = list(map(self.symbols, trees))
        return self.translator.score(sentences, symbols, alpha)

    def changed_options(self, **changes):
        options = self.translator.changed_options(**changes)
        if options.mbr_samples and options.num_hypotheses > 1:
            raise ValueError(
                "`num_hypotheses` must be 1 where `mbr_samples` makes one tree "
                f"of all samples. Received: num_hypotheses="
                f"{options.num_hypotheses}, mbr_samples={options.mbr_samples}. "
                "Leave one of them out."
            )
        return options

    def attention(self, texts, hypotheses):
        sentences = list(map(self.spaced, texts))
        return self.translator.attention(sentences, hypotheses)

    def word_links(self, texts, hypotheses, pattern=SPACED_WORD):
        sentences = list(map(self.spaced, texts))
        return self.translator.word_links(sentences, hypotheses, pattern)

    def num_tokens(self, texts, of_targets=False):
        if not of_targets:
            texts = list(map(self.spaced, texts))
        return self.translator.num_tokens(texts, of_targets=of_targets)

    def check_lengths(self, texts, name="the input"):
        check_texts(texts)
        return self.translator.check_lengths(map(self.spaced, texts), name)

    def check_translations(self, trees, name="the input"):
        symbols = (
            self.symbols(tree, name, line) for line, tree in enumerate(trees, 1)
        )
        return self.translator.check_translations(symbols, name)

    def words(self, text):
        """Returns the words of a sentence as a treebank spells them."""
        # SentencePiece writes this character for a space.
        text = text.replace(WORD_START, " ")
        if self.tokenized:
            return list(map(escape, text.split()))
        return tokenize(text)

    def spaced(self, text):
        """Returns the words of a sentence with spaces between them.

        The model reads sentences like this, as in the training data.
        """
        return " ".join(self.words(text))

    def symbols(self, tree, name="the text", line=1):
        """Returns the symbols that the model writes for a tree in brackets.

        Args:
            tree: The tree, a str.
            name: What an error message calls the text. Defaults to "the text".
            line: Integer number of its line. Defaults to 1.
        """
        return write_tree(parse_tree(tree, name, line), self.linearization)

    def _joined(self, samples):
        """Returns the consensus of samples with the ids of its symbols."""
        tree = joined(samples)
        symbols = self.symbols(tree.text)
        (ids,) = self.translator.encode_targets([(1, symbols)])
        return tree._replace(ids=ids)

    def _tags(self, sentences):
        """Returns the tags of each sentence, or None for each."""
        if self.tagger is None:
            return [None] * len(sentences)
        return self.tagger(sentences)

    def _tree(self, decoded, words, tags):
        """Returns the tree that the model wrote, repaired if necessary."""
        if not words:  # a blank text has no tree
            return ""
        self.num_malformed += not is_tree(decoded, words, self.linearization)
        tree = read_tree(decoded, words, self.linearization)
        if tags:
            pairs = zip(tree.tags(), tags, strict=True)
            # Punctuation has its tag from the word already.
            tree = replace_tags(tree, [t if o == LEAF else o for o, t in pairs])
        return str(tree)


def find_tagger(translator, path, step=None):
    """Opens the tagger of a run that parses.

    Args:
        translator: What `Translator.load` returned for the same arguments.
        path, step: As for `Translator.load`. An ensemble has the tagger of its
            first run.

    Returns:
        A `Tagger`, or None if the run has none or the model is an exported one.
    """
    paths = ensembles.directories(path)
    if translator.linearization is None or ensembles.format_of(paths):
        return None
    # Imported here because an exported model starts faster without Keras.
    from keras_transformer.decoding.pos_tagger import load_tagger

    runs = ensembles.open_runs(paths)
    step = ensembles.find_steps(runs, step)[0]
    model, *_ = getattr(translator.model, "models", [translator.model])
    return load_tagger(runs[0], step, model)
