"""Writes trees as sequences of symbols and reads any sequence as a tree.

The tree `(S (NP The dog) (VP barks))` becomes

- `(S (NP XX XX )NP (VP XX )VP )S` in the normalised linearization,
- `<S> <NP> <DT/> <NN/> </NP> <VP> <VBZ/> </VP> </S>` in the tagged one,
- `XX NP( XX NP) S( XX VP( VP) S)` in the in-order one, where each opening
  bracket follows the first child; see the module `in_order`.

The symbols of the lexicalised linearization are those of the normalised one.
`target_text` puts the words in the place of XX, in in-order trees as well.

The root TOP is left out where it holds a single constituent, as in the whole
sample of the Penn Treebank.
"""

from keras_transformer.trees.in_order import to_in_order
from keras_transformer.trees.in_order import to_top_down
from keras_transformer.trees.repair import repair_tree
from keras_transformer.trees.symbols import LEAF
from keras_transformer.trees.symbols import find_linearizations
from keras_transformer.trees.symbols import make_symbol
from keras_transformer.trees.symbols import read_symbol
from keras_transformer.trees.tree import ROOT
from keras_transformer.trees.tree import Tree
from keras_transformer.trees.tree import build_trees
from keras_transformer.trees.tree import walk


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
    all_steps = list(walk(tree))
    # TOP carries no information above a single constituent, unless reading
    # would take that constituent for the root.
    inner = tree.children[0]
    is_redundant = (
        tree.label == ROOT
        and len(tree.children) == 1
        and not inner.is_preterminal
        and inner.label != ROOT
    )
    if is_redundant:
        all_steps = all_steps[1:-1]
    if linearization == "in_order":
        all_steps = to_in_order(all_steps)
    return [
        make_symbol(step, name, linearization) for step, name, _ in all_steps
    ]


def is_well_formed(symbols, num_words):
    """Returns whether symbols are one tree over a given number of words.

    All symbols must be of one linearization and lie within the brackets of the
    root. No pair of brackets may be empty or differ in its labels.

    Args:
        symbols: Sequence of str.
        num_words: Number of words in the sentence.
    """
    linearizations = find_linearizations(symbols)
    if not linearizations:
        return False
    all_steps = [read_symbol(symbol)[:2] for symbol in symbols]
    if linearizations != {"in_order"}:
        return _is_tree(all_steps, num_words)
    from_the_top = list(to_top_down(all_steps))
    # Only a tree comes back the same.
    return (
        _is_tree(from_the_top, num_words)
        and list(to_in_order(from_the_top)) == all_steps
    )


def _is_tree(all_steps, num_words):
    open_labels, num_leaves = [], 0
    previous_step = None
    for place, (step, label) in enumerate(all_steps):
        # The bracket of the root is closed already.
        if place and not open_labels:
            return False
        if step == "open":
            open_labels.append(label)
        elif not open_labels:
            return False
        elif step == "leaf":
            num_leaves += 1
        # Empty brackets, or brackets of two labels.
        elif previous_step == "open" or open_labels.pop() != label:
            return False
        previous_step = step
    return (
        previous_step == "close" and not open_labels and num_leaves == num_words
    )


def delinearize(symbols, words):
    """Returns the tree, with the root TOP, that symbols and words make.

    The inverse of `linearize`, except that all tags are XX unless the symbols
    are those of a tagged tree.

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
    # Trees with their words arrive here with XX in the place of each word.
    remaining = iter(words)
    all_steps = [read_symbol(symbol)[:2] for symbol in symbols]
    if find_linearizations(symbols) == {"in_order"}:
        all_steps = to_top_down(all_steps)
    (tree,) = build_trees(
        (step, label, next(remaining) if step == "leaf" else None)
        for step, label in all_steps
    )
    return tree if tree.label == ROOT else Tree(ROOT, (tree,))


def repair(symbols, num_words, linearization=None):
    """Returns well-formed symbols that are close to any other symbols.

    Args:
        symbols: Any list of str. It is returned unchanged if it is well-formed
            and in the right linearization.
        num_words: Number of words in the sentence, at least 1.
        linearization: One of `LINEARIZATIONS`. Strings that are not its symbols
            are dropped. Defaults to that of the first symbol other than XX, or
            to "normalised" if there is none.

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
    read = [read_symbol(symbol) for symbol in symbols]
    linearization = linearization or _linearization_of(symbols)
    fits = [linearization in linearizations for *_, linearizations in read]
    # A well-formed output of the model stays exactly as it is.
    if all(fits) and is_well_formed(symbols, num_words):
        return list(symbols)
    kept = [(step, label) for fit, (step, label, _) in zip(fits, read) if fit]
    if linearization == "in_order":
        kept = to_top_down(kept)
    tree = repair_tree(kept, num_words)
    return linearize(tree, linearization)


def _linearization_of(symbols):
    """Returns the linearization of the first symbol that tells it."""
    for symbol in symbols:
        linearizations = read_symbol(symbol)[2]
        if symbol != LEAF and linearizations:
            return linearizations[0]
    return "normalised"
