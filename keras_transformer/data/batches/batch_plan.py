"""The plan of an epoch: which sentence pairs make up which padded batch."""

import dataclasses
import math

import numpy as np

from keras_transformer.errors import UserError

EMPTY_ROW = -1
# A further shape costs a compilation, so it has to save at least this share
# of the positions that hold tokens.
MIN_SAVING = 0.003
MAX_SHAPES = 32

# With `fixed_shapes`, a compiler that takes ten seconds or more for each shape
# matters more than padding. With 29,000 random sentence pairs, 40 % of the
# positions are padding with 4 shapes, 27 % with 8 and 10 % with 32.
FEW_SHAPES = 8
LENGTH_MULTIPLE = 8
# The longest sentence may exceed the longest of the reference by this factor.
TAIL = 1.35


@dataclasses.dataclass(frozen=True)
class BatchPlan:
    """Lists the sentence pairs and the padded shape of each batch.

    `plan[i]` is a tuple `(indices, shape)`. `indices` has shape `(rows,)` and
    holds the number of the sentence pair of each row, or -1 for an empty row.
    In a packed batch, where several pairs share a row, it has shape `(rows,
    pairs_per_row)`, and -1 fills the end of each row. `shape` is `(rows,
    input_len, target_len)`. `pad_batch` fills a batch.
    """

    batches: list  # of these tuples
    shapes: list  # that are distinct
    num_tokens: np.ndarray  # of all batches, source and target, shape (2,)
    num_dropped: int  # pairs that are too long

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]

    @property
    def padding_share(self):
        """Share of the source and target positions that hold no token."""
        positions = sum(
            rows * (input_len + target_len)
            for _, (rows, input_len, target_len) in self.batches
        )
        num_tokens = int(self.num_tokens.sum())
        return 1 - num_tokens / positions if positions else 0.0

    @property
    def tokens_per_batch(self):
        """The mean numbers of source and of target tokens of a batch."""
        return tuple((self.num_tokens / len(self)).tolist())


def plan_batches(
    input_lengths,
    target_lengths,
    batch_tokens,
    max_length=None,
    seed=0,
    epoch=0,
    shuffle=True,
    fixed_shapes=False,
    pair_numbers=None,
    reference=None,
    pack=None,
):
    """Sorts the sentence pairs of an epoch into batches of similar lengths.

    Every kept pair occurs in exactly one batch. The batches have at most
    `MAX_SHAPES` shapes, which follow from the distribution of the lengths. They
    are the same in every epoch of the same pairs, so a step is compiled only a
    few times. The contents and the order of the batches are a pure function of
    the arguments: training resumes from the position `(epoch, batch)` alone.

    A shuffled epoch 0 begins with a batch of the shape that needs the most
    memory. If it does not fit, training fails at once instead of an hour later.

    The lengths, of shape `(pairs,)`, are the numbers of tokens of each source
    and target sentence. A batch has at most `batch_tokens` source positions and
    as many target positions, padding included. `max_length` is the length of
    the longest sentence to keep. Without `shuffle`, pairs of similar lengths
    come together, in the order of the text. With `fixed_shapes` there are at
    most `FEW_SHAPES` shapes. Their lengths are multiples of 8, and they have as
    many rows as `batch_tokens` allows. `pair_numbers` selects the pairs of the
    epoch and may repeat them; None is every pair once. A kept sentence that is
    longer than `batch_tokens` raises a `UserError`.

    Where each epoch segments or disturbs its text anew, its lengths change, and
    so would the shapes. They follow from the `reference` alone instead, an
    array of `make_reference`, which no length may exceed. A batch then holds
    about as many tokens.

    `pack` is as in `packing.plan_packed`, and makes the batches instead.
    """
    kept, lengths, num_dropped = select_pairs(
        input_lengths, target_lengths, max_length, pair_numbers
    )
    check_longest(lengths, batch_tokens)
    num_tokens = lengths.sum(axis=0)
    if not len(kept):
        return BatchPlan([], [], num_tokens, num_dropped)
    generator = np.random.default_rng([seed, epoch])
    if shuffle:
        shuffled = generator.permutation(len(kept))
        kept, lengths = kept[shuffled], lengths[shuffled]
    steady_shapes = []
    if pack:
        shuffle_rows = generator.shuffle if shuffle else list
        batches = pack(kept, lengths, batch_tokens, reference, shuffle_rows)
    elif reference is None:
        batches = _fill_buckets(kept, lengths, batch_tokens, fixed_shapes)
    else:
        steady_shapes = _choose_shapes(reference, batch_tokens)
        batches = _fill_shapes(kept, lengths, steady_shapes)
    shapes = list(dict.fromkeys(shape for _, shape in batches))
    if shuffle and not pack:
        generator.shuffle(batches)
        if epoch == 0:
            _move_biggest_first(batches, shapes)
    return BatchPlan(batches, steady_shapes or shapes, num_tokens, num_dropped)


