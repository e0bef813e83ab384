"""Trees as sequences of symbols, and any sequence of symbols as a tree.

Two forms. The normalised one (Vinyals et al., 2015, "Grammar as a Foreign
Language") writes brackets, and one symbol for every word, whatever its tag:
`(S (NP XX XX )NP (VP XX )VP )S`. The tagged one keeps the tags, as
Tensor2Tensor's `wsj_parsing`, but as XML, so that no symbol looks like a word:
`<S> <NP> <DT/> <NN/> </NP> <VP> <VBZ/> </VP> </S>`. The root TOP is left out
where it holds one constituent, as it does in all of the Penn Treebank's sample.
"""

import re

from keras_transformer.trees.repair import repaired_tree
from keras_transformer.trees.tree import ROOT
from keras_transformer.trees.tree import Tree
from keras_transformer.trees.tree import steps
from keras_transformer.trees.tree import trees_of

LEAF = "XX"  # any word, in the normalised form; its tag in a tree read from it
LINEARIZATIONS = ("normalised", "tagged", "lexicalised")
_UNKNOWN = "NN"  # the tag of a word that a tree is repaired with


def linearize(tree, linearization="normalised"):
    """Return the list of symbols that stand for a tree without its words.

    Args:
        tree: a tree, or any constituent, which is taken as what TOP holds.
        linearization: one of `LINEARIZATIONS`. The symbols of "lexicalised" are
            those of "normalised".

    Example:

    >>> from keras_transformer.trees.tree import parse_tree
    >>> tree = parse_tree("(TOP (S (NP (NNP Ada)) (VP (VBZ smiles))))")
    >>> " ".join(linearize(tree))
    '(S (NP XX )NP (VP XX )VP )S'
    >>> " ".join(linearize(tree, "tagged"))
    '<S> <NP> <NNP/> </NP> <VP> <VBZ/> </VP> </S>'
    """
    if tree.is_preterminal:
        tree = Tree(ROOT, (tree,))
    symbols = [
        _symbol(step, name, linearization) for step, name, _ in steps(tree)
    ]
    inner = tree.children[0]
    is_redundant = (
        tree.label == ROOT
        and len(tree.children) == 1
        and not inner.is_preterminal
        and inner.label != ROOT
    )
    return symbols[1:-1] if is_redundant else symbols


def symbols_of(trees, linearization="normalised"):
    """Return the sorted list of the symbols that trees can be written with.

    Both brackets of each label, TOP's among them even where no tree needs
    them, and the symbols of words.
    """
    found = {("open", ROOT), ("close", ROOT)}
    for tree in trees:
        found.update((step, name) for step, name, _ in steps(tree))
    if linearization != "tagged":
        found = {(step, name) for step, name in found if step != "leaf"}
    if linearization == "normalised":
        found.add(("leaf", LEAF))
    return sorted(_symbol(step, name, linearization) for step, name in found)


def linearization_of_symbols(symbols):
    """Returns which of `LINEARIZATIONS` a set of symbols is made for.

    Args:
        symbols: strings, all of them symbols.

    Returns:
        a str; None unless there is a closing bracket for each opening one, and
        a leaf in the tagged linearization.
    """
    labels = {"open": set(), "close": set(), "leaf": set()}
    for symbol in symbols:
        labels[symbol_kind(symbol)].add(symbol_label(symbol))
    if not labels["open"] or labels["open"] != labels["close"]:
        return None
    if not labels["leaf"]:
        is_round = all(symbol[0] in "()" for symbol in symbols)
        return "lexicalised" if is_round else None
    return "normalised" if labels["leaf"] == {LEAF} else "tagged"


def symbol_kind(symbol):
    """Return "open", "close", "leaf", or None if this is no symbol."""
    return _read(symbol)[0]


def symbol_label(symbol):
    """Return a symbol's label or tag, None if this is no symbol.

    >>> symbols = ("(NP", "</NP>", "<NNP/>", "XX", "dog")
    >>> [symbol_label(symbol) for symbol in symbols]
    ['NP', 'NP', 'NNP', 'XX', None]
    """
    return _read(symbol)[1]


