"""Batches as a `tf.data.Dataset`, for updates and for `model.fit`.

The plan of an epoch is NumPy, so that TensorFlow and JAX see the same batches.
A dataset begins with the numbers of planned batches and maps each to its padded
arrays. Several such calls run at once, ahead of the updates, in order.
"""

import atexit
import gc
import itertools
import weakref

from keras_transformer.data.batches import batch_plan

ID_BYTES = 4
MAX_OPEN_CORPORA = 16  # number of corpora that a stream reads in turn
NUM_PARALLEL = 4  # calls of Python, most of which run one at a time
NUM_AHEAD = 4  # batches that are prepared ahead of the updates


def make_update_dataset(batches, start=0):
    """Returns the batches of an epoch as a trainer's engine takes them.

    An element is the part of one replica: a dictionary as of `UpdateBatches`,
    without the axis of the replicas. The replicas of this worker take
    consecutive elements, as `strategy.distribute_datasets_from_function` hands
    them out. The batches from number `start` on repeat for ever, because
    TensorFlow would handle the end of a dataset by itself, with parts of fixed
    shapes. The caller counts the batches, and keeps a reference to `batches`.
    """
    import tensorflow as tf

    num_rounds, _, first, num_local = batches.layout
    spec = make_update_spec((num_rounds,), bool(batches.guidance))

    # TensorFlow keeps a Python function for ever, but must free the plan.
    reference = weakref.ref(batches)

    def read(part):
        number, replica = divmod(int(part), num_local)
        replica += first
        batch = reference().read(number, slice(replica, replica + 1))
        num_tokens = batch.pop("num_tokens")
        parts = {name: array[:, 0] for name, array in batch.items()}
        return {**parts, "num_tokens": num_tokens}

    parts = tf.data.Dataset.range(num_local * start, num_local * len(batches))
    return _map_to_arrays(parts.repeat(), read, spec)


def make_update_spec(rounds, has_guidance):
    """Returns the `tf.TensorSpec` of each array of a replica in an update.

    `rounds` is what precedes the shape of one round: `(num_rounds,)`, or `()`.
    """
    import tensorflow as tf

    ids = tf.TensorSpec((*rounds, None, None), tf.int32)
    spec = {
        "inputs": ids,
        "targets": ids,
        "seeds": tf.TensorSpec((*rounds, None), tf.int32),
        "num_tokens": tf.TensorSpec((), tf.float32),
    }
    if has_guidance:
        shape = (*rounds, None, None, None)
        spec["guidance"] = tf.TensorSpec(shape, tf.int32)
    return spec


def make_fit_dataset(token_pairs, plan_epoch):
    """Returns the padded batches of one epoch after another for `model.fit`.

    `plan_epoch` takes the number of an epoch and returns its `BatchPlan`; all
    have the same number of batches. Each new iteration over the dataset is the
    next epoch. See `GeneratedData.dataset` for its elements.
    """
    import tensorflow as tf

    epochs = itertools.count()
    plans = {}

    def begin_epoch():
        epoch = next(epochs)
        plans[epoch] = plan_epoch(epoch)
        # Batches of the last epoch may still be in preparation.
        plans.pop(epoch - 2, None)
        return epoch

    def read(epoch, number):
        batch = plans[int(epoch)][int(number)]
        inputs, targets = batch_plan.pad_batch(token_pairs, *batch)
        return {"inputs": inputs, "targets": targets}

    num_batches = len(plan_epoch(0))

    # An iteration begins with the number of its epoch, which accompanies every
    # batch. That is how batches still in preparation know their plan.
    def numbers(_):
        epoch = tf.numpy_function(begin_epoch, [], tf.int64)
        return tf.data.Dataset.range(num_batches).map(lambda n: (epoch, n))

    ids = tf.TensorSpec((None, None), tf.int32)
    planned = tf.data.Dataset.range(1).flat_map(numbers)
    # Without a known cardinality, `fit` counts one update too many in every
    # epoch, which shifts the learning rate.
    planned = planned.apply(
        tf.data.experimental.assert_cardinality(num_batches)
    )
    batches = _map_to_arrays(planned, read, {"inputs": ids, "targets": ids})
    return batches.map(lambda batch: (batch, batch["targets"]))


