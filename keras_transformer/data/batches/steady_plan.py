"""The plan of epochs whose sentences have other lengths in each of them."""

import math

import numpy as np

from keras_transformer.data.batches import batch_plan

# The longest sentence may exceed the longest of the reference by this factor.
TAIL = 1.35


def make_reference(lengths, room, longest):
    """Returns the lengths for which shapes suit all epochs.

    Args:
        lengths: Stored lengths of the pairs, of shape `(pairs, 2)`.
        room: Factor by which sentences get longer on average.
        longest: Maximum length of a sentence. Longer pairs are left out.

    Returns:
        Integer array of shape `(kept + 1, 2)`. Its last row has the maximum
        length of a source and of a target in any epoch.
    """
    kept = lengths[lengths.max(axis=1) <= longest]
    grown = np.ceil(room * kept)
    tail = np.ceil(TAIL * grown.max(axis=0, initial=1, keepdims=True))
    rows = np.concatenate([grown, tail])
    return np.minimum(rows, longest).astype(np.int64)


def plan_steady(
    input_lengths,
    target_lengths,
    batch_tokens,
    reference,
    max_length=None,
    seed=0,
    epoch=0,
    shuffle=True,
    pair_numbers=None,
):
    """Sorts the pairs of an epoch into batches of shapes that never change.

    Choose it where each epoch segments or disturbs its text anew. The shapes
    that `plan_batches` chooses for the lengths of an epoch would then be new
    in every epoch. Here they follow from the `reference` alone, an array of
    `make_reference`, which no length may exceed. The other arguments are those
    of `plan_batches`, and a batch holds about as many tokens as its batches do.
    """
    kept, lengths, num_dropped = batch_plan.select_pairs(
        input_lengths, target_lengths, max_length, pair_numbers
    )
    batch_plan.check_longest(lengths, batch_tokens)
    num_tokens = lengths.sum(axis=0)
    shapes = _choose_shapes(reference, batch_tokens) if len(kept) else []
    generator = np.random.default_rng([seed, epoch])
    if shuffle:
        shuffled = generator.permutation(len(kept))
        kept, lengths = kept[shuffled], lengths[shuffled]
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
            laid_out = batch_plan.lay_out(kept[taken], rows, full_shape=True)
            batches += [(indices, shape) for indices in laid_out]
        kept = np.delete(kept, taken)
        lengths = np.delete(lengths, taken, axis=0)
    if shuffle:
        generator.shuffle(batches)
        if epoch == 0 and batches:
            used = list(dict.fromkeys(shape for _, shape in batches))
            batch_plan.move_biggest_first(batches, used)
    return batch_plan.BatchPlan(batches, shapes, num_tokens, num_dropped)


def _choose_shapes(reference, batch_tokens):
    """Returns `(rows, input_len, target_len)` of each shape, smallest first."""
    cells, _ = batch_plan.count_cells(reference)
    bucket_of_cell, limits = batch_plan.choose_buckets(cells, batch_tokens)
    shapes = []
    counts = np.bincount(bucket_of_cell, cells[:, 2])
    for num_pairs, limit in zip(counts, limits):
        # As few rows as the number of batches of the reference allows.
        num_batches = math.ceil(num_pairs / (batch_tokens // max(limit)))
        shapes.append((math.ceil(num_pairs / num_batches), *limit))
    return sorted(shapes, key=lambda shape: sum(shape[1:]))
