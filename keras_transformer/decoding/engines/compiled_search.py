"""A model on a device, with searches that the backend compiles."""

import contextlib
import functools

import keras
import numpy as np
from keras import ops

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.decoding.engines import batching
from keras_transformer.parsing.tree_constraint import make_constraint
from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.hypotheses import score_targets
from keras_transformer.search.neighbours import Neighbours

# JAX compiles a program for each shape, which takes seconds. Lengths are
# therefore rounded up to multiples of this number.
LENGTH_STEP = 16
TERM_STEP = 4  # the same for the lengths of terms
# The share of the free memory for what the largest batch holds throughout. The
# rest is for what one layer computes at a time, above all the encoder's
# attention over long sentences, and for copies of growing caches.
HELD_SHARE = 1 / 8
# A step needs four float32 numbers for each logit: the logit itself, and what
# the search computes from it.
LOGITS_BYTES = 4 * 4


class Replica:
    """A model on a device, with the functions that are compiled for it.

    `device` is Keras' name of it, such as "gpu:1", or None for the default one.
    """

    def __init__(self, model, device=None):
        self.model = model
        self._device = device
        self._free_bytes = read_free_bytes(device)
        self._compiled = {}  # by `DecodeOptions` and by alpha

    def search(self, options, vocabularies):
        """Returns the compiled search, constrained to trees for a parser."""
        # The limits of the outputs are arrays, so one search serves them all.
        options = options.replace(extra_length=0)
        if options not in self._compiled:
            sources, targets = vocabularies or (None, None)
            constraint = None
            if targets and options.constrained:
                constraint = make_constraint(options, targets, sources)
            self._compiled[options] = compile_search(
                self.model, options, targets, constraint, self._device
            )
        return self._compiled[options]

    def search_near(self, options):
        """Returns the compiled search of `compile_near_search`, or None."""
        # JAX would compile it for each shape of the neighbours, and an ensemble
        # has no state of its own.
        is_single = len(self.model.list_models()) == 1
        if keras.backend.backend() != "tensorflow" or not is_single:
            return None
        key = "near", options.replace(extra_length=0)
        if key not in self._compiled:
            self._compiled[key] = compile_near_search(self.model, options)
        return self._compiled[key]

    def get_scorer(self, alpha):
        if alpha not in self._compiled:
            self._compiled[alpha] = compile_scoring(
                self.model, alpha, self._device
            )
        return self._compiled[alpha]

    def count_cache_positions(self, options):
        """Returns how many positions the caches of a batch may hold."""
        if self._free_bytes is None:
            return count_processor_positions(self.model)
        position_bytes = count_position_bytes(self.model, options)
        return max(1, int(HELD_SHARE * self._free_bytes / position_bytes))


def load_replicas(load_model):
    """Loads a model once for each device that the backend shows."""
    devices = keras.distribution.list_devices()
    if devices == ["cpu:0"]:
        devices = [None]
    replicas = []
    for device in devices:
        with _device_scope(device):
            replicas.append(Replica(load_model(), device))
    return replicas


def compile_search(
    model, options, vocabulary=None, constraint=None, device=None
):
    """Makes a function that translates batches with a model.

    The function reads the current weights, so it can be used during training.
    TensorFlow compiles it once for all shapes, JAX for each of a few shapes, to
    which batches are padded.

    Terms need the vocabulary of the targets. The constraint is a
    `TreeConstraint` or None. The function takes the int32 arrays of
    `find_hypotheses` up to `terms`. It returns sequences and scores.
    """
    search = functools.partial(
        find_hypotheses,
        model,
        options,
        vocabulary=vocabulary,
        constraint=constraint,
    )
    # The ranks of inputs, limits, prefixes, seeds and terms.
    ranks = [2, 1, 2, 1, 3]
    search_with_terms = search
    if keras.backend.backend() == "tensorflow":
        search_with_terms = _compile_with_tensorflow(search, ranks)
        search = _compile_with_tensorflow(search, ranks[:-1])
    elif keras.backend.backend() == "jax":
        search_with_terms = search = _compile_with_jax(search, model)

    def search_arrays(inputs, limits, prefixes=None, seeds=None, terms=None):
        # With these stand-ins, one compiled function serves all calls.
        if prefixes is None:
            prefixes = np.zeros((len(inputs), 0), "int32")
        if seeds is None:
            seeds = np.zeros(len(inputs), "int32")
        run, arrays = search, [inputs, limits, prefixes, seeds]
        if terms is not None:
            run, arrays = search_with_terms, [*arrays, terms]
        with _device_scope(device):
            return tuple(map(ops.convert_to_numpy, run(*arrays)))

    return search_arrays


