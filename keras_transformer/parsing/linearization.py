"""Writes trees as sequences of symbols and reads any sequence as a tree.

The symbols are brackets, tags, and placeholders of words. Each linearization
has its own brackets. The tree `(S (NP The dog) (VP barks))` becomes

- `(S (NP XX XX )NP (VP XX )VP )S` in "normalised" (Vinyals et al., 2015,
  "Grammar as a Foreign Language"), with XX for every word whatever its tag,
- `<S> <NP> <DT/> <NN/> </NP> <VP> <VBZ/> </VP> </S>` in "tagged", which keeps
  the tags as Tensor2Tensor's `wsj_parsing` does, but written as XML, so that no
  symbol can be mistaken for a word,
- `XX NP( XX NP) S( XX VP( VP) S)` in "in_order", where each opening bracket
  follows the first child; see `to_in_order`.

"lexicalised" has the same symbols as "normalised". In it and in "in_order",
`target_text` replaces XX by the words.

The root TOP is left out where it holds a single constituent, as in the whole
sample of the Penn Treebank.
"""

import collections
import re

from keras_transformer.parsing.tree import ROOT
from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import build_trees
from keras_transformer.parsing.tree import walk
from keras_transformer.token_ids import FIRST_BYTE
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import WORD_START

LEAF = "XX"  # any word of a tree without tags, and its tag once it is read
LINEARIZATIONS = ("normalised", "tagged", "lexicalised", "in_order")
WITH_WORDS = ("lexicalised", "in_order")  # these have the words in them
# The maximum number of constituents below TOP over the same words, in total and
# with one label. No tree of the Penn Treebank's sample has more, whereas a
# failing model may open brackets without end.
MAX_UNARY = 4
MAX_UNARY_OF_LABEL = 2
_ADDED_TAG = "NN"  # of a word that is missing


def make_symbol(step, label, linearization):
    """Returns the symbol of a step, such as "open", and a label or tag."""
    if linearization == "tagged":
        # A slash would make an opening bracket a closing one or a leaf.
        label = label.replace("&", "&amp;").replace("/", "&#47;")
        start = "</" if step == "close" else "<"
        return f"{start}{label}{'/>' if step == 'leaf' else '>'}"
    if step == "leaf":
        return LEAF
    bracket = "(" if step == "open" else ")"
    return label + bracket if linearization == "in_order" else bracket + label


def read_symbol(symbol):
    """Returns the step, the label or tag, and the linearizations of a symbol.

    >>> read_symbol("NP("), read_symbol("<NNP/>")
    (('open', 'NP', ('in_order',)), ('leaf', 'NNP', ('tagged',)))
    >>> read_symbol("dog")
    (None, None, ())
    """
    if symbol == LEAF:
        return "leaf", LEAF, ("normalised", "lexicalised", "in_order")
    if match := re.fullmatch(r"([()])([^\s()]+)", symbol):
        step = "open" if match[1] == "(" else "close"
        return step, match[2], ("normalised", "lexicalised")
    if match := re.fullmatch(r"([^\s()]+)([()])", symbol):
        step = "open" if match[2] == "(" else "close"
        return step, match[1], ("in_order",)
    match = re.fullmatch(r"<(/?)((?:[^\s()/&]|&amp;|&#47;)+)(/?)>", symbol)
    # "</NN/>" is both a closing bracket and a leaf.
    if not match or (match[1] and match[3]):
        return None, None, ()
    step = "close" if match[1] else "leaf" if match[3] else "open"
    label = match[2].replace("&#47;", "/").replace("&amp;", "&")
    return step, label, ("tagged",)


def collect_symbols(trees, linearization="normalised"):
    """Returns the sorted list of the symbols that trees are written with.

    These are both brackets of each label and the symbols of words, if the
    linearization has any. The brackets of TOP are always included.
    """
    named_steps = {("open", ROOT), ("close", ROOT)}
    for tree in trees:
        named_steps.update((step, name) for step, name, _ in walk(tree))
    symbols = {
        make_symbol(step, name, linearization) for step, name in named_steps
    }
    return sorted(symbols - {LEAF} if linearization in WITH_WORDS else symbols)


