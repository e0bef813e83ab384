"""Holds constituency trees and reads, cleans and writes them.

Trees may be arbitrarily deep unless they are read from text, which is nested at
most `brackets.MAX_NESTING` deep. Every function follows the `walk` of a tree
from left to right and none is recursive.
"""

import functools
import re
import typing

from keras_transformer.parsing.brackets import read_steps

ROOT = "TOP"
TRACE = "-NONE-"  # tag of an empty element, which stands for no word
_NO_WORDS = {TRACE, "CODE"}  # the second marks notes of annotators
# Labels of the root above the sentence in treebanks and parsers' outputs.
_ROOTS = {"", ROOT, "ROOT", "S1", "VROOT"}
_DIGIT = re.compile(r"\d")
_BRACKETS = "-LRB- -RRB- -LSB- -RSB- -LCB- -RCB-".split()
_ESCAPES = str.maketrans(dict(zip("()[]{}", _BRACKETS)))


class Tree(typing.NamedTuple):
    """A constituent with its children, or a word with its tag.

    Trees are immutable; they are compared and hashed by their contents.

    >>> tree = parse_tree("(TOP (S (NP (NNP Ada)) (VP (VBZ smiles)) (. .)))")
    >>> tree.words(), tree.tags()
    (['Ada', 'smiles', '.'], ['NNP', 'VBZ', '.'])
    >>> tree.children[0].children[0]
    parse_tree('(NP (NNP Ada))')
    """

    label: str  # such as "NP"; the tag, such as "NN", if this is a word
    children: tuple  # of trees, or of one str, the word

    @property
    def is_preterminal(self):
        """Whether this is a word with its tag."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def words(self):
        """Returns the list of the words in order."""
        return [word for step, _, word in walk(self) if step == "leaf"]

    def tags(self):
        """Returns the list of the words' tags in order."""
        return [label for step, label, _ in walk(self) if step == "leaf"]

    def __str__(self):
        parts = []
        for step, label, word in walk(self):
            if step == "open":
                parts.append(f" ({label}")
            elif step == "close":
                parts.append(")")
            else:
                # Either bracket would change the tree that is read back.
                word = word.replace("(", "-LRB-").replace(")", "-RRB-")
                parts.append(f" ({label} {word})")
        return "".join(parts)[1:]

    def __repr__(self):
        return f"parse_tree({str(self)!r})"

    # The methods of a tuple are recursive and fail on deep trees.
    def __eq__(self, other):
        return isinstance(other, Tree) and (
            self is other or list(walk(self)) == list(walk(other))
        )

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(tuple(walk(self)))


def replace_tags(tree, tags):
    """Returns a copy of a tree with the given tags, one str for each word."""
    remaining = iter(tags)
    (retagged,) = build_trees(
        (step, next(remaining) if step == "leaf" else label, word)
        for step, label, word in walk(tree)
    )
    return retagged


def walk(tree):
    """Yields the steps from left to right through a tree.

    The steps are `("open", label, None)` before and `("close", label, None)`
    after the children of a constituent, and `("leaf", tag, word)` for a word.
    """
    # A constituent waits twice: to be opened, then to be closed.
    waiting = [(tree, False)]
    while waiting:
        node, is_open = waiting.pop()
        if is_open:
            yield "close", node.label, None
        elif node.is_preterminal:
            yield "leaf", node.label, node.children[0]
        else:
            yield "open", node.label, None
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.children))


def find_spans(tree):
    """Yields the label, start and stop of each constituent, inner ones first.

    The places count the words, traces among them, before it and before its end.
    """
    starts, place = [], 0
    for step, label, _ in walk(tree):
        if step == "open":
            starts.append(place)
        elif step == "leaf":
            place += 1
        else:
            yield label, starts.pop(), place


def build_trees(all_steps):
    """Returns the trees of the steps of `walk`, without empty constituents."""
    # The first entry stands for no constituent and collects complete trees.
    open_trees = [("", [])]
    for step, label, word in all_steps:
        if step == "open":
            open_trees.append((label, []))
        elif step == "leaf":
            open_trees[-1][1].append(Tree(label, (word,)))
        else:
            label, children = open_trees.pop()
            if children:
                open_trees[-1][1].append(Tree(label, tuple(children)))
    return open_trees[0][1]


