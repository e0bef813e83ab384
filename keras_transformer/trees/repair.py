"""A tree out of any brackets and words, such as a malformed output."""

from keras_transformer.trees.tree import ROOT
from keras_transformer.trees.tree import Tree
from keras_transformer.trees.tree import trees_of

# How many constituents below TOP may hold the same words, and how many of these
# of one label: no tree of the Penn Treebank's sample has more, while a model
# that fails may go on opening them.
MAX_UNARY = 4
MAX_UNARY_OF_LABEL = 2


def repaired_tree(some_steps, num_words, tag):
    """Return a tree over a number of words that is near to some steps.

    Vinyals et al. (2015) add brackets at the beginning or at the end. So do we,
    and

    - a closing bracket closes all that is open inside its constituent; if none
      of its label is open, it is dropped, unless there are several trees before
      it to hold together;
    - words beyond the number are dropped, and constituents without words;
    - missing words go into the root, at the end, and so do words that stand
      outside the brackets, where they stand;
    - no more constituents hold the same words than `MAX_UNARY`.

    Args:
        some_steps: iterable of (step, label), see `trees.steps`, in any order.
        num_words: how many words the tree must have.
        tag: of the missing words.

    Returns:
        a tree whose root is TOP and whose words are "".
    """
    trees = _trees_of(_balanced(some_steps, num_words))
    num_missing = num_words - sum(len(tree.words()) for tree in trees)
    missing = num_missing * [Tree(tag, ("",))]
    constituents = [tree for tree in trees if not tree.is_preterminal]
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
    return trees_of((step, label, "") for step, label in labelled_steps)


def _balanced(some_steps, num_words):
    """Return steps with matching brackets and no more words than there are."""
    balanced, open_labels, num_leaves = [], [], 0
    num_trees = 0  # complete ones, outside all brackets
    for step, label in some_steps:
        if step == "open":
            open_labels.append(label)
        elif step == "leaf":
            num_leaves += 1
            if num_leaves > num_words:
                continue
        elif label in open_labels:
            while open_labels[-1] != label:
                balanced.append(("close", open_labels.pop()))
            open_labels.pop()
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
    """Yield the steps through a tree without what its unary chains exceed."""
    chain = []  # labels of the constituents that hold the same words
    waiting = [tree]
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
