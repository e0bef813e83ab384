"""Sentences in, trees out: a translator's twin for parsing runs."""

import collections

from keras_transformer.decoding.batches import check_pairs
from keras_transformer.decoding.batches import check_texts
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.token_ids import WORD_START
from keras_transformer.trees.target_text import is_tree
from keras_transformer.trees.target_text import read_tree
from keras_transformer.trees.target_text import write_tree
from keras_transformer.trees.tokenizer import tokenize
from keras_transformer.trees.tree import escape
from keras_transformer.trees.tree import parse_tree


class Parser(TextTranslator):
    """Parses sentences with a trained model.

    What comes out is always a well-formed tree over the words of the sentence:
    where the search was not constrained to such (`constrained=False`, or a
    CTranslate2 model), it is repaired, and `num_malformed` counts it.

    Called as a `Translator` is; what `Translator` says of translations holds
    for trees, which are str in brackets, as `nltk.Tree.fromstring` takes them.

    Args:
        translator: a `Translator`, `SavedModelTranslator` or
            `CTranslate2Translator` of a parsing run.
        tokenized: whether the sentences are words with spaces between them,
            as the treebank has them, and not raw text.

    Raises:
        ValueError: if the translator's model was not trained to parse.

    Example:

        parser = Parser.load("runs/parser")
        parser(["The dog barks."])
        # ["(TOP (S (NP (XX The) (XX dog)) (VP (XX barks)) (. .)))"]
    """

    def __init__(self, translator, tokenized=False):
        if translator.linearization is None:
            raise ValueError(
                "A parser must have a model that was trained to parse. "
                "Received: one without brackets in its vocabulary. Use it as "
                "a `Translator`."
            )
        self.translator = translator
        self.tokenized = tokenized
        self.linearization = translator.linearization
        self.options = translator.options
        self.num_malformed = 0

    @classmethod
    def load(cls, path, step=None, precision="float32", tokenized=False):
        """Makes the parser of a run's directory or of an exported model.

        Args:
            path, step, precision: as for `Translator.load`.
            tokenized: see `Parser`.
        """
        from keras_transformer.decoding.translator import Translator

        return cls(Translator.load(path, step, precision), tokenized)

    def hypotheses(self, texts, report=None, prefixes=None, seed=0, **options):
        check_texts(texts)
        if prefixes is not None:
            raise ValueError(
                "`prefixes` must go with translation. Received: prefixes for a "
                "parser. Leave them out."
            )
        waiting = collections.deque()

        def sentences():
            for text in texts:
                waiting.append(self.words(text))
                yield " ".join(waiting[-1])

        decoded = self.translator.hypotheses(
            sentences(), report, seed=seed, **options
        )
        for found in decoded:
            words = waiting.popleft()
            yield [
                hypothesis._replace(text=self._tree(hypothesis.text, words))
                for hypothesis in found
            ]

    def score(self, texts, trees, alpha=None):
        """Scores given trees as the search would have scored them.

        Args:
            texts: list of str, sentences.
            trees: list of str in brackets, one for each.
            alpha: exponent of the length penalty, by default that of the run.

        Returns:
            list of float: log-probabilities divided by the length penalty.
        """
        check_pairs(texts, trees)
        sentences = [" ".join(self.words(text)) for text in texts]
        symbols = list(map(self.symbols, trees))
        return self.translator.score(sentences, symbols, alpha)

    def attention(self, texts, found):
        sentences = [" ".join(self.words(text)) for text in texts]
        return self.translator.attention(sentences, found)

    def words(self, text):
        """Returns the words of a sentence, as the treebank has them."""
        text = text.replace(WORD_START, " ")
        if self.tokenized:
            return list(map(escape, text.split()))
        return tokenize(text)

    def symbols(self, tree):
        """Returns what the model writes for a tree in brackets."""
        return write_tree(parse_tree(tree), self.linearization)

    def _tree(self, decoded, words):
        """The tree that the model wrote, repaired if need be."""
        if not words:
            return ""
        self.num_malformed += not is_tree(decoded, words, self.linearization)
        return str(read_tree(decoded, words, self.linearization))
