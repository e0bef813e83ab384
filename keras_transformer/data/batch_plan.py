"""Plan which sentence pairs make up which padded batch of an epoch."""

import math

import numpy as np

from keras_transformer.data.buckets import choose_buckets

EMPTY_ROW = -1


class BatchPlan:
    """Say which pairs, padded to which shape, are an epoch's batches.

    `plan[i]` is `(indices, shape)`: the numbers of the sentence pairs of
    batch `i`, in an array of shape `(rows,)` that holds -1 for an empty row,
    and the batch's `(rows, input_len, target_len)`. Where several pairs share
    a row, `indices` is `(rows, pairs_per_row)`, each row's pairs first, then
    -1. Build one with `plan_batches` or `plan_packed` and fill its batches
    with `pad_batch`.

    Args:
        buckets: list of integer arrays `(num_batches, rows)` or
            `(num_batches, rows, pairs_per_row)`, the pairs of each bucket.
        shapes: the shape `(rows, input_len, target_len)` of each bucket.
        order: integer array `(batches, 2)`, the bucket and the batch in it
            of each batch of the epoch.
        num_tokens: source and target tokens in all batches together.
        num_dropped: number of pairs longer than the longest allowed.
    """

    def __init__(self, buckets, shapes, order, num_tokens, num_dropped):
        self.shapes = shapes
        self.num_dropped = num_dropped
        self._buckets = buckets
        self._order = order
        self._num_tokens = num_tokens

    def __len__(self):
        return len(self._order)

    def __getitem__(self, index):
        bucket, batch = self._order[index]
        return self._buckets[bucket][batch], self.shapes[bucket]

    @property
    def padding_share(self):
        """Share of source and target positions that hold no token."""
        positions = sum(
            len(pairs) * rows * (input_len + target_len)
            for pairs, (rows, input_len, target_len) in zip(
                self._buckets, self.shapes
            )
        )
        return 1 - self._num_tokens / positions if positions else 0.0