def is_well_formed(symbols, num_words):
    """Return whether symbols are one tree over a number of words.

    All of one form, no bracket empty or closed by another label, and nothing
    outside the root's.
    """
    linearizations, open_labels, num_leaves = set(), [], 0
    before = None
    for position, symbol in enumerate(symbols):
        step, name, is_tagged = _read(symbol)
        linearizations.add(is_tagged)
        if step is None or len(linearizations) > 1:
            return False
        if position and not open_labels:
            return False
        if step == "open":
            open_labels.append(name)
        elif not open_labels:
            return False
        elif step == "leaf":
            num_leaves += 1
        elif before == "open" or open_labels.pop() != name:
            return False
        before = step
    return before == "close" and not open_labels and num_leaves == num_words


def delinearize(symbols, words):
    """Return the tree that symbols make of words, with the root TOP.

    It is the tree that they were made of, but for the tags in the normalised
    form, which are all XX.

    Args:
        symbols: well-formed, see `is_well_formed` and `repair`; TOP may stand
            there even where `linearize` leaves it out.
        words: list of str.

    Raises:
        ValueError: if the symbols are not one tree over so many words.
    """
    if not is_well_formed(symbols, len(words)):
        raise ValueError(
            "Symbols must be one tree over the words. Received: "
            f"{len(symbols):,} symbols, which are none over {len(words):,} "
            "words. Use `repair` first."
        )
    remaining = iter(words)
    (tree,) = trees_of(
        (step, name, next(remaining) if step == "leaf" else None)
        for step, name, _ in map(_read, symbols)
    )
    return tree if tree.label == ROOT else Tree(ROOT, (tree,))


def repair(symbols, num_words, linearization=None):
    """Return well-formed symbols over a number of words, near to given ones.

    Args:
        symbols: any list of str; it is returned as it is if well-formed.
        num_words: number of words in the sentence.
        linearization: one of `LINEARIZATIONS`; by default that of the first
            symbol, and "normalised" if there is none. What is no symbol of it
            is dropped.

    Raises:
        ValueError: if there is no word.

    Example:

    >>> " ".join(repair("(S (NP XX XX (VP XX )VP".split(), 4))
    '(S (NP XX XX (VP XX )VP )NP XX )S'
    """
    if num_words < 1:
        raise ValueError(
            f"A tree must hold a word. Received: num_words={num_words}. Leave "
            "empty sentences out."
        )
    read = [_read(symbol) for symbol in symbols]
    if linearization is None:
        is_tagged = next((tagged for step, _, tagged in read if step), False)
        linearization = "tagged" if is_tagged else "normalised"
    is_tagged = linearization == "tagged"
    if all(tagged == is_tagged for *_, tagged in read):
        if is_well_formed(symbols, num_words):
            return list(symbols)
    kept = ((step, name) for step, name, tagged in read if tagged == is_tagged)
    tree = repaired_tree(kept, num_words, _UNKNOWN)
    return linearize(tree, linearization)


def _symbol(step, name, linearization):
    """Return how one of `trees.steps` is written."""
    if linearization == "tagged":
        name = name.replace("&", "&amp;").replace("/", "&#47;")
        start = "</" if step == "close" else "<"
        return f"{start}{name}{'/>' if step == 'leaf' else '>'}"
    if step == "leaf":
        return LEAF
    return ("(" if step == "open" else ")") + name


def _read(symbol):
    """Return (step, label, is_tagged) of a symbol, each None of another str."""
    if symbol == LEAF:
        return "leaf", LEAF, False
    match = re.fullmatch(r"([()])([^\s()]+)", symbol)
    if match:
        return "open" if match[1] == "(" else "close", match[2], False
    match = re.fullmatch(r"<(/?)((?:[^\s/&]|&amp;|&#47;)+)(/?)>", symbol)
    if not match or (match[1] and match[3]):
        return None, None, None
    step = "close" if match[1] else "leaf" if match[3] else "open"
    name = match[2].replace("&#47;", "/").replace("&amp;", "&")
    return step, name, True