def compile_near_search(model, options):
    """Makes a function that searches near existing translations.

    It takes the int32 sources and limits of `find_hypotheses`, and for each row
    a list of pairs of encoded source and target. It returns sequences and
    scores.
    """

    def compute_states(inputs, targets):
        return model.decode({"inputs": inputs, "targets": targets})

    def search(inputs, limits, ids, keys):
        neighbours = Neighbours(keys, ids)
        return find_hypotheses(
            model, options, inputs, limits, neighbours=neighbours
        )

    compute_states = _compile_with_tensorflow(compute_states, [2, 2])
    search = _compile_with_tensorflow(search, [2, 1, 2], model.d_model)

    def search_arrays(inputs, limits, pairs_of_rows):
        pairs = [pair for pairs in pairs_of_rows for pair in pairs]
        states = ops.convert_to_numpy(compute_states(*map(pad, zip(*pairs))))
        states = iter(states.astype("float32"))
        ids = pad([sum((t for _, t in pairs), []) for pairs in pairs_of_rows])
        keys = np.zeros((*ids.shape, model.d_model), "float32")
        for row, pairs in zip(keys, pairs_of_rows):
            of_row = [next(states)[: len(target)] for _, target in pairs]
            joined = np.concatenate(of_row)
            row[: len(joined)] = joined
        found = search(inputs, limits, ids, keys)
        return tuple(map(ops.convert_to_numpy, found))

    return search_arrays


def compile_scoring(model, alpha, device=None):
    """Makes a function that scores batches as the search would.

    It takes int32 source ids of shape `(batch, input_len)` and target ids of
    shape `(batch, target_len)`, both with the end id, and returns a list.
    """

    def score(inputs, targets):
        return score_targets(model, inputs, targets, alpha)

    is_on_jax = keras.backend.backend() == "jax"
    if keras.backend.backend() == "tensorflow":
        score = _compile_with_tensorflow(score, [2, 2])
    elif is_on_jax:
        score = _jit(score, model)

    def score_arrays(*pair):
        batch = len(pair[0])
        if is_on_jax:
            missing = _count_missing_rows(batch)
            pair = [_pad(ids, missing, _round_up(ids.shape[1])) for ids in pair]
        with _device_scope(device):
            return ops.convert_to_numpy(score(*pair))[:batch].tolist()

    return score_arrays


def fit_rows(rows):
    """Returns how many rows to decode together if at most `rows` fit."""
    if keras.backend.backend() != "jax":
        return max(1, rows)
    # On JAX a batch is padded to a power of 2, so any other size wastes rows.
    return 1 << max(1, rows).bit_length() - 1  # largest power of 2


def _device_scope(device):
    return keras.device(device) if device else contextlib.nullcontext()


def _compile_with_tensorflow(function, ranks, d_model=None):
    import tensorflow as tf

    # Without sizes in the signature, one trace serves all shapes.
    signature = [tf.TensorSpec([None] * rank, tf.int32) for rank in ranks]
    if d_model:  # states `(batch, number, d_model)` follow
        signature.append(tf.TensorSpec([None, None, d_model], tf.float32))
    return tf.function(function, input_signature=signature, autograph=False)


