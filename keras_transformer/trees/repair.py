"""Builds a tree from any brackets and words, such as a malformed output."""

from keras_transformer.trees.tree import ROOT
from keras_transformer.trees.tree import Tree
from keras_transformer.trees.tree import build_trees

# The most constituents below TOP over the same words, and the most of them with
# one label. No tree of the Penn Treebank's sample has more, whereas a failing
# model may open brackets without end.
MAX_UNARY = 4
MAX_UNARY_OF_LABEL = 2
_ADDED_TAG = "NN"  # of a word that is missing


def repair_tree(some_steps, num_words):
    """Returns a tree over a number of words that is close to some steps.

    Vinyals et al. (2015) add brackets at the beginning or at the end. These
    rules do the same and more:

    - A closing bracket closes everything that is open inside its constituent.
      If no constituent of its label is open, the bracket is dropped, unless it
      can hold together several trees before it.
    - Surplus words and constituents without words are dropped.
    - Missing words are added at the end of the root. Words outside all brackets
      move into the root and keep their place.
    - Chains of constituents over the same words are cut to `MAX_UNARY`.

    Args:
        some_steps: Iterable of `(step, label)` as in `tree.walk`, in any
            order.
        num_words: Number of words that the tree must have.

    Returns:
        A `Tree` whose root is TOP and whose words are "".
    """
    trees = _trees_of(_balanced(some_steps, num_words))
    num_missing = num_words - sum(len(tree.words()) for tree in trees)
    missing = num_missing * [Tree(_ADDED_TAG, ("",))]
    constituents = [tree for tree in trees if not tree.is_preterminal]
    # A single constituent is the sentence, so words outside it move into it.
    if len(constituents) == 1:
        (root,) = constituents
        place = trees.index(root)
        before, after = trees[:place], trees[place + 1 :]
        root = Tree(root.label, (*before, *root.children, *after, *missing))
    else:
        root = Tree(ROOT, (*trees, *missing))
    (root,) = _trees_of(_without_chains(root))
    return root if root.label == ROOT else Tree(ROOT, (root,))


def _trees_of(labelled_steps):
    return build_trees((step, label, "") for step, label in labelled_steps)


def _balanced(some_steps, num_words):
    """Returns steps with balanced brackets and at most `num_words` words."""
    balanced, open_labels, num_leaves = [], [], 0
    num_trees = 0  # complete trees, outside all brackets
    for step, label in some_steps:
        if step == "open":
            open_labels.append(label)
        elif step == "leaf":
            num_leaves += 1
            if num_leaves > num_words:
                continue
        # Close every constituent that is open within the labelled one.
        elif label in open_labels:
            while open_labels[-1] != label:
                balanced.append(("close", open_labels.pop()))
            open_labels.pop()
        # The model lost the opening bracket of a constituent over these trees.
        elif num_trees > 1 and not open_labels:
            balanced.insert(0, ("open", label))
            num_trees = 0
        else:
            continue
        balanced.append((step, label))
        num_trees += not open_labels
    balanced.extend(("close", label) for label in reversed(open_labels))
    return balanced


def _without_chains(tree):
    """Yields the steps through a tree, its unary chains cut to the limits."""
    chain = []  # labels of the constituents over the same words
    waiting = [tree]  # nodes to open and, as str, labels to close
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield "close", node
        elif node.is_preterminal:
            yield "leaf", node.label
        else:
            if (
                len(chain) < MAX_UNARY
                and chain.count(node.label) < MAX_UNARY_OF_LABEL
            ):
                if node is not tree or node.label != ROOT:
                    chain.append(node.label)
                yield "open", node.label
                waiting.append(node.label)
            if len(node.children) > 1 or node.children[0].is_preterminal:
                chain = []
            waiting.extend(reversed(node.children))
