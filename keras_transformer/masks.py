"""Boolean attention masks: True means "may attend"."""

from keras import ops


def padding_mask(ids):
    """Marks the real tokens of a padded batch.

    Args:
        ids: integer tensor of shape `(batch, length)`, 0 where padded.

    Returns:
        boolean tensor of shape `(batch, length)`.
    """
    return ops.not_equal(ids, 0)


def causal_mask(length):
    """Lets each position attend to itself and to earlier ones.

    Section 3.2.3 of Vaswani et al. (2017): a decoder position must not see
    the tokens after it.

    Args:
        length: number of positions, a Python integer or a scalar tensor.

    Returns:
        boolean tensor of shape `(1, length, length)`.
    """
    positions = ops.arange(length)
    return (positions[:, None] >= positions[None, :])[None]


def neighbourhood_mask(length, radius):
    """Lets each position attend to those at most `radius` away.

    Restricted self-attention, section 4 of Vaswani et al. (2017).

    Args:
        length: number of positions, a Python integer or a scalar tensor.
        radius: r, the greatest distance that may be attended to.

    Returns:
        boolean tensor of shape `(1, length, length)`.
    """
    positions = ops.arange(length)
    distances = ops.abs(positions[:, None] - positions[None, :])
    return (distances <= radius)[None]


def combine_masks(*masks):
    """Joins masks with a logical and; `None` stands for "everything".

    Args:
        *masks: boolean tensors that broadcast against one another, or None.

    Returns:
        boolean tensor, or None if every argument is None.
    """
    combined = None
    for current in masks:
        if current is None:
            continue
        if combined is None:
            combined = current
        else:
            combined = ops.logical_and(combined, current)
    return combined
