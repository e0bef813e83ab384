"""Writes trees as sequences of symbols and reads any sequence as a tree.

The normalised linearization (Vinyals et al., 2015, "Grammar as a Foreign
Language") has brackets, and one symbol for every word whatever its tag:
`(S (NP XX XX )NP (VP XX )VP )S`. The tagged one keeps the tags as
Tensor2Tensor's `wsj_parsing` does, but written as XML, so that no symbol can be
mistaken for a word: `<S> <NP> <DT/> <NN/> </NP> <VP> <VBZ/> </VP> </S>`. The
symbols of the lexicalised one are those of the normalised one; `target_text`
puts the words in the place of XX.

The root TOP is left out where it holds a single constituent, as in the whole
sample of the Penn Treebank.
"""

import re

from keras_transformer.trees.repair import repaired_tree
from keras_transformer.trees.tree import ROOT
from keras_transformer.trees.tree import Tree
from keras_transformer.trees.tree import steps
from keras_transformer.trees.tree import trees_of

LEAF = "XX"  # any word of a normalised tree, and its tag once it is read
LINEARIZATIONS = ("normalised", "tagged", "lexicalised")
_UNKNOWN = "NN"  # tag of a word that `repair` adds


def linearize(tree, linearization="normalised"):
    """Returns the list of symbols that represent a tree without its words.

    Args:
        tree: A `Tree`. A constituent is treated as the child of TOP.
        linearization: One of `LINEARIZATIONS`. Defaults to "normalised".

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
    # TOP carries no information above a single constituent, unless reading
    # would take that constituent for the root.
    inner = tree.children[0]
    is_redundant = (
        tree.label == ROOT
        and len(tree.children) == 1
        and not inner.is_preterminal
        and inner.label != ROOT
    )
    return symbols[1:-1] if is_redundant else symbols


def symbols_of(trees, linearization="normalised"):
    """Returns the sorted list of the symbols that trees are written with.

    These are both brackets of each label and the symbols of words, if the
    linearization has any. The brackets of TOP are always included.

    Args:
        trees: Iterable of `Tree`.
        linearization: One of `LINEARIZATIONS`. Defaults to "normalised".
    """
    named_steps = {("open", ROOT), ("close", ROOT)}
    for tree in trees:
        named_steps.update((step, name) for step, name, _ in steps(tree))
    if linearization != "tagged":
        named_steps = {
            (step, name) for step, name in named_steps if step != "leaf"
        }
    if linearization == "normalised":
        named_steps.add(("leaf", LEAF))
    return sorted(
        _symbol(step, name, linearization) for step, name in named_steps
    )


def linearization_of_symbols(symbols):
    """Returns the linearization that a set of symbols belongs to.

    Args:
        symbols: Iterable of str, all of them symbols.

    Returns:
        One of `LINEARIZATIONS`; None unless each opening bracket has a closing
        one and the tagged linearization has a leaf.
    """
    # Leaves tell the linearizations apart: one in normalised trees, tags in
    # tagged ones, none in lexicalised ones.
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
    """Returns "open", "close" or "leaf", or None if a str is no symbol."""
    return _read(symbol)[0]


def symbol_label(symbol):
    """Returns the label or tag of a symbol, or None if a str is no symbol.

    >>> symbols = ("(NP", "</NP>", "<NNP/>", "XX", "dog")
    >>> [symbol_label(symbol) for symbol in symbols]
    ['NP', 'NP', 'NNP', 'XX', None]
    """
    return _read(symbol)[1]


def is_well_formed(symbols, num_words):
    """Returns whether symbols are one tree over a given number of words.

    All symbols must be of one linearization and lie within the brackets of the
    root. No pair of brackets may be empty or differ in its labels.

    Args:
        symbols: Sequence of str.
        num_words: Number of words in the sentence.
    """
    linearizations, open_labels, num_leaves = set(), [], 0
    previous_step = None
    for position, symbol in enumerate(symbols):
        step, name, is_tagged = _read(symbol)
        linearizations.add(is_tagged)
        if step is None or len(linearizations) > 1:
            return False
        # The bracket of the root has been closed before the end.
        if position and not open_labels:
            return False
        if step == "open":
            open_labels.append(name)
        elif not open_labels:
            return False
        elif step == "leaf":
            num_leaves += 1
        # Empty brackets, or brackets of two labels.
        elif previous_step == "open" or open_labels.pop() != name:
            return False
        previous_step = step
    return (
        previous_step == "close" and not open_labels and num_leaves == num_words
    )


def delinearize(symbols, words):
    """Returns the tree, with the root TOP, that symbols and words make.

    The inverse of `linearize`, except that the tags of a normalised tree are
    all XX.

    Args:
        symbols: Well-formed list of str; see `is_well_formed` and `repair`. TOP
            may be present even where `linearize` leaves it out.
        words: List of str.

    Raises:
        ValueError: If the symbols are not one tree over these words.
    """
    if not is_well_formed(symbols, len(words)):
        raise ValueError(
            "Symbols must be one tree over the words. Received: "
            f"{len(symbols):,} symbols that are no tree over {len(words):,} "
            "words. Use `repair` first."
        )
    # Lexicalised trees arrive here with XX in place of their words.
    remaining = iter(words)
    (tree,) = trees_of(
        (step, name, next(remaining) if step == "leaf" else None)
        for step, name, _ in map(_read, symbols)
    )
    return tree if tree.label == ROOT else Tree(ROOT, (tree,))


def repair(symbols, num_words, linearization=None):
    """Returns well-formed symbols that are close to any other symbols.

    Args:
        symbols: Any list of str. It is returned unchanged if it is well-formed
            and in the right linearization.
        num_words: Number of words in the sentence, at least 1.
        linearization: One of `LINEARIZATIONS`. Strings that are not its symbols
            are dropped. Defaults to that of the first symbol, or to
            "normalised" if there is none.

    Raises:
        ValueError: If there is no word.

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
    # A well-formed output of the model stays exactly as it is.
    if all(tagged == is_tagged for *_, tagged in read):
        if is_well_formed(symbols, num_words):
            return list(symbols)
    kept = ((step, name) for step, name, tagged in read if tagged == is_tagged)
    tree = repaired_tree(kept, num_words, _UNKNOWN)
    return linearize(tree, linearization)


def _symbol(step, name, linearization):
    """Returns the symbol of a step through a tree."""
    if linearization == "tagged":
        # A slash would make an opening bracket a closing one or a leaf.
        name = name.replace("&", "&amp;").replace("/", "&#47;")
        start = "</" if step == "close" else "<"
        return f"{start}{name}{'/>' if step == 'leaf' else '>'}"
    if step == "leaf":
        return LEAF
    return ("(" if step == "open" else ")") + name


def _read(symbol):
    """Returns a symbol's step and label and whether it is a tagged one."""
    if symbol == LEAF:
        return "leaf", LEAF, False
    match = re.fullmatch(r"([()])([^\s()]+)", symbol)
    if match:
        return "open" if match[1] == "(" else "close", match[2], False
    match = re.fullmatch(r"<(/?)((?:[^\s/&]|&amp;|&#47;)+)(/?)>", symbol)
    # "</NN/>" is both a closing bracket and a leaf.
    if not match or (match[1] and match[3]):
        return None, None, None
    step = "close" if match[1] else "leaf" if match[3] else "open"
    name = match[2].replace("&#47;", "/").replace("&amp;", "&")
    return step, name, True
