import subprocess
import sys
import threading
import time

import pytest

from keras_transformer.data.batches.prefetch import prefetch


class Counting:
    """An iterator that records the number of requests and their threads."""

    def __init__(self, length, error=None):
        self.length = length
        self.error = error
        self.num_asked = 0
        self.threads = set()

    def __iter__(self):
        return self

    def __next__(self):
        self.threads.add(threading.current_thread())
        if self.num_asked == self.length:
            raise self.error or StopIteration
        self.num_asked += 1
        return self.num_asked


def wait_until(is_true):
    end = time.monotonic() + 60
    while not is_true() and time.monotonic() < end:
        time.sleep(0.001)
    return is_true()


def is_over(counting):
    return not any(thread.is_alive() for thread in counting.threads)


class PrefetchedTest:
    @pytest.mark.parametrize("depth", [1, 2, 100])
    @pytest.mark.parametrize("length", [0, 1, 50])
    def test_all_items_come_in_order(self, length, depth):
        items = list(prefetch(Counting(length), depth))
        assert items == list(range(1, length + 1))

    def test_another_thread_computes(self):
        counting = Counting(3)
        list(prefetch(counting))
        assert len(counting.threads) == 1
        assert threading.current_thread() not in counting.threads

    @pytest.mark.parametrize("depth", [1, 3])
    def test_it_is_ahead_by_depth_items_and_no_more(self, depth):
        counting = Counting(100)
        items = prefetch(counting, depth)
        for taken in (1, 2, 3):
            assert next(items) == taken
            assert wait_until(lambda: counting.num_asked == taken + depth)
            time.sleep(0.02)
            assert counting.num_asked == taken + depth
        items.close()

    def test_an_exception_comes_after_the_items_before_it(self):
        counting = Counting(3, KeyError("lost"))
        taken = []
        with pytest.raises(KeyError, match="lost") as caught:
            for item in prefetch(counting):
                taken.append(item)
        assert taken == [1, 2, 3]
        assert caught.traceback[-1].name == "__next__"  # where it was raised
        assert is_over(counting)

    def test_the_thread_ends_with_the_items(self):
        counting = Counting(5)
        list(prefetch(counting))
        assert is_over(counting)

    def test_the_thread_ends_when_the_consumer_breaks_off(self):
        counting = Counting(10**9)
        for item in prefetch(counting):
            if item == 3:
                break
        assert wait_until(lambda: is_over(counting))
        assert counting.num_asked <= 6

    def test_the_thread_ends_when_the_consumer_fails(self):
        counting = Counting(10**9)

        def consume():
            for _ in prefetch(counting):
                raise ValueError("full")

        with pytest.raises(ValueError, match="full"):
            consume()
        assert wait_until(lambda: is_over(counting))

    def test_close_waits_for_the_thread(self):
        counting = Counting(10**9)
        items = prefetch(counting)
        next(items)
        items.close()
        assert is_over(counting)

    def test_an_unused_generator_starts_no_thread(self):
        counting = Counting(3)
        prefetch(counting).close()
        assert not counting.num_asked

    def test_an_unclosed_generator_lets_the_process_end(self):
        code = (
            "import itertools\n"
            "from keras_transformer.data.batches.prefetch import prefetch\n"
            "items = prefetch(itertools.count())\n"
            "print(next(items))\n"
        )
        command = [sys.executable, "-c", code]
        output = subprocess.check_output(command, timeout=120)
        assert output == b"0\n"
