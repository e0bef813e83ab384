"""Which words of a tree are punctuation: the words tell it, not the model."""

from keras_transformer.trees.tree import escape
from keras_transformer.trees.tree import steps
from keras_transformer.trees.tree import trees_of

_TAGS = {
    **dict.fromkeys([".", "?", "!"], "."),
    **dict.fromkeys([":", ";", "-", "--", "..."], ":"),
    **dict.fromkeys(["``", "`"], "``"),
    **dict.fromkeys(["-LRB-", "-LCB-", "-LSB-"], "-LRB-"),
    **dict.fromkeys(["-RRB-", "-RCB-", "-RSB-"], "-RRB-"),
    **{word: word for word in (",", "''", "$", "#")},
}
_IGNORED_TAGS = {",", ":", "``", "''", "."}  # by EVALB with COLLINS.prm
_ANY_WORD = "NN"


def tag_punctuation(tree):
    """Return a tree in which punctuation, and no other word, is tagged so.

    EVALB takes words that are tagged as punctuation out of a tree. A model that
    calls a word so by mistake would give it a tree over other words than the
    gold one, and such a tree counts nothing.

    Example:

    >>> from keras_transformer.trees.tree import parse_tree
    >>> tag_punctuation(parse_tree("(S (. Dogs) (XX bark) (XX .))"))
    parse_tree('(S (NN Dogs) (XX bark) (. .))')
    """
    tags = iter(_punctuation(tree.words()))
    (tree,) = trees_of(
        (step, _tag(label, next(tags)) if step == "leaf" else label, word)
        for step, label, word in steps(tree)
    )
    return tree


def _tag(tag, punctuation):
    if punctuation:
        return punctuation
    return _ANY_WORD if tag in _IGNORED_TAGS else tag


def _punctuation(words):
    """Return the list of the words' tags as punctuation, None of the others.

    A single quote is one after an opening one and after punctuation, else the
    sign of a possessive: so it is in all 68 places of the treebank's sample.
    """
    tags = []
    is_quoted = False
    for word in words:
        tag = _TAGS.get(escape(word))
        if word == "'" and (is_quoted or not tags or tags[-1]):
            tag = "''"
        if word in ("`", "'"):
            is_quoted = word == "`"
        tags.append(tag)
    return tags
