"""Batches of sentences: which go together, how many fit, how they run.

Sentences of similar lengths go into a batch, as many as the memory allows.
Several run side by side, on the cores of a processor or on several GPUs.
"""

import contextlib
import itertools
import logging
import math
import queue
from concurrent import futures

from keras_transformer.decoding.engines.engine import count_cores
from keras_transformer.errors import UserError
from keras_transformer.errors import is_out_of_memory

# The most keys that a layer's cache holds: rows x beam_size x length. This is
# the best number for `d_model` 512 on a processor; `compiled_search` finds the
# best for other models and for a GPU.
CACHE_POSITIONS = 16384
# A tree has at most 4.0 symbols a word in 3,669 sentences of the Wall Street
# Journal, so it is at most three times longer than its sentence, plus one.
TREE_GROWTH = 3
MAX_THREADS = 8
_log = logging.getLogger(__name__)


def fill_rows(terms):
    """Returns lists of terms as rows of one length, with empty str."""
    longest = max(map(len, terms))
    return [[*each, *[""] * (longest - len(each))] for each in terms]


def estimate_search_costs(lengths, options, linearization):
    """Returns the largest number of cache positions each search can take.

    A blank sentence has no tokens, and costs 0. The number of words limits the
    length of a tree, whatever `extra_length` allows.
    """
    beams = options.num_beams
    growth = TREE_GROWTH if linearization and options.constrained else math.inf
    return [
        (n + min(options.extra_length, growth * n)) * beams if n else 0
        for n in lengths
    ]


def estimate_scoring_costs(sources, targets):
    """Returns how many positions each pair takes, and 0 for a blank source."""
    return [
        max(len(source), len(target)) if source else 0
        for source, target in zip(sources, targets, strict=True)
    ]


def plan_batches(costs, budget, num_threads=1, fit_rows=lambda rows: rows):
    """Yields the indices of the items that go into each batch.

    The most expensive items come first, so that similar ones go together and
    no thread starts a long batch at the end. The size of a batch times its
    highest cost is at most `budget`, except for an item that costs more by
    itself. Items that cost 0 are left out. There are at least `num_threads`
    batches if there are as many items. `fit_rows` may lower a size.

    >>> list(plan_batches([1, 3, 0, 2, 1], budget=4))
    [[1], [3, 0], [4]]
    """
    order = [i for i, cost in enumerate(costs) if cost]
    order.sort(key=lambda i: costs[i], reverse=True)
    # Rounded up. No thread stays idle while one large batch holds all items.
    rows_per_thread = -(-len(order) // num_threads)
    while order:
        rows = fit_rows(max(1, budget // costs[order[0]]))
        rows = min(rows_per_thread, rows)
        yield order[:rows]
        order = order[rows:]


class BatchRunner:
    """Runs batches side by side, and halves those that do not fit into memory.

    Batches are planned for a budget. The size that fits is remembered as a
    share of it, so it holds for other budgets.
    """

    def __init__(self, num_threads):
        self.num_threads = num_threads
        self._share = math.inf  # of the budget, the maximum for a batch

    def run(
        self,
        workers,
        costs,
        budget,
        describe,
        make_arguments=lambda batch: (batch,),
        **options,
    ):
        """Yields pairs of a batch and its results, which its worker returned.

        The `workers` are functions, one for each device, which share the
        threads evenly. `make_arguments` turns a batch, a list of numbers of
        sentences, into their arguments. `describe` names a sentence in an error
        message. All else is as for `plan_batches`.
        """
        idle = queue.SimpleQueue()
        for worker in itertools.islice(
            itertools.cycle(workers), self.num_threads
        ):
            idle.put(worker)

        def run_batch(batch):
            """Returns pairs of a batch, or of its parts, and its results."""
            share = len(batch) * max(costs[i] for i in batch) / budget
            if len(batch) == 1 or share <= self._share:
                worker = idle.get()
                try:
                    return [(batch, worker(*make_arguments(batch)))]
                except Exception as error:
                    if not is_out_of_memory(error):
                        raise
                    self._note(error, batch, share, describe)
                finally:
                    idle.put(worker)
            # The exception held memory, so it is gone by now.
            middle = len(batch) // 2
            return run_batch(batch[:middle]) + run_batch(batch[middle:])

        fitting = max(1, int(min(1, self._share) * budget))
        planned = plan_batches(costs, fitting, self.num_threads, **options)
        return itertools.chain.from_iterable(
            run_in_parallel(run_batch, planned, self.num_threads)
        )

    def _note(self, error, batch, share, describe):
        """Remembers that a batch does not fit."""
        if len(batch) == 1:
            raise UserError(
                f"Out of memory: a sentence, {describe(*batch)}, does not fit "
                "even by itself. Use a smaller beam_size or extra_length, or "
                "divide the sentence."
            ) from error
        larger_half = len(batch) - len(batch) // 2
        self._share = min(self._share, share * larger_half / len(batch))
        _log.warning(
            "A batch of %d sentences does not fit into memory. It is halved, "
            "and so are later ones of its size.",
            len(batch),
        )


def run_in_parallel(function, items, num_threads):
    """Returns an iterator of results, in the order of the items.

    The small operations of a decoding step gain little from a second core, so
    two batches on a core each are 1.4 times as fast as one after the other on
    both. The backends release Python's lock while they compute.
    """
    if num_threads == 1:
        # No pool: a caller that stops early leaves the other items untouched.
        return map(function, items)
    pool = futures.ThreadPoolExecutor(num_threads)
    results = pool.map(function, items)
    # If the caller stops early, items that have not begun are dropped.
    pool.shutdown(wait=False)
    return results


def count_threads():
    """Returns how many batches to decode side by side with a Keras model.

    JAX starts threads itself, and one batch keeps a GPU busy.
    """
    import keras

    is_on_tensorflow = keras.backend.backend() == "tensorflow"
    return count_tensorflow_threads() if is_on_tensorflow else 1


def count_tensorflow_threads():
    """Returns how many batches to decode side by side with TensorFlow."""
    import tensorflow as tf

    if tf.config.list_physical_devices("GPU"):
        return 1
    return min(MAX_THREADS, count_cores())


def give_each_a_core():
    """Limits each operation of TensorFlow to the cores of one thread.

    This suits a process that translates many batches, because a single sentence
    takes longer. The limit has no effect after TensorFlow's first operation.
    """
    num_batches = count_threads()
    if num_batches > 1:
        import tensorflow as tf

        # TensorFlow refuses the setting once it has computed something.
        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_intra_op_parallelism_threads(
                count_cores() // num_batches
            )
