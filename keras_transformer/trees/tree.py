"""Constituency trees as they are read, cleaned and written: standard library.

A tree goes through everything here however deep it is: what visits it follows
its `steps`, from left to right, and calls nothing recursively.
"""

import re
import typing

from keras_transformer.trees import brackets

ROOT = "TOP"
TRACE = "-NONE-"  # the tag of what has no word
# Labels that treebanks and parsers give the root above the sentence.
_ROOTS = {"", ROOT, "ROOT", "S1", "VROOT"}
_ESCAPES = {
    "(": "-LRB-",
    ")": "-RRB-",
    "[": "-LSB-",
    "]": "-RSB-",
    "{": "-LCB-",
    "}": "-RCB-",
}
_UNESCAPES = {escaped: bracket for bracket, escaped in _ESCAPES.items()}


class Tree(typing.NamedTuple):
    """A constituent with all below it, or a word with its tag.

    Trees are compared and hashed by what they hold, and never change.

    Example:

    >>> tree = parse_tree("(TOP (S (NP (NNP Ada)) (VP (VBZ smiles)) (. .)))")
    >>> tree.words(), tree.tags()
    (['Ada', 'smiles', '.'], ['NNP', 'VBZ', '.'])
    >>> tree.children[0].children[0]
    parse_tree('(NP (NNP Ada))')
    """

    label: str  # such as "NP"; of a word its tag, such as "NN"
    children: tuple  # trees; of a word with its tag one str

    @property
    def is_preterminal(self):
        """Whether this is a word with its tag."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def words(self):
        """Return the list of the words in order."""
        return [word for step, _, word in steps(self) if step == "leaf"]

    def tags(self):
        """Return the list of the words' tags in order."""
        return [label for step, label, _ in steps(self) if step == "leaf"]

    def __str__(self):
        parts = []
        for step, label, word in steps(self):
            if step == "open":
                parts.append(f" ({label}")
            elif step == "close":
                parts.append(")")
            else:
                # The two brackets that would make it another tree.
                word = word.replace("(", "-LRB-").replace(")", "-RRB-")
                parts.append(f" ({label} {word})")
        return "".join(parts)[1:]

    def __repr__(self):
        return f"parse_tree({str(self)!r})"

    # Those of a tuple are recursive.
    def __eq__(self, other):
        return isinstance(other, Tree) and (
            self is other or list(steps(self)) == list(steps(other))
        )

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(tuple(steps(self)))


def steps(tree):
    """Yield the steps from left to right through a tree.

    Yields:
        `("open", label, None)` and `("close", label, None)` around what a
        constituent holds, and `("leaf", tag, word)`.
    """
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


def trees_of(steps):
    """Return the list of the trees that steps go through; see `steps`.

    A constituent without a word is left out.
    """
    open_trees = [("", [])]
    for step, label, word in steps:
        if step == "open":
            open_trees.append((label, []))
        elif step == "leaf":
            open_trees[-1][1].append(Tree(label, (word,)))
        else:
            label, children = open_trees.pop()
            if children:
                open_trees[-1][1].append(Tree(label, tuple(children)))
    return open_trees[0][1]


def parse_tree(text, name="the text", first=1):
    """Return the one tree that a text holds, as it stands there.

    What is separated are brackets, and words at white space as `str.split`
    knows it, no-break spaces included: a tree's words, joined by spaces and
    split again, are the same words.

    Args:
        text: a tree in brackets, over one line or several; the root may have
            no label.
        name: what errors call the text.
        first: number of its first line.

    Raises:
        ValueError: if the text holds no tree or more than one; the message
            names the line.
    """
    (tree,) = trees_of(brackets.tree_steps(text, name, first))
    return tree


def read_trees(lines, name="the text"):
    """Yield (number of the first line, tree or error) for all trees of lines.

    A tree takes one line or several, of which all but the first are indented.
    After a tree that is wrong, reading goes on with the next line that begins
    one.

    Args:
        lines: an iterable of str; bytes that are no UTF-8 may stand in them as
            the surrogates of `errors="surrogateescape"`.
        name: what errors call the lines.

    Yields:
        the number, and what `parse_tree` returns or the ValueError it raises.
    """
    for first, text in brackets.tree_blocks(lines):
        try:
            yield first, parse_tree(text, name, first)
        except ValueError as error:
            yield first, error


def clean(tree):
    """Return a tree as it is learned and scored, or None if no word is left.

    - Traces (`-NONE-`) go, and with them the constituents they leave empty.
    - Function tags and indices go, as EVALB cuts them: `NP-SBJ-1`, `NP=2` are
      NP. Of two labels between which the annotator left the choice the first
      stays: `ADVP|PRT` is ADVP, which EVALB takes for the same as PRT. Labels
      that begin with a hyphen stay whole: `-LRB-`.
    - The root is TOP: it gets the name if it has none or another parser's
      (ROOT, S1, VROOT), else it gets a root above it. TOP holds more than one
      tree where the treebank does so.

    Words stay as they are, with the treebank's escapes `-LRB-` and `\\/`;
    chains of one label stay too (`NP` over `NP`), since EVALB counts them.
    """
    kept = trees_of(
        (step, cut(label), word)
        for step, label, word in steps(tree)
        if not (step == "leaf" and label == TRACE)
    )
    if not kept:
        return None
    (root,) = kept
    while not root.is_preterminal and root.label in _ROOTS:
        if len(root.children) > 1 or root.children[0].label not in _ROOTS:
            return Tree(ROOT, root.children)
        (root,) = root.children
    return Tree(ROOT, (root,))


def cut(label):
    """Return a label or tag without its function tags and indices.

    >>> [cut(label) for label in ("NP-SBJ-1", "NP=2", "ADVP|PRT", "-LRB-")]
    ['NP', 'NP', 'ADVP', '-LRB-']
    """
    if label.startswith("-"):
        return label
    return label[:1] + re.split(r"[-=|]", label[1:], maxsplit=1)[0]


def escape(word):
    """Return a word with its brackets as the Penn Treebank writes them.

    >>> escape("("), escape("f(x)"), unescape("-LRB-")
    ('-LRB-', 'f-LRB-x-RRB-', '(')
    """
    return "".join(_ESCAPES.get(character, character) for character in word)


def unescape(word):
    """Return a word with brackets in place of their escapes."""
    return re.sub("-[LR][RSC]B-", lambda match: _UNESCAPES[match.group()], word)