def identify_linearization(symbols):
    """Returns the linearization that a set of symbols belongs to.

    It is None unless each opening bracket has a closing one and the tagged
    linearization has a leaf.
    """
    common = set(LINEARIZATIONS)
    labels = {"open": set(), "close": set(), "leaf": set()}
    for step, label, linearizations in map(read_symbol, symbols):
        labels[step].add(label)
        common.intersection_update(linearizations)
    if not labels["open"] or labels["open"] != labels["close"]:
        return None
    # Only trees with their words need no symbol for a leaf.
    fitting = WITH_WORDS if not labels["leaf"] else ("normalised", "tagged")
    return next((name for name in fitting if name in common), None)


def find_symbol_ids(vocabulary):
    """Returns the symbols of trees in a vocabulary, a dictionary by id."""
    # `train_subwords` places the symbols of a problem between the special ids
    # and the bytes. Symbols of others, such as "<de>", do not form pairs.
    pieces = vocabulary.all_pieces()
    end = pieces.index(FIRST_BYTE) if FIRST_BYTE in pieces else 0
    symbols = {
        id_: pieces[id_].removeprefix(WORD_START)
        for id_ in range(FIRST_SYMBOL_ID, end)
        if pieces[id_].startswith(WORD_START)
    }
    symbols = {i: s for i, s in symbols.items() if read_symbol(s)[0]}
    return symbols if identify_linearization(symbols.values()) else {}


def find_linearization(vocabulary):
    """Returns the linearization of a vocabulary, None if it has no trees."""
    return identify_linearization(find_symbol_ids(vocabulary).values())


