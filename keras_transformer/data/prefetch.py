"""Items of an iterable, computed ahead by a background thread."""

import queue
import sys
import threading


def prefetch(iterable, depth=2):
    """Yields the items of an iterable, computed ahead by a background thread.

    The thread starts with the first item and computes up to `depth` of them
    ahead. It ends with the last one, or when this generator is closed; closing
    waits for the item in progress. An exception is raised after the items
    before it.

    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    results = queue.SimpleQueue()  # (item, exception, whether it is the end)
    places = threading.Semaphore(depth)
    closed = threading.Event()

    def compute():
        try:
            places.acquire()
            for item in iterable:
                results.put((item, None, False))
                # Waiting here rather than on a bounded queue keeps `close`
                # simple: one release wakes the thread up.
                places.acquire()
                if closed.is_set():
                    return
            results.put((None, None, True))
        except BaseException as exception:
            results.put((None, exception, True))

    # A daemon, because a generator that is never closed must not keep the
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
        # While Python shuts down, the daemon may have been stopped already,
        # and waiting for it would never end.
        if not sys.is_finalizing():
            thread.join()