def make_streaming_dataset(
    read_corpus, num_corpora, batch_tokens, seed, shuffle_buffer, num_replicas
):
    """Returns padded batches of text that is read while a model trains.

    No plan is made, so memory holds only the shuffle buffer and the batches in
    preparation. The corpora are read in turn, in a different order in each
    epoch. `bucket_by_sequence_length` gathers pairs of similar lengths,
    between the boundaries of Tensor2Tensor, until they fill `batch_tokens`
    positions on either side; a single longer pair makes a batch.

    `read_corpus` takes the number of a corpus and yields chunks of its pairs,
    as `encoding.encode_stream` does. If `seed` is None, all pairs come once and
    in order; otherwise the dataset is infinite. The rest is as in
    `Problem.streaming_dataset`.
    """
    import tensorflow as tf

    # The ids of a sentence are one string, so that unbatching, shuffling and
    # bucketing move two scalars for each pair, whatever its length.
    ids = tf.TensorSpec((None,), tf.string)
    # Registered once, and after TensorFlow's exit functions, so it runs before.
    atexit.unregister(_close_iterators)
    atexit.register(_close_iterators)

    def read(number):
        return tf.data.Dataset.from_generator(
            read_corpus, args=[number], output_signature=(ids, ids)
        )

    corpora = tf.data.Dataset.range(num_corpora)
    if seed is not None:
        corpora = corpora.shuffle(num_corpora, seed).repeat()
    pairs = (
        corpora.interleave(
            read,
            cycle_length=min(num_corpora, MAX_OPEN_CORPORA),
            num_parallel_calls=min(num_corpora, NUM_PARALLEL),
            deterministic=True,
        )
        .prefetch(NUM_AHEAD)
        .unbatch()
    )
    if seed is not None:
        pairs = pairs.shuffle(shuffle_buffer, seed)
    return _bucket_pairs(pairs, batch_tokens, num_replicas)


def _close_iterators():
    """Stops the threads of all iterators that are still in use."""
    # A thread that calls a Python generator while Python shuts down aborts the
    # process or waits for ever. TensorFlow stops the threads of an iterator
    # when nothing refers to its resource any more.
    import tensorflow as tf

    kinds = (tf.data.Iterator, tf.distribute.DistributedIterator)
    for item in gc.get_objects():
        # `isinstance` would raise an error for a proxy of a dead object.
        if issubclass(type(item), kinds):
            vars(item).clear()


def _bucket_pairs(pairs, batch_tokens, num_replicas):
    """Makes padded batches of a dataset of pairs of ids as strings."""
    import tensorflow as tf

    def length(*pair):
        return tf.reduce_max(tf.strings.length(tf.stack(pair))) // ID_BYTES

    def pad(*sides):
        missing = -tf.shape(sides[0])[0] % num_replicas
        inputs, targets = (decode(tf.pad(s, [(0, missing)])) for s in sides)
        return {"inputs": inputs, "targets": targets}, targets

    def decode(strings):
        longest = tf.reduce_max(tf.strings.length(strings))
        return tf.io.decode_raw(strings, tf.int32, fixed_length=longest)

    # The maximum lengths of buckets, as Tensor2Tensor chooses them.
    boundaries, longest = [], 8
    while not boundaries or longest < batch_tokens:
        boundaries.append(longest)
        longest = max(longest + 1, int(1.1 * longest))
    rows = [
        max(batch_tokens // longest // num_replicas, 1) * num_replicas
        for longest in [*boundaries, batch_tokens]
    ]
    batches = pairs.bucket_by_sequence_length(
        length,
        # TensorFlow takes the first length that a bucket excludes.
        [longest + 1 for longest in boundaries],
        rows,
    )
    return _prepare_ahead(batches, pad)


def _map_to_arrays(dataset, read, spec):
    """Maps numbers to the arrays that the NumPy function `read` returns."""
    # They are a dictionary, and `spec` has the `tf.TensorSpec` of each.
    import tensorflow as tf

    def in_order(*numbers):
        arrays = read(*numbers)
        return [arrays[name] for name in spec]

    def to_tensors(*numbers):
        dtypes = [array.dtype for array in spec.values()]
        arrays = tf.numpy_function(in_order, numbers, dtypes, stateful=False)
        return {
            name: tf.ensure_shape(array, spec[name].shape)
            for name, array in zip(spec, arrays)
        }

    return _prepare_ahead(dataset, to_tensors)


def _prepare_ahead(dataset, function):
    """Maps a dataset by calls that run ahead of the updates, in order."""
    import tensorflow as tf

    options = tf.data.Options()
    # Closing a dataset may wait for its tuning thread, which sleeps for long.
    options.autotune.enabled = False
    return (
        dataset.map(
            function, num_parallel_calls=NUM_PARALLEL, deterministic=True
        )
        .prefetch(NUM_AHEAD)
        .with_options(options)
    )
