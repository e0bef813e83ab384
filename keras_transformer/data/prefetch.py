"""Compute the next items of an iterator while the current one is in use."""

import queue
import sys
import threading


def prefetched(iterator, depth=2):
    """Yield an iterator's items, computed ahead by a background thread.

    Use it where preparing a batch would keep the device waiting. The thread
    starts with the first item. It ends with the last one, or when this
    generator is closed, which waits for the item that is being computed. An
    exception of the iterator is raised here, after the items before it.

    Args:
        iterator: an iterable.
        depth: most items to compute ahead of the consumer, at least 1.

    Example:

    >>> list(prefetched(range(3)))
    [0, 1, 2]
    """
    results = queue.SimpleQueue()  # (item, exception, whether it is the end)
    places = threading.Semaphore(depth)
    closed = threading.Event()

    def compute():
        try:
            places.acquire()
            for item in iterator:
                results.put((item, None, False))
                places.acquire()
                if closed.is_set():
                    return
            results.put((None, None, True))
        except BaseException as exception:
            results.put((None, exception, True))

    # A daemon, so that a generator that is never closed does not keep the
    # process from ending.
    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    try:
        while True:
            item, exception, is_end = results.get()
            if exception is not None:
                raise exception
            if is_end:
                return
            places.release()
            yield item
    finally:
        closed.set()
        places.release()
        # While Python ends, a daemon may be stopped already: no wait would end.
        if not sys.is_finalizing():
            thread.join()
