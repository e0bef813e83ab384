"""The symbols of trees: brackets, tags, and placeholders of words.

Each linearization has its own brackets, so its symbols tell which one it is:

- "normalised" (Vinyals et al., 2015, "Grammar as a Foreign Language") has `(NP`
  and `)NP`, and XX for every word whatever its tag.
- "tagged" keeps the tags as Tensor2Tensor's `wsj_parsing` does, but written as
  XML, so that no symbol can be mistaken for a word: `<NP>`, `</NP>`, `<NN/>`.
- "lexicalised" has the brackets of "normalised", and the words themselves.
- "in_order" has `NP(` and `NP)`, and the words themselves.
"""

import re

from keras_transformer.parsing.tree import ROOT
from keras_transformer.parsing.tree import walk

LEAF = "XX"  # any word of a tree without tags, and its tag once it is read
LINEARIZATIONS = ("normalised", "tagged", "lexicalised", "in_order")
WITH_WORDS = ("lexicalised", "in_order")  # these have the words in them


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


def find_linearizations(symbols):
    """Returns the set of the linearizations that all symbols belong to."""
    common = set(LINEARIZATIONS)
    for symbol in symbols:
        common &= set(read_symbol(symbol)[2])
    return common


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
    symbols = list(symbols)
    labels = {"open": set(), "close": set(), "leaf": set()}
    for symbol in symbols:
        step, label, _ = read_symbol(symbol)
        labels[step].add(label)
    if not labels["open"] or labels["open"] != labels["close"]:
        return None
    # Only trees with their words need no symbol for a leaf.
    fitting = WITH_WORDS if not labels["leaf"] else ("normalised", "tagged")
    common = find_linearizations(symbols)
    return next((name for name in fitting if name in common), None)
