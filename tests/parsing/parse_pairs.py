"""Random pairs of a tree and a parse of its words, for tests of scores."""

import random

from keras_transformer.parsing.tree import Tree

PUNCTUATION = (",", ":", "``", "''", ".")


def built(words, tags, spans):
    """Builds a tree from (position, number of nodes, label), inner first."""
    nodes = [Tree(tag, (word,)) for word, tag in zip(words, tags)]
    for position, size, label in spans:
        start = int(position * len(nodes))
        nodes[start : start + size] = [
            Tree(label, tuple(nodes[start : start + size]))
        ]
    return Tree("TOP", (Tree("S", tuple(nodes)),))


def random_pair(seed, labels, tags, max_words=15):
    """Returns a tree and a parse in which a quarter of the nodes differ."""
    rng = random.Random(seed)

    def span():
        return rng.random(), rng.randint(1, 4), rng.choice(labels)

    def changed(items, new):
        return [new() if rng.random() < 0.25 else item for item in items]

    size = rng.randint(1, max_words)
    words = [rng.choice(["a", "b", "-LRB-", "1\\/2"]) for _ in range(size)]
    gold_tags = ["NN"] + [rng.choice(tags) for _ in words[1:]]
    spans = [span() for _ in range(rng.randint(0, 2 * size))]
    gold = built(words, gold_tags, spans)
    new_tags = changed(gold_tags, lambda: rng.choice(tags))
    kept = [new for new in changed(spans, span) if rng.random() < 0.9]
    return gold, built(words, new_tags, kept)


def random_pairs(num, labels, tags, max_words=15):
    pairs = [random_pair(i, labels, tags, max_words) for i in range(num)]
    return [list(trees) for trees in zip(*pairs)]


def is_doubled(tree):
    """Returns whether a label occurs twice in a unary chain."""
    if tree.is_preterminal:
        return False
    labels, inner = [tree.label], tree
    while len(inner.children) == 1 and not inner.children[0].is_preterminal:
        inner = inner.children[0]
        labels.append(inner.label)
    is_chain_doubled = len(labels) != len(set(labels))
    return is_chain_doubled or any(is_doubled(c) for c in tree.children)
