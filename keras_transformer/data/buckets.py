"""Choice of the few shapes that the batches of an epoch are padded to."""

import numpy as np

# A further shape costs a compilation, so it has to save at least this share
# of the positions that hold tokens.
MIN_SAVING = 0.003
MAX_SHAPES = 32


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
        # Both parts must fill a batch: many small batches would cost more than
        # the padding they save.
        full = (num_low * low_limit.max(axis=1) >= batch_tokens) & (
            num_high * high_limit.max(axis=1) >= batch_tokens
        )
        at = np.argmax(np.where(full, saving, 0))
        if full[at] and saving[at] > best[0]:
            best = saving[at], ordered[: cut[at] + 1], ordered[cut[at] + 1 :]
    return best


def _positions(num_pairs, limit, batch_tokens):
    """Counts the source and target positions of buckets of these sizes."""
    most_rows = batch_tokens // limit.max(axis=-1)
    num_batches = -(-num_pairs // most_rows)
    rows = -(-num_pairs // num_batches)
    return num_batches * rows * limit.sum(axis=-1)
