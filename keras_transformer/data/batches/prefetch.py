"""Items of an iterable, computed ahead by a background thread."""

import collections
import concurrent.futures


def prefetch(iterable, depth=2):
    """Yields the items of an iterable, computed ahead by a background thread.

    The thread starts with the first item and computes up to `depth` items
    ahead. It ends with the last one, or when the generator closes, which waits
    for the item in progress. An exception comes after the items before it.

    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    iterator, end = iter(iterable), object()
    thread = concurrent.futures.ThreadPoolExecutor(max_workers=1)
    try:
        ahead = collections.deque(
            thread.submit(next, iterator, end) for _ in range(depth)
        )
        while (item := ahead.popleft().result()) is not end:
            ahead.append(thread.submit(next, iterator, end))
            yield item
    finally:
        thread.shutdown(cancel_futures=True)
