"""Batches that are as large as the memory allows."""

import functools
import logging
import math

from keras_transformer.decoding.batches import plan_batches
from keras_transformer.decoding.threads import shared_out

# TensorFlow and JAX raise these; neither is loaded in every process.
_OUT_OF_MEMORY = ("ResourceExhaustedError", "RESOURCE_EXHAUSTED")
_log = logging.getLogger(__name__)


class FittingBatches:
    """Runs batches side by side, and halves those that do not fit into memory.

    Batches are planned for a budget, which estimates the memory. What turns out
    to fit is remembered as a share of the budget, so it holds for batches of
    another budget too.

    Args:
        num_threads: Integer, the number of batches that run at the same time.
    """

    def __init__(self, num_threads):
        self._num_threads = num_threads
        self._share = math.inf  # of the budget, that a batch may have

    def run(self, function, workers, costs, budget, describe, **options):
        """Runs a function on all sentences in batches.

        Args:
            function: Function of a worker and a batch, which is a list of
                numbers of sentences, that returns a list with the result of
                each.
            workers: List of workers, which share the batches out.
            costs: List with the cost of each sentence, see `plan_batches`.
            budget: Integer, see `plan_batches`.
            describe: Function that takes the number of a sentence and returns
                how an error message describes it.
            **options: Further arguments of `plan_batches`.

        Yields:
            Pairs of a batch and the list of its results, in the order of the
            batches.

        Raises:
            ValueError: If a single sentence does not fit into memory.
        """

        def share_of(batch):
            return len(batch) * max(costs[i] for i in batch) / budget

        def call(worker, batch):
            run_batch = functools.partial(function, worker)
            return self._in_parts(run_batch, batch, share_of, describe)

        fitting = max(1, int(min(1, self._share) * budget))
        planned = plan_batches(costs, fitting, self._num_threads, **options)
        return shared_out(call, planned, workers, self._num_threads)

    def _in_parts(self, function, batch, share_of, describe):
        """Returns the results of a batch, or of its halves joined."""
        middle = len(batch) // 2
        first, second = batch[:middle], batch[middle:]
        share = share_of(batch)
        if len(batch) == 1 or share <= self._share:
            results = _results(function, batch, describe)
            if results is not None:
                return results
            half = share * len(second) / len(batch)
            self._share = min(self._share, half)
        return [
            result
            for part in (first, second)
            for result in self._in_parts(function, part, share_of, describe)
        ]


def is_out_of_memory(error):
    """Returns whether an exception says that memory is missing.

    Args:
        error: The exception.
    """
    text = f"{type(error).__name__} {error}"
    return isinstance(error, MemoryError) or any(
        word in text for word in _OUT_OF_MEMORY
    )


def _results(function, batch, describe):
    """Returns the results of a batch, or None if it has to be halved."""
    try:
        return function(batch)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        if len(batch) == 1:
            raise ValueError(
                "A sentence must fit into memory. Received: "
                f"{describe(*batch)}, which does not fit even by itself. Use a "
                "smaller beam_size or extra_length, or divide the sentence."
            ) from error
    # The exception holds memory, so no batch runs before it is gone.
    _log.warning(
        "A batch of %d sentences does not fit into memory. It is halved, and "
        "so are later ones of its size.",
        len(batch),
    )
    return None
