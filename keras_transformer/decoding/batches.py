"""How many sentences a batch has, and which."""

import math

# The most keys that a layer's cache holds: rows x beam_size x length. This is
# the best number on a processor; see `cache_budget` for a GPU.
CACHE_POSITIONS = 16384
# A tree has at most 4.0 symbols a word in 3,669 sentences of the Wall Street
# Journal, so it is at most three times longer than its sentence, plus one.
TREE_GROWTH = 3


def search_costs(lengths, options, linearization):
    """Returns the largest number of cache positions each search can take.

    Args:
        lengths: Iterable of integers, the number of tokens of each sentence. A
            blank sentence has 0.
        options: A `DecodeOptions`.
        linearization: The linearization of a parsing model, or None for a
            translation model. The number of words limits the length of a tree,
            whatever `extra_length` allows.

    Returns:
        List of integers. A blank sentence costs 0.
    """
    beams = options.num_beams
    growth = TREE_GROWTH if linearization and options.constrained else math.inf
    return [
        (n + min(options.extra_length, growth * n)) * beams if n else 0
        for n in lengths
    ]


def plan_batches(costs, budget, num_threads=1, fitting_rows=lambda rows: rows):
    """Yields the indices of the items that go into each batch.

    The most expensive items come first, so that similar ones go together and
    no thread starts a long batch at the end.

    Args:
        costs: List of integers, one for each item. An item that costs 0 is
            left out.
        budget: Integer, the limit on a batch's size times its greatest cost.
            An item that costs more than the budget gets a batch of its own.
        num_threads: Integer number of threads. There are at least as many
            batches if there are as many items. Defaults to 1.
        fitting_rows: Function that takes the greatest size that fits and
            returns the size of the batch. Defaults to the identity.

    Example:

    >>> list(plan_batches([1, 3, 0, 2, 1], budget=4))
    [[1], [3, 0], [4]]
    """
    order = [i for i, cost in enumerate(costs) if cost]
    order.sort(key=lambda i: costs[i], reverse=True)
    # Rounded up. No thread stays idle while one large batch holds all items.
    rows_per_thread = -(-len(order) // num_threads)
    while order:
        rows = fitting_rows(max(1, budget // costs[order[0]]))
        rows = min(rows_per_thread, rows)
        yield order[:rows]
        order = order[rows:]