def linearize(tree, linearization="normalised"):
    """Returns the list of symbols that represent a tree without its words.

    A constituent is treated as the child of TOP.

    >>> from keras_transformer.parsing.tree import parse_tree
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


def find_tree(symbols, num_words, linearization):
    """Returns the tree of well-formed symbols, its words "", or None.

    All symbols must be of the linearization and lie within the brackets of the
    root. No pair of brackets may be empty or differ in its labels.
    """
    read = list(map(read_symbol, symbols))
    if not all(linearization in fitting for *_, fitting in read):
        return None
    is_in_order = linearization == "in_order"
    all_steps = [(step, label) for step, label, _ in read]
    from_the_top = to_top_down(all_steps) if is_in_order else all_steps
    try:
        (tree,) = _build_bare_trees(from_the_top)
    except (IndexError, ValueError):
        return None  # a bracket closes nothing, or there is not one tree
    if tree.is_preterminal or len(tree.words()) != num_words:
        return None
    # Empty brackets are lost, and a closing one gets the label of its partner.
    steps_back = [step[:2] for step in walk(tree)]
    if is_in_order:
        steps_back = list(to_in_order(steps_back))
    return tree if steps_back == all_steps else None


def delinearize(symbols, words, linearization):
    """Returns the tree, with the root TOP, that is closest to any symbols.

    The inverse of `linearize`, except that all tags are XX unless the tree is
    tagged. Well-formed symbols are read as they are, and `repair_tree` repairs
    others. Strings that are not symbols of the linearization are dropped, and
    so is TOP within the tree, where an unfinished model writes it, too. There
    must be at least one word.
    """
    tree = find_tree(symbols, len(words), linearization)
    if not tree:
        kept = [
            (step, label)
            for step, label, fitting in map(read_symbol, symbols)
            if linearization in fitting
        ]
        if linearization == "in_order":
            kept = to_top_down(kept)
        added_tag = _ADDED_TAG if linearization == "tagged" else LEAF
        tree = repair_tree(kept, len(words), added_tag)
    remaining = iter(words)
    inner = build_trees(
        (step, label, next(remaining) if step == "leaf" else None)
        for step, label, _ in walk(tree)
        if step == "leaf" or label != ROOT
    )
    return Tree(ROOT, tuple(inner))


def to_in_order(all_steps):
    """Yields the steps through a tree with brackets after first children.

    A parser that writes trees in this order (Liu and Zhang, 2017, "In-Order
    Transition-based Constituent Parsing") chooses the label of a constituent
    after its first child. From the top down, it would have to foresee how many
    constituents begin with the next word. Every constituent has a child.

    >>> from keras_transformer.parsing.tree import parse_tree, walk
    >>> tree = parse_tree("(S (NP (DT The) (NN dog)) (VP (VBZ barks)))")
    >>> " ".join(label for _, label, _ in to_in_order(walk(tree)))
    'DT NP NN NP S VBZ VP VP S'
    """
    waiting = []  # opening step of each open constituent, None once yielded
    for step in all_steps:
        if step[0] == "open":
            waiting.append(step)
            continue
        if step[0] == "close":
            waiting.pop()
        yield step
        # This step completes the first child of the innermost constituent.
        if waiting and waiting[-1]:
            yield waiting[-1]
            waiting[-1] = None


def to_top_down(all_steps):
    """Yields steps with each opening bracket before the first child.

    This is the inverse of `to_in_order`. It takes any steps, such as those of a
    malformed output: a closing bracket also closes the open brackets inside its
    constituent, and one without a partner stays where it is.
    """
    # A bracket opens late here, but belongs before its first child. It is kept
    # under the place of that child, and written when all steps are known.
    others = []  # all steps except the opening ones
    opening = collections.defaultdict(list)  # place in `others`: steps
    open_constituents = []  # label and first place of each
    last = None  # first place of the last child of the innermost constituent
    for step in all_steps:
        kind, label = step[:2]
        if kind == "open":
            first = len(others) if last is None else last
            opening[first].append(step)
            open_constituents.append((label, first))
            last = None
            continue
        if kind == "leaf":
            last = len(others)
        elif any(label == each for each, _ in reversed(open_constituents)):
            closed = None
            while closed != label:
                closed, last = open_constituents.pop()
        others.append(step)
    for place in range(len(others) + 1):
        # The outer constituent opened later.
        yield from reversed(opening[place])
        yield from others[place : place + 1]


def repair_tree(some_steps, num_words, added_tag):
    """Returns a tree over a number of words that is close to some steps.

    Vinyals et al. (2015) add brackets at either end. These rules do more:

    - A closing bracket closes everything that is open inside its constituent.
      If no constituent of its label is open, the bracket is dropped, unless it
      can hold together several trees before it.
    - Surplus words and constituents without words are dropped.
    - Missing words, with a given tag, are added at the end of the root. Words
      outside all brackets move into the root and keep their place.
    - Chains of constituents over the same words are cut to `MAX_UNARY`.

    All words of the result are "".
    """
    trees = _build_bare_trees(_balance(some_steps, num_words))
    num_missing = num_words - sum(len(tree.words()) for tree in trees)
    missing = num_missing * [Tree(added_tag, ("",))]
    constituents = [tree for tree in trees if not tree.is_preterminal]
    # A single constituent is the sentence, so words outside it move into it.
    if len(constituents) == 1:
        (root,) = constituents
        place = trees.index(root)
        before, after = trees[:place], trees[place + 1 :]
        root = Tree(root.label, (*before, *root.children, *after, *missing))
    else:
        root = Tree(ROOT, (*trees, *missing))
    (root,) = _build_bare_trees(_cut_chains(root))
    return root


def _build_bare_trees(labelled_steps):
    return build_trees((step, label, "") for step, label in labelled_steps)


def _balance(some_steps, num_words):
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


def _cut_chains(tree):
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