def plan_batches(
    input_lengths,
    target_lengths,
    batch_tokens,
    max_length=None,
    seed=0,
    epoch=0,
    shuffle=True,
):
    """Sort the sentence pairs of an epoch into batches of similar lengths.

    Every kept pair occurs in exactly one batch. The batches have few
    distinct shapes, chosen from the distribution of lengths and the same in
    every epoch, so a compiled step is compiled a few times only. Which pairs
    meet in a batch, and the order of the batches, is a pure function of the
    arguments: position `(epoch, batch)` is all that resuming needs.

    A shuffled epoch 0 begins with a batch of the shape that needs the most
    memory: what does not fit the device fails at once, not an hour later.

    Args:
        input_lengths: integers `(pairs,)`, tokens of each source sentence.
        target_lengths: integers `(pairs,)`, tokens of each target sentence.
        batch_tokens: most source positions, and most target positions, of a
            batch, padding included.
        max_length: pairs with a longer side are left out. None keeps all.
        seed: chooses the random order, at least 0.
        epoch: number of the epoch; each has an order of its own.
        shuffle: whether to shuffle. If not, pairs of similar lengths come
            together, in the order of the text.

    Returns:
        A `BatchPlan`.

    Raises:
        ValueError: if a kept sentence is longer than `batch_tokens`.
    """
    kept, kept_lengths = select_pairs(
        input_lengths, target_lengths, batch_tokens, max_length
    )
    bucket_of_pair, limits = choose_buckets(kept_lengths, batch_tokens)

    generator = np.random.default_rng([seed, epoch])
    if shuffle:
        shuffled = generator.permutation(len(kept))
        kept, bucket_of_pair = kept[shuffled], bucket_of_pair[shuffled]
    by_bucket = kept[np.argsort(bucket_of_pair, kind="stable")]
    ends = np.cumsum(np.bincount(bucket_of_pair, minlength=len(limits)))
    buckets = [
        lay_out(pairs, batch_tokens // max(limit))
        for pairs, limit in zip(np.split(by_bucket, ends[:-1]), limits)
    ]
    shapes = [(pairs.shape[1], *limit) for pairs, limit in zip(buckets, limits)]
    order = _order_of_batches(buckets)
    if shuffle:
        generator.shuffle(order)
        if epoch == 0:
            order = _biggest_first(order, shapes)
    num_dropped = len(input_lengths) - len(kept)
    return BatchPlan(
        buckets, shapes, order, int(kept_lengths.sum()), num_dropped
    )


def pad_batch(token_pairs, indices, shape):
    """Return one batch of a plan as padded arrays of token ids.

    Args:
        token_pairs: the `TokenPairs` that the plan was made for.
        indices: integers `(rows,)` or `(rows, pairs_per_row)`, pair numbers;
            -1 stands for no pair.
        shape: the batch's `(rows, input_len, target_len)`.

    Returns:
        `(inputs, targets)`, int32 arrays `(rows, input_len)` and
        `(rows, target_len)` filled up with 0.
    """
    _, input_len, target_len = shape
    return (
        token_pairs.inputs.padded(indices, input_len),
        token_pairs.targets.padded(indices, target_len),
    )


def padded_batches(token_pairs, plan, start=0):
    """Yield the padded batches of a plan, from batch number `start` on."""
    for index in range(start, len(plan)):
        yield pad_batch(token_pairs, *plan[index])


def select_pairs(input_lengths, target_lengths, batch_tokens, max_length):
    """Return the numbers of the pairs to keep, and their lengths.

    Returns:
        Integers `(kept,)` and `(kept, 2)`.

    Raises:
        ValueError: if a kept sentence is longer than `batch_tokens`.
    """
    lengths = np.array(
        [input_lengths, target_lengths], np.int64
    ).T  # (pairs, 2)
    kept = np.arange(len(lengths))
    if max_length is not None:
        kept = np.flatnonzero(lengths.max(axis=1) <= max_length)
    longest = lengths[kept].max(initial=0)
    if longest > batch_tokens:
        raise ValueError(
            "`batch_tokens` must be at least the number of tokens of the "
            f"longest sentence. Received: batch_tokens={batch_tokens}, longest "
            f"sentence={longest} tokens. Raise batch_tokens or lower "
            "max_length."
        )
    return kept, lengths[kept]


def lay_out(rows_of_pairs, most_rows):
    """Divide rows among batches of one number of rows, all about full.

    Args:
        rows_of_pairs: integers `(all_rows,)` or `(all_rows, pairs_per_row)`.
        most_rows: most rows of a batch.

    Returns:
        Integers `(num_batches, rows, ...)`; -1 fills up, at most one row of
        each batch.
    """
    num_batches = math.ceil(len(rows_of_pairs) / most_rows)
    rows = math.ceil(len(rows_of_pairs) / num_batches)
    # Filled row by row over all batches, so that a batch misses one at most.
    row_shape = rows_of_pairs.shape[1:]
    filled = np.full((rows * num_batches, *row_shape), EMPTY_ROW, np.int64)
    filled[: len(rows_of_pairs)] = rows_of_pairs
    return filled.reshape(rows, num_batches, *row_shape).swapaxes(0, 1)


def _order_of_batches(buckets):
    """Return `(bucket, batch in the bucket)` of every batch, in order."""
    return np.array(
        [
            (bucket, batch)
            for bucket, pairs in enumerate(buckets)
            for batch in range(len(pairs))
        ],
        np.int64,
    ).reshape(-1, 2)


def _biggest_first(order, shapes):
    """Move a batch of the shape that needs the most memory to the front."""
    if not len(order):
        return order
    memory = [
        (rows * (input_len + target_len), input_len + target_len)
        for rows, input_len, target_len in shapes
    ]
    biggest = memory.index(max(memory))
    at = np.argmax(order[:, 0] == biggest)
    return np.concatenate([order[at : at + 1], np.delete(order, at, axis=0)])
