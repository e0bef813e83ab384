"""Puts each opening bracket after the first child of its constituent.

A parser that writes trees in this order (Liu and Zhang, 2017, "In-Order
Transition-based Constituent Parsing") decides what a constituent is when it has
seen its first child. From the top down, it would have to foresee how many
constituents begin with the next word.
"""

import collections


def to_in_order(all_steps):
    """Yields the steps through a tree with brackets after first children.

    Args:
        all_steps: Iterable of steps as `tree.walk` yields them. Every
            constituent has a child.

    Example:

    >>> from keras_transformer.trees.tree import parse_tree, walk
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
    malformed output: a closing bracket also closes what is open inside its
    constituent, and one without a partner stays where it is.

    Args:
        all_steps: Iterable of steps, or of their first two entries.
    """
    others = []  # all steps but the opening ones
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
