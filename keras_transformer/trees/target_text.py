"""Trees as the text that a model writes, in the form that its vocabulary tells.

Three forms: "normalised" and "tagged" are those of `linearization`;
"lexicalised" is the normalised one with each word in its place: `(S (NP The dog
)NP (VP barks )VP )S`. It takes no longer to write than its words have pieces,
and it spares the model what is hard to learn from few trees: to count, between
the brackets, at which word of the sentence it is.
"""

from keras_transformer.token_ids import FIRST_BYTE
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import WORD_START
from keras_transformer.trees.linearization import LEAF
from keras_transformer.trees.linearization import delinearize
from keras_transformer.trees.linearization import is_well_formed
from keras_transformer.trees.linearization import kind
from keras_transformer.trees.linearization import label
from keras_transformer.trees.linearization import linearize
from keras_transformer.trees.linearization import repair
from keras_transformer.trees.linearization import symbols_of
from keras_transformer.trees.punctuation import tag_punctuation

FORMS = ("normalised", "tagged", "lexicalised")


def write_tree(tree, form):
    """Returns the text that a model is to write for a tree.

    Args:
        tree: a `Tree`.
        form: one of `FORMS`.

    Example:

    >>> from keras_transformer.trees.tree import parse_tree
    >>> tree = parse_tree("(TOP (S (NP (NNP Pierre)) (VP (VBZ joins))))")
    >>> write_tree(tree, "normalised"), write_tree(tree, "lexicalised")
    ('(S (NP XX )NP (VP XX )VP )S', '(S (NP Pierre )NP (VP joins )VP )S')
    """
    symbols = linearize(tree, form == "tagged")
    if form == "lexicalised":
        symbols = _with_words(symbols, tree.words())
    return " ".join(symbols)


def read_tree(text, words, form):
    """Returns the tree in what a model wrote, repaired if need be.

    Args:
        text: a str, whatever it holds.
        words: list of str, the sentence; at least one.
        form: one of `FORMS`.

    Returns:
        a `Tree`. In the tagged form its words have the tags that were written,
        in the others XX; but what is punctuation is known by the word, see
        `tag_punctuation`.
    """
    symbols = text.split()
    if form == "lexicalised":
        symbols = _without_words(symbols)
    symbols = repair(symbols, len(words), form == "tagged")
    return tag_punctuation(delinearize(symbols, words))


def is_tree(text, words, form):
    """Returns whether a text is a well-formed tree over the words.

    Args: as for `read_tree`.
    """
    symbols = text.split()
    if form != "lexicalised":
        return is_well_formed(symbols, len(words))
    bare = _without_words(symbols)
    if not is_well_formed(bare, len(words)):
        return False
    return _with_words(bare, words) == symbols


def tree_symbols(trees, form):
    """Returns the sorted list of the symbols that trees are written with.

    Args:
        trees: iterable of `Tree`.
        form: one of `FORMS`.
    """
    symbols = symbols_of(trees, form == "tagged")
    return [s for s in symbols if form != "lexicalised" or s != LEAF]


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
    symbols = {i: s for i, s in symbols.items() if kind(s)}
    return symbols if form_of(symbols.values()) else {}


def linearization_of(vocabulary):
    """Returns in which of `FORMS` a model with a vocabulary writes trees.

    Args:
        vocabulary: a `Subwords`.

    Returns:
        a str; None if the vocabulary is none of trees.
    """
    return form_of(symbol_ids(vocabulary).values())


def form_of(symbols):
    """Returns which of `FORMS` a set of symbols is made for.

    Args:
        symbols: strings, all of them symbols.

    Returns:
        a str; None unless there is a closing bracket for each opening one, and
        a leaf in the tagged form.
    """
    labels = {"open": set(), "close": set(), "leaf": set()}
    for symbol in symbols:
        labels[kind(symbol)].add(label(symbol))
    if not labels["open"] or labels["open"] != labels["close"]:
        return None
    if not labels["leaf"]:
        is_round = all(symbol[0] in "()" for symbol in symbols)
        return "lexicalised" if is_round else None
    return "normalised" if labels["leaf"] == {LEAF} else "tagged"


def _with_words(symbols, words):
    words = iter(words)
    return [next(words) if symbol == LEAF else symbol for symbol in symbols]


def _without_words(symbols):
    """Takes what is no bracket for a word."""
    return [
        symbol if symbol[0] in "()" and kind(symbol) else LEAF
        for symbol in symbols
    ]
