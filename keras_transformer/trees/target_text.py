"""Trees as the text that a model writes, in one of three linearizations.

"normalised" and "tagged" are written in the symbols of the module
`linearization`. "lexicalised" is the normalised one with each word in its
place: `(S (NP The dog )NP (VP barks )VP )S`.

A lexicalised tree is no longer than the pieces of its words and its brackets.
It also spares the model what is hard to learn from few trees: to count, between
the brackets, at which word of the sentence it is.
"""

from keras_transformer.token_ids import FIRST_BYTE
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import WORD_START
from keras_transformer.trees.linearization import LEAF
from keras_transformer.trees.linearization import delinearize
from keras_transformer.trees.linearization import is_well_formed
from keras_transformer.trees.linearization import linearization_of_symbols
from keras_transformer.trees.linearization import linearize
from keras_transformer.trees.linearization import repair
from keras_transformer.trees.linearization import symbol_kind
from keras_transformer.trees.punctuation import tag_punctuation


def write_tree(tree, linearization):
    """Returns the text that a model is to write for a tree.

    Args:
        tree: a `Tree`.
        linearization: one of `LINEARIZATIONS`.

    Example:

    >>> from keras_transformer.trees.tree import parse_tree
    >>> tree = parse_tree("(TOP (S (NP (NNP Pierre)) (VP (VBZ joins))))")
    >>> write_tree(tree, "normalised"), write_tree(tree, "lexicalised")
    ('(S (NP XX )NP (VP XX )VP )S', '(S (NP Pierre )NP (VP joins )VP )S')
    """
    symbols = linearize(tree, linearization)
    if linearization == "lexicalised":
        symbols = _with_words(symbols, tree.words())
    return " ".join(symbols)


def read_tree(text, words, linearization):
    """Returns the tree in what a model wrote, repaired if need be.

    Args:
        text: a str, whatever it holds.
        words: list of str, the sentence; at least one.
        linearization: one of `LINEARIZATIONS`.

    Returns:
        a `Tree`. In the tagged one its words have the tags that were written,
        in the others XX; but what is punctuation is known by the word, see
        `tag_punctuation`.
    """
    symbols = text.split()
    if linearization == "lexicalised":
        symbols = _without_words(symbols)
    symbols = repair(symbols, len(words), linearization)
    return tag_punctuation(delinearize(symbols, words))


def is_tree(text, words, linearization):
    """Returns whether a text is a well-formed tree over the words.

    Args: as for `read_tree`.
    """
    symbols = text.split()
    if linearization != "lexicalised":
        return is_well_formed(symbols, len(words))
    bare = _without_words(symbols)
    if not is_well_formed(bare, len(words)):
        return False
    return _with_words(bare, words) == symbols


def symbol_ids(vocabulary):
    """Returns the symbols of trees in a vocabulary.

    It is one of trees if `train_subwords` was given their symbols. Those alone
    have ids before the bytes'.

    Args:
        vocabulary: a `Subwords`.

    Returns:
        dictionary of id to symbol; an empty one if they are not complete.
    """
    pieces = vocabulary.pieces(range(vocabulary.vocab_size))
    end = pieces.index(FIRST_BYTE) if FIRST_BYTE in pieces else 0
    symbols = {
        id_: pieces[id_].removeprefix(WORD_START)
        for id_ in range(FIRST_SYMBOL_ID, end)
        if pieces[id_].startswith(WORD_START)
    }
    symbols = {i: s for i, s in symbols.items() if symbol_kind(s)}
    return symbols if linearization_of_symbols(symbols.values()) else {}


def linearization_of(vocabulary):
    """Returns the linearization in which a model with a vocabulary writes.

    Args:
        vocabulary: a `Subwords`.

    Returns:
        a str; None if the vocabulary is none of trees.
    """
    return linearization_of_symbols(symbol_ids(vocabulary).values())


def _with_words(symbols, words):
    words = iter(words)
    return [next(words) if symbol == LEAF else symbol for symbol in symbols]


def _without_words(symbols):
    """Takes what is no bracket for a word."""
    return [
        symbol if symbol[0] in "()" and symbol_kind(symbol) else LEAF
        for symbol in symbols
    ]