def parse_tree(text, name="the text", first_line=1):
    """Returns the one tree that a text holds, unchanged.

    Words are separated by brackets and by white space. A no-break space or the
    like inside a word belongs to it. The root may lack a label. A `UserError`
    calls the text `name` and counts its lines from `first_line`.
    """
    (tree,) = build_trees(read_steps(text, name, first_line))
    return tree


def clean(tree):
    """Returns a tree as it is learned and scored, None if no word is left.

    - Traces (`-NONE-`) and notes such as `(CODE <P_12>)` are removed, and so
      are constituents that become empty, and a number of the tree such as
      `(ID 17)` below the root.
    - Function tags and indices are removed as EVALB does: `NP-SBJ-1` and `NP=2`
      become NP. Where the annotator left a choice of two labels, the first
      stays: `ADVP|PRT` becomes ADVP, which EVALB treats as equal to PRT. Labels
      that begin with a hyphen, such as `-LRB-`, stay whole.
    - The root is TOP. A root without a label or with another parser's (ROOT,
      S1, VROOT) is renamed; any other tree gets TOP above it. TOP holds several
      trees where the treebank has several.

    Words keep the treebank's escapes, such as `-LRB-` and `\\/`, but have no
    spaces; see `join_spaces`. Unary chains of one label (`NP` over `NP`) stay
    too, because EVALB counts them.
    """
    children = (child for child in tree.children if not _is_number(child))
    tree = Tree(tree.label, tuple(children))
    kept = build_trees(
        (step, cut(label), word and join_spaces(word))
        for step, label, word in walk(tree)
        if not (step == "leaf" and label in _NO_WORDS)
    )
    if not kept:
        return None
    (root,) = kept
    # Some parsers put several roots on top of each other: "( (ROOT (S".
    while not root.is_preterminal and root.label in _ROOTS:
        if len(root.children) > 1 or root.children[0].label not in _ROOTS:
            return Tree(ROOT, root.children)
        (root,) = root.children
    return Tree(ROOT, (root,))


def _is_number(child):
    """Returns whether a child of the root is the number of its tree."""
    is_named = isinstance(child, Tree) and child.label == "ID"
    if not is_named or not child.is_preterminal:
        return False
    return bool(_DIGIT.search(child.children[0]))


# A treebank has few labels, and millions of constituents.
@functools.lru_cache(maxsize=10_000)
def cut(label):
    """Returns a label or tag without its function tags and indices.

    >>> [cut(label) for label in ("NP-SBJ-1", "NP=2", "ADVP|PRT", "-LRB-")]
    ['NP', 'NP', 'ADVP', '-LRB-']
    """
    if label.startswith("-"):
        return label
    # The first character belongs to the label even if it is a separator.
    return label[:1] + re.split(r"[-=|]", label[1:], maxsplit=1)[0]


def join_spaces(word):
    """Returns a word with "_" for the no-break spaces in it.

    So the words of a tree, joined by spaces and split again, are the same.

    >>> join_spaces("10\u00a0000")
    '10_000'
    """
    # Of all spaces, only " " is printable, and no word holds that one.
    return word if word.isprintable() else "_".join(word.split())


def escape(word):
    """Returns a word with its brackets written as in the Penn Treebank.

    >>> escape("("), escape("f(x)")
    ('-LRB-', 'f-LRB-x-RRB-')
    """
    return word.translate(_ESCAPES)


def find_smallest_constituents(tree):
    """Returns the smallest constituent of several words around each word.

    Each is a pair (start, stop); a tree of a single word has (0, 1).

    >>> text = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))"
    >>> find_smallest_constituents(parse_tree(text))
    [(0, 2), (0, 2), (0, 4), (0, 4)]
    """
    spans = [None] * len(tree.words())
    for _, start, stop in find_spans(tree):
        if stop - start > 1:
            pair = (start, stop)
            spans[start:stop] = [span or pair for span in spans[start:stop]]
    return [span or (0, len(spans)) for span in spans]
