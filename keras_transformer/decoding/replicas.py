"""Copies of a model, one on each device, which decode side by side."""

import contextlib
import itertools
import queue

from keras_transformer.decoding import cache_budget
from keras_transformer.decoding.batches import CACHE_POSITIONS
from keras_transformer.decoding.batches import in_parallel


class Replica:
    """A model on a device, with the functions that are compiled for it.

    Args:
        model: A built `Transformer` or an `Ensemble`.
        device: Keras' name of the device, such as "gpu:1". Defaults to None,
            which leaves the choice to the backend.
    """

    def __init__(self, model, device=None):
        self.model = model
        self._device = device
        self._free_bytes = cache_budget.free_bytes(device)
        self._compiled = {}  # by `DecodeOptions` and by alpha

    def search(self, options, *vocabularies):
        """Returns the compiled search, see `compile_search`.

        Args:
            options: A `DecodeOptions`.
            *vocabularies: The `Subwords` of the targets and of the sources.
        """
        if options not in self._compiled:
            search = compiler().compile_search(
                self.model, options, *vocabularies
            )
            self._compiled[options] = self._on_device(search)
        return self._compiled[options]

    def scoring(self, alpha):
        """Returns the compiled scoring, see `compile_scoring`."""
        if alpha not in self._compiled:
            scoring = compiler().compile_scoring(self.model, alpha)
            self._compiled[alpha] = self._on_device(scoring)
        return self._compiled[alpha]

    def cache_positions(self, options):
        """Returns how many positions the caches of a batch may hold.

        Args:
            options: A `DecodeOptions`.
        """
        if self._free_bytes is None:
            return CACHE_POSITIONS
        return cache_budget.cache_positions(
            self._free_bytes, cache_budget.position_bytes(self.model, options)
        )

    def _on_device(self, function):
        def call(*arrays):
            with _scope(self._device):
                return function(*arrays)

        return call


def load_replicas(load_model):
    """Loads a model once for each device that decodes.

    These are all GPUs of the machine, or all processors that the backend was
    told to divide the machine's processor into.

    Args:
        load_model: Function without arguments that returns a built
            `Transformer` or an `Ensemble`.

    Returns:
        List of `Replica`.
    """
    import keras

    devices = keras.distribution.list_devices()
    if devices == ["cpu:0"]:
        devices = [None]
    replicas = []
    for device in devices:
        with _scope(device):
            replicas.append(Replica(load_model(), device))
    return replicas


def least_positions(replicas, options):
    """Returns how many positions a batch may have that any replica may get.

    Args:
        replicas: List of `Replica`.
        options: A `DecodeOptions`.
    """
    return min(replica.cache_positions(options) for replica in replicas)


def shared_out(function, items, workers, num_threads):
    """Yields each item with the function's result, in the order of the items.

    Args:
        function: Function of a worker and an item.
        items: Iterable.
        workers: List of workers.
        num_threads: Integer, the number of calls at the same time, which the
            workers share evenly.

    Yields:
        Pairs (item, result).
    """
    idle = queue.SimpleQueue()
    for worker in itertools.islice(itertools.cycle(workers), num_threads):
        idle.put(worker)

    def call(item):
        worker = idle.get()
        try:
            return function(worker, item)
        finally:
            idle.put(worker)

    return in_parallel(call, items, num_threads)


def compiler():
    """Returns the module `compiled_search`."""
    # Imported here because exported models run without Keras.
    from keras_transformer.decoding import compiled_search

    return compiled_search


def _scope(device):
    """Returns a context in which a backend places everything on a device."""
    if device is None:
        return contextlib.nullcontext()
    import keras

    return keras.device(device)
