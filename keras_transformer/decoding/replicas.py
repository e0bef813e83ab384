"""Copies of a model, one on each device, which decode side by side."""

import contextlib

from keras_transformer.decoding import cache_budget
from keras_transformer.decoding.arrays import padded
from keras_transformer.decoding.batches import CACHE_POSITIONS
from keras_transformer.decoding.batches import search_costs
from keras_transformer.decoding.fitting_batches import FittingBatches
from keras_transformer.decoding.hypothesis import hypotheses_of
from keras_transformer.token_ids import END_ID


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


class Replicas:
    """The replicas of a model, which share out the batches of many sentences.

    Args:
        replicas: List of `Replica`.
        num_threads: Integer, the number of batches that are decoded side by
            side.
        vocabularies: The `Subwords` of the targets and of the sources.
    """

    def __init__(self, replicas, num_threads, vocabularies):
        self.replicas = replicas
        self._vocabularies = vocabularies
        self._batches = FittingBatches(num_threads)

    def search(self, sentences, options, linearization):
        """Searches for the hypotheses of sentences.

        Args:
            sentences: A `Sentences`.
            options: A `DecodeOptions`.
            linearization: See `search_costs`.

        Yields:
            A batch, which is a list of numbers of sentences, and the list of
            their lists of `Hypothesis` without texts. A blank sentence is in no
            batch.
        """
        searches = [
            one.search(options, *self._vocabularies) for one in self.replicas
        ]

        def find(search, batch):
            arrays = sentences.arrays(batch, options.extra_length)
            return hypotheses_of(*search(*arrays))

        sources = sentences.sources
        costs = search_costs(map(len, sources), options, linearization)
        budget = self._least_positions(options)
        return self._run(find, searches, sources, costs, budget)

    def score(self, sources, targets, alpha, options):
        """Scores translations of sentences.

        Args:
            sources: List of lists of ids with the end id. A blank sentence has
                none.
            targets: List of lists of ids with the end id, one for each source.
            alpha: Float, exponent of the length penalty.
            options: A `DecodeOptions`, by which the memory is divided.

        Yields:
            A batch, which is a list of numbers of sentences, and the list of
            their scores. A blank sentence is in no batch.
        """
        scorings = [one.scoring(alpha) for one in self.replicas]

        def score(scoring, batch):
            # A blank translation is the end alone.
            both = (
                padded([(ids[i] or [END_ID]) for i in batch])
                for ids in (sources, targets)
            )
            return scoring(*both).tolist()

        # A cost of 0 leaves out the blank sources.
        costs = [
            max(len(source), len(target)) if source else 0
            for source, target in zip(sources, targets, strict=True)
        ]
        # Half the budget, since encoder and decoder hold all positions at once.
        budget = max(1, self._least_positions(options) // 2)
        return self._run(score, scorings, sources, costs, budget)

    def _least_positions(self, options):
        """Returns how many positions a batch may have on every replica."""
        return min(one.cache_positions(options) for one in self.replicas)

    def _run(self, function, workers, sources, costs, budget):
        def describe(i):
            (text,) = self._vocabularies[1].decode([sources[i]])
            return f"one of {len(sources[i]):,} tokens, {text[:20]!r}..."

        return self._batches.run(
            function,
            workers,
            costs,
            budget,
            describe,
            fitting_rows=compiler().fitting_rows,
        )


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