def _fill_buckets(pairs, lengths, batch_tokens, fixed_shapes):
    """Returns batches whose shapes suit the lengths of the pairs."""
    max_shapes = MAX_SHAPES
    if fixed_shapes:
        multiples = -(-lengths // LENGTH_MULTIPLE) * LENGTH_MULTIPLE
        # A sentence that fits into a batch still fits when it is padded.
        lengths = np.minimum(multiples, batch_tokens)
        max_shapes = FEW_SHAPES
    # Pairs of the same two lengths are alike for a plan. Millions of pairs have
    # only thousands of such cells, so the shapes are chosen for cells.
    cells, cell_of_pair = count_cells(lengths)
    bucket_of_cell, limits = choose_buckets(cells, batch_tokens, max_shapes)
    bucket_of_pair = bucket_of_cell[cell_of_pair]
    # The sort is stable, so the pairs of a bucket keep their shuffled order.
    by_bucket = pairs[np.argsort(bucket_of_pair, kind="stable")]
    ends = np.cumsum(np.bincount(bucket_of_pair, minlength=len(limits)))
    return [
        (indices, (len(indices), *limit))
        for part, limit in zip(np.split(by_bucket, ends[:-1]), limits)
        for indices in lay_out(part, batch_tokens // max(limit), fixed_shapes)
    ]


def make_reference(lengths, room, longest, pair_numbers=None):
    """Returns the lengths for which shapes suit all epochs, `(kept + 1, 2)`.

    `lengths`, of shape `(pairs, 2)`, belong to the stored pairs, and `room` is
    the factor by which sentences get longer on average. Pairs above the length
    `longest` are left out. `pair_numbers` are the pairs of an epoch, or None
    for all. The last row has the maximum lengths of both sides in any epoch.
    """
    _, kept, _ = select_pairs(*lengths.T, longest, pair_numbers)
    grown = np.ceil(room * kept)
    tail = np.ceil(TAIL * grown.max(axis=0, initial=1, keepdims=True))
    # Other epochs choose other pairs, so the longest of all must fit.
    _, all_kept, _ = select_pairs(*lengths.T, longest)
    tail = np.maximum(tail, all_kept.max(axis=0, initial=1))
    rows = np.concatenate([grown, tail])
    return np.minimum(rows, longest).astype(np.int64)


def _choose_shapes(reference, batch_tokens):
    """Returns `(rows, input_len, target_len)` of each shape, smallest first."""
    cells, _ = count_cells(reference)
    bucket_of_cell, limits = choose_buckets(cells, batch_tokens)
    shapes = []
    counts = np.bincount(bucket_of_cell, cells[:, 2])
    for num_pairs, limit in zip(counts, limits):
        # As few rows as the number of batches of the reference allows.
        num_batches = math.ceil(num_pairs / (batch_tokens // max(limit)))
        shapes.append((math.ceil(num_pairs / num_batches), *limit))
    return sorted(shapes, key=lambda shape: sum(shape[1:]))


def _fill_shapes(pairs, lengths, shapes):
    """Returns batches of given shapes, of which the last one fits all pairs."""
    batches = []
    for shape in shapes:
        rows, *limit = shape
        fitting = np.flatnonzero((lengths <= limit).all(axis=1))
        # Pairs that do not fill a batch go to a larger shape, where they cost
        # less padding than empty rows do here. The last shape takes all.
        num_batches = len(fitting) // rows
        if shape == shapes[-1]:
            num_batches = math.ceil(len(fitting) / rows)
        taken = fitting[: num_batches * rows]
        if num_batches:
            laid_out = lay_out(pairs[taken], rows, full_shape=True)
            batches += [(indices, shape) for indices in laid_out]
        pairs = np.delete(pairs, taken)
        lengths = np.delete(lengths, taken, axis=0)
    return batches


def pad_batch(token_pairs, indices, shape):
    """Returns the padded `(inputs, targets)` of an item of a plan.

    They are int32, of shapes `(rows, input_len)` and `(rows, target_len)`.
    """
    _, input_len, target_len = shape
    return (
        token_pairs.inputs.pad(indices, input_len),
        token_pairs.targets.pad(indices, target_len),
    )


def pad_batches(token_pairs, plan):
    """Yields the padded batches of a plan."""
    for indices, shape in plan:
        yield pad_batch(token_pairs, indices, shape)


def select_pairs(input_lengths, target_lengths, max_length, pair_numbers=None):
    """Selects the pairs that are not too long.

    Returns their numbers, of shape `(kept,)`, their lengths, of shape `(kept,
    2)`, and the number of pairs left out.
    """
    lengths = np.stack([input_lengths, target_lengths], axis=1)  # (pairs, 2)
    kept = np.arange(len(lengths)) if pair_numbers is None else pair_numbers
    num_pairs = len(kept)
    if max_length is not None:
        kept = kept[lengths[kept].max(axis=1) <= max_length]
    return kept, lengths[kept], num_pairs - len(kept)


def check_longest(lengths, tokens, name="batch_tokens", way="lower max_length"):
    """Raises a `UserError` if a sentence is longer than a side of a batch."""
    longest = lengths.max(initial=0)
    if longest > tokens:
        raise UserError(
            f"`{name}` must be at least the number of tokens of the longest "
            f"sentence. Received: {name}={tokens}, longest sentence={longest} "
            f"tokens. Raise {name}, or {way}."
        )


def lay_out(rows_of_pairs, max_rows, full_shape=False):
    """Divides rows among batches that all have the same number of rows.

    `rows_of_pairs` has shape `(all_rows,)` or `(all_rows, pairs_per_row)`. The
    result has shape `(num_batches, rows, ...)` and is filled up with -1. With
    `full_shape` a batch has `max_rows`; otherwise as few as the number of
    batches allows, so it has at most one empty row.
    """
    num_batches = math.ceil(len(rows_of_pairs) / max_rows)
    fewest_rows = math.ceil(len(rows_of_pairs) / num_batches)
    rows = max_rows if full_shape else fewest_rows
    # The first rows of all batches are filled first, then the second ones, so
    # that the empty rows are spread evenly over the batches.
    row_shape = rows_of_pairs.shape[1:]
    filled = np.full((rows * num_batches, *row_shape), EMPTY_ROW, np.int64)
    filled[: len(rows_of_pairs)] = rows_of_pairs
    # (rows, num_batches, ...)
    by_row = filled.reshape(rows, num_batches, *row_shape)
    return by_row.swapaxes(0, 1)


def _move_biggest_first(batches, shapes):
    # Attention grows with the square of the length, so of two shapes with the
    # same number of positions the longer one needs more memory.
    def memory(shape):
        rows, input_len, target_len = shape
        return rows * (input_len + target_len), input_len + target_len

    biggest = max(shapes, key=memory)
    at = [shape for _, shape in batches].index(biggest)
    batches.insert(0, batches.pop(at))


def count_cells(lengths):
    """Groups the pairs by their lengths.

    Returns the cells, of shape `(cells, 3)`, with a source length, a target
    length and the number of pairs that have both; and the cell of each pair.
    """
    # One number stands for both lengths: for a million pairs, `np.unique` takes
    # 0.1 s on numbers and 4.8 s on rows of two.
    base = lengths.max() + 1
    codes, cell_of_pair, counts = np.unique(
        lengths[:, 0] * base + lengths[:, 1],
        return_inverse=True,
        return_counts=True,
    )
    cells = np.stack([codes // base, codes % base, counts], axis=1)
    return cells, cell_of_pair


def choose_buckets(cells, batch_tokens, max_shapes=MAX_SHAPES):
    """Groups the cells into rectangles of source length by target length.

    Begins with one bucket of all cells. Each step cuts one bucket in two, at
    the source or target length where the cut saves the most padding. Returns
    the bucket of each cell, of shape `(cells,)`, and the list of the padded
    lengths `(input_len, target_len)` of the buckets.
    """
    num_tokens = cells[:, 2] @ cells[:, :2].sum(axis=1)
    buckets = [np.arange(len(cells))]
    cuts = [_find_best_cut(cells, buckets[0], batch_tokens)]
    while len(buckets) < max_shapes:
        best = max(range(len(cuts)), key=lambda bucket: cuts[bucket][0])
        saving, low, high = cuts[best]
        if saving <= MIN_SAVING * num_tokens:
            break
        buckets[best] = low
        buckets.append(high)
        cuts[best] = _find_best_cut(cells, low, batch_tokens)
        cuts.append(_find_best_cut(cells, high, batch_tokens))
    bucket_of_cell = np.empty(len(cells), np.int64)
    for number, bucket in enumerate(buckets):
        bucket_of_cell[bucket] = number
    limits = [tuple(cells[b, :2].max(axis=0).tolist()) for b in buckets]
    return bucket_of_cell, limits


def _find_best_cut(cells, bucket, batch_tokens):
    """Returns `(saved positions, cells below, cells above)` of the best cut."""
    best = 0, None, None
    num_pairs, uncut = cells[bucket, 2].sum(), cells[bucket, :2].max(axis=0)
    uncut_positions = _positions(num_pairs, uncut, batch_tokens)
    for side in (0, 1):
        ordered = bucket[np.argsort(cells[bucket, side], kind="stable")]
        lengths = cells[ordered, :2]
        cut = np.flatnonzero(np.diff(lengths[:, side]))
        if not len(cut):
            continue
        # The running maxima from both ends give the limits of all cuts at
        # once, so a bucket costs only one sort for each side.
        low_limit = np.maximum.accumulate(lengths)[cut]  # (cuts, 2)
        high_limit = np.maximum.accumulate(lengths[::-1])[::-1][cut + 1]
        num_low = np.cumsum(cells[ordered, 2])[cut]
        num_high = num_pairs - num_low
        saving = (
            uncut_positions
            - _positions(num_low, low_limit, batch_tokens)
            - _positions(num_high, high_limit, batch_tokens)
        )
        # Both parts must fill a batch: small batches cost more than they save.
        full = (num_low * low_limit.max(axis=1) >= batch_tokens) & (
            num_high * high_limit.max(axis=1) >= batch_tokens
        )
        at = np.argmax(np.where(full, saving, 0))
        if full[at] and saving[at] > best[0]:
            best = saving[at], ordered[: cut[at] + 1], ordered[cut[at] + 1 :]
    return best


def _positions(num_pairs, limit, batch_tokens):
    """Counts the source and target positions of buckets of these sizes."""
    # The largest number of rows that fits decides the number of batches. They
    # share the pairs evenly, as `lay_out` does, so none is nearly empty.
    max_rows = batch_tokens // limit.max(axis=-1)
    num_batches = -(-num_pairs // max_rows)
    rows = -(-num_pairs // num_batches)
    return num_batches * rows * limit.sum(axis=-1)
