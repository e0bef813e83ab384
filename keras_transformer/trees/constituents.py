"""The spans of a tree's constituents."""

from keras_transformer.trees.tree import walk


def find_smallest_constituents(tree):
    """Returns the smallest constituent of several words around each word.

    Args:
        tree: A `Tree`.

    Returns:
        List of pairs `(start, stop)` of positions, one for each word. A tree of
        a single word has the pair `(0, 1)`.

    Example:

    >>> from keras_transformer.trees.tree import parse_tree
    >>> text = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .))"
    >>> find_smallest_constituents(parse_tree(text))
    [(0, 2), (0, 2), (0, 4), (0, 4)]
    """
    spans, starts = [], []
    for step, _, _ in walk(tree):
        if step == "open":
            starts.append(len(spans))
        elif step == "leaf":
            spans.append(None)
        else:
            # The smaller ones of nested constituents close first.
            start, stop = starts.pop(), len(spans)
            if stop - start > 1:
                pair = (start, stop)
                spans[start:] = [span or pair for span in spans[start:]]
    return [span or (0, len(spans)) for span in spans]