def _compile_with_jax(search, model):
    run = _jit(search, model)

    def search_padded(inputs, limits, prefixes, seeds, terms=None):
        batch, input_len = inputs.shape
        missing = _count_missing_rows(batch)
        positions = _round_up(input_len)
        # The tree constraint raises limits that are too small for a tree.
        limit = max(int(limits.max()), input_len + 2)
        if terms is not None:
            _, num_terms, term_len = terms.shape
            missing_ids = _round_up(term_len, TERM_STEP) - term_len
            widths = (missing, _count_missing_rows(num_terms), missing_ids)
            terms = np.pad(terms, [(0, width) for width in widths])
        sequences, scores = run(
            _pad(inputs, missing, positions),
            # A limit of 1 ends the rows of padding at the first step.
            np.pad(limits, (0, missing), constant_values=1),
            _pad(prefixes, missing, _round_up(prefixes.shape[1])),
            np.pad(seeds, (0, missing)),
            terms,
            fixed_length=_round_up(positions + limit - input_len),
        )
        # (batch, num_hypotheses, length), (batch, num_hypotheses)
        return sequences[:batch], scores[:batch]

    return search_padded


def _jit(function, model):
    """Compiles a function that takes the model's weights at each call."""
    import jax

    # The weights are arguments, because jax.jit would turn the variables that a
    # function reads into constants. JAX needs to know a length at compile time.
    @functools.partial(jax.jit, static_argnames="fixed_length")
    def run(values, *arrays, **static):
        mapping = list(zip(model.variables, values))
        with keras.StatelessScope(state_mapping=mapping):
            return function(*arrays, **static)

    return lambda *arrays, **static: run(
        [variable.value for variable in model.variables], *arrays, **static
    )


def _count_missing_rows(batch):
    """Returns how many rows fill a batch up to the next power of two."""
    return (1 << (batch - 1).bit_length()) - batch


def _pad(ids, missing, length):
    return np.pad(ids, [(0, missing), (0, length - ids.shape[1])])


def _round_up(length, step=LENGTH_STEP):
    return -(-length // step) * step


def count_processor_positions(model):
    """Returns how many positions are best for a batch on a processor.

    A step of a narrow model consists of small products, which take longer to
    start than to compute. More rows make up for it. A `d_model` of 128 is the
    narrowest that was measured; docs/speed.md has the numbers.
    """
    widest = max(one.d_model for one in model.list_models())
    return batching.CACHE_POSITIONS * max(1, 512 // max(128, widest))


def count_position_bytes(model, options):
    """Returns how many bytes a search holds for one position of one beam."""
    total = 0
    for one in model.list_models():
        attention = one.decoder.stack[0].self_attention
        width = attention.num_heads * (attention.d_k + attention.d_v)
        number_bytes = 2 if one.compute_dtype.endswith("16") else 4
        target_bytes = one.decoder.num_layers * width * number_bytes
        # The beams share the keys and values of the source, which has no more
        # positions than the limit of its translations.
        source_bytes = target_bytes / options.num_beams
        # A beam has the logits of one position. They weigh most at the shortest
        # limit, where the fewest positions share them.
        shortest = 1 + options.extra_length
        logits_bytes = LOGITS_BYTES * one.vocab_size / shortest
        total += target_bytes + source_bytes + logits_bytes
    return total


def read_free_bytes(device):
    """Returns the free bytes of a device; None if unlimited or unknown."""
    if device is None or device.startswith("cpu"):
        return None
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        platform, _, number = device.partition(":")
        memory = jax.devices(platform)[int(number)].memory_stats()
        return memory and memory["bytes_limit"] - memory["bytes_in_use"]
    if backend != "tensorflow":
        return None
    import tensorflow as tf

    # No public function tells the limit.
    from tensorflow.python.client import device_lib

    limits = {
        local.name.removeprefix("/device:").lower(): local.memory_limit
        for local in device_lib.list_local_devices()
    }
    taken = tf.config.experimental.get_memory_info(device.upper())["current"]
    return limits[device] - taken if device in limits else None
