"""Writes and reads trees as the text that a model learns to write.

"lexicalised" and "in_order" text has the words instead of XX (module
`linearization`): `(S (NP The dog )NP (VP barks )VP )S`, and
`The NP( dog NP) S( barks VP( VP) S)`.

A tree with its words takes as many ids as its brackets and the pieces of its
words. The words spare the model a task that is hard to learn from few trees:
counting which word of the sentence comes next among the brackets.
"""

from keras_transformer.parsing.linearization import LEAF
from keras_transformer.parsing.linearization import WITH_WORDS
from keras_transformer.parsing.linearization import delinearize
from keras_transformer.parsing.linearization import find_tree
from keras_transformer.parsing.linearization import linearize
from keras_transformer.parsing.linearization import read_symbol
from keras_transformer.parsing.tree import escape
from keras_transformer.parsing.tree import replace_tags

# Tags of the treebank's punctuation, by the word after `escape`.
_TAGS = {
    **dict.fromkeys([".", "?", "!"], "."),
    **dict.fromkeys([":", ";", "-", "--", "..."], ":"),
    **dict.fromkeys(["``", "`"], "``"),
    **dict.fromkeys(["-LRB-", "-LCB-", "-LSB-"], "-LRB-"),
    **dict.fromkeys(["-RRB-", "-RCB-", "-RSB-"], "-RRB-"),
    **{",": ",", "''": "''", "$": "$", "#": "#"},
}
_IGNORED_TAGS = {",", ":", "``", "''", "."}  # EVALB with COLLINS.prm
_ANY_WORD = "NN"


def write_tree(tree, linearization):
    """Returns the text that a model learns to write for a tree.

    >>> from keras_transformer.parsing.tree import parse_tree
    >>> tree = parse_tree("(TOP (S (NP (NNP Pierre)) (VP (VBZ joins))))")
    >>> write_tree(tree, "normalised"), write_tree(tree, "lexicalised")
    ('(S (NP XX )NP (VP XX )VP )S', '(S (NP Pierre )NP (VP joins )VP )S')
    >>> write_tree(tree, "in_order")
    'Pierre NP( NP) S( joins VP( VP) S)'
    """
    symbols = linearize(tree, linearization)
    if linearization in WITH_WORDS:
        symbols = _insert_words(symbols, tree.words())
    return " ".join(symbols)


def read_tree(text, words, linearization):
    """Returns the tree that a model wrote, repaired if necessary.

    A tagged tree keeps the tags that the model wrote; in the other
    linearizations every tag is XX. Punctuation is always tagged according to
    the word; see `tag_punctuation`. There must be at least one word.
    """
    symbols = text.split()
    if linearization in WITH_WORDS:
        symbols = _remove_words(symbols)
    return tag_punctuation(delinearize(symbols, words, linearization))


def is_tree(text, words, linearization):
    """Returns whether a text is a well-formed tree over a list of words."""
    symbols = text.split()
    has_words = linearization in WITH_WORDS
    # The brackets and the copied words are checked one after the other.
    bare = _remove_words(symbols) if has_words else symbols
    if not find_tree(bare, len(words), linearization):
        return False
    return not has_words or _insert_words(bare, words) == symbols


def _insert_words(symbols, words):
    # Both have the same number of words, so `words` never runs out.
    words = iter(words)
    return [next(words) if symbol == LEAF else symbol for symbol in symbols]


def _remove_words(symbols):
    """Returns symbols in which everything but brackets is a leaf."""
    # A word holds no round bracket: trees write it as -LRB- or -RRB-.
    return [
        symbol if set(symbol) & set("()") and read_symbol(symbol)[0] else LEAF
        for symbol in symbols
    ]


def tag_punctuation(tree):
    """Returns a tree in which exactly the punctuation is tagged as such.

    EVALB removes words tagged as punctuation. If a model tags another word so,
    EVALB compares trees over different words and drops the sentence.

    >>> from keras_transformer.parsing.tree import parse_tree
    >>> tag_punctuation(parse_tree("(S (. Dogs) (XX bark) (XX .))"))
    parse_tree('(S (NN Dogs) (XX bark) (. .))')
    """
    punctuation = _punctuation(tree.words())
    tags = [_ANY_WORD if t in _IGNORED_TAGS else t for t in tree.tags()]
    return replace_tags(tree, [p or t for p, t in zip(punctuation, tags)])


def _punctuation(words):
    """Returns the list of the words' tags, None for all but punctuation."""
    # A single quote closes a quotation after an opening quote and after
    # punctuation; otherwise it is the sign of a possessive. This rule is right
    # in all 68 cases of the treebank's sample.
    tags = []
    is_quoted = False
    for word in words:
        # Raw words may hold brackets that are not escaped.
        tag = _TAGS.get(escape(word))
        if word == "'" and (is_quoted or not tags or tags[-1]):
            tag = "''"
        # Any apostrophe ends the quotation, even a possessive within it.
        if word in ("`", "'"):
            is_quoted = word == "`"
        tags.append(tag)
    return tags
