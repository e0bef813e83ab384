"""Vocabularies of trees whose brackets open after the first child."""

from random_trees import END
from random_trees import Pieces


class InOrderPieces(Pieces):
    """A vocabulary of in-order trees; see `Pieces`.

    With the leaf XX it is one that the product never makes: there, in-order
    trees always have their words. The tests put words in its place.
    """

    forms = ("{}(", "{})")

    def is_tree(self, ids, num_words):
        """Returns whether ids are one tree over `num_words`, and the end."""
        *ids, last = ids
        opened, num_leaves = [], 0
        children = [0]  # outside all brackets, then of each but its first one
        for id_ in ids:
            kind = self.kind(id_)
            if kind == "open":
                # The last child becomes the first one of the new bracket.
                children[-1] -= 1
                children.append(0)
                opened.append(self.label(id_))
            elif kind == "leaf":
                children[-1] += 1
                num_leaves += 1
            elif not opened or opened.pop() != self.label(id_):
                return False
            else:
                children.pop()
                children[-1] += 1
            if min(children) < 0 or children[0] > 1:
                return False
        is_whole = children == [1] and num_leaves == num_words < len(ids)
        return is_whole and last == END

    def trees(self, num_words, limit, max_depth=99, max_opened=99):
        """Returns all trees with the end that have at most `limit` ids."""
        trees = map(self._reordered, super().trees(num_words, limit))
        return [
            ids
            for ids in trees
            if self._depth(ids) <= max_depth
            and self._most_opened(ids) <= max_opened
        ]

    def _reordered(self, ids):
        """Returns the ids of a tree with its brackets after first children."""
        remaining = iter(ids)

        def child():
            """Reads a child, or returns None at a closing bracket."""
            id_ = next(remaining)
            if self.kind(id_) != "open":
                return [id_] if self.kind(id_) == "leaf" else None
            children = list(iter(child, None))
            closing = id_ + 1  # the ids of a label follow each other
            return [*children[0], id_, *sum(children[1:], []), closing]

        return (*child(), END)

    def _depth(self, ids):
        depth = [0]
        for id_ in ids:
            step = {"open": 1, "close": -1}.get(self.kind(id_), 0)
            depth.append(depth[-1] + step)
        return max(depth)

    def _most_opened(self, ids):
        most = opened = 0
        for id_ in ids:
            kind = self.kind(id_)
            opened = 0 if kind == "leaf" else opened + (kind == "open")
            most = max(most, opened)
        return most
