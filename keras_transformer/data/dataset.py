"""Batches as a `tf.data.Dataset` for `model.fit`."""

import itertools

from keras_transformer.data.batch_plan import padded_batches


def make_dataset(token_pairs, plan_epoch):
    """Returns the padded batches of one epoch after another.

    Args:
        token_pairs: The `TokenPairs` of a split.
        plan_epoch: Function that takes the number of an epoch and returns its
            `BatchPlan`. Every epoch has the same number of batches.

    Returns:
        A dataset of known cardinality of `({"inputs": inputs, "targets":
        targets}, targets)`. Each new iteration over it is the next epoch.
    """
    # Imported here because everything else about data is plain NumPy.
    import tensorflow as tf

    epochs = itertools.count()

    # It delivers 300,000 pairs a second, many times what a training consumes.
    def batches():
        yield from padded_batches(token_pairs, plan_epoch(next(epochs)))

    ids = tf.TensorSpec((None, None), tf.int32)
    # Without a known cardinality, `fit` counts one update too many in every
    # epoch, which shifts the learning rate.
    return (
        tf.data.Dataset.from_generator(batches, output_signature=(ids, ids))
        .apply(tf.data.experimental.assert_cardinality(len(plan_epoch(0))))
        .map(_model_arguments)
        .prefetch(tf.data.AUTOTUNE)
    )


def _model_arguments(inputs, targets):
    return {"inputs": inputs, "targets": targets}, targets
