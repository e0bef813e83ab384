"""The loss that a training minimises, the same for every engine."""

import math

from keras_transformer.layers import dropout_noise
from keras_transformer.losses import projected_cross_entropy

# Number of target positions whose logits are in memory at once. Smaller chunks
# are slower, since each one adds to the gradient of the whole embedding matrix.
CHUNK_ROWS = 1024


def loss_sum(model, inputs, targets, seeds, label_smoothing, num_positions):
    """Sums the loss over the real target tokens of a part of a batch.

    Args:
        model: A built `Transformer`.
        inputs: Integer ids of shape `(rows, input_len)`.
        targets: Integer ids of shape `(rows, target_len)`.
        seeds: Integers of shape `(rows,)`; see `dropout_noise`.
        label_smoothing: Share of the probability that is spread over the
            vocabulary, eps_ls.
        num_positions: Approximate number of target positions, from which the
            number of chunks follows.

    Returns:
        A float32 scalar.
    """
    with dropout_noise(seeds):
        decoded = model.decoded(
            {"inputs": inputs, "targets": targets}, training=True
        )
    return projected_cross_entropy(
        decoded,
        model.embedding.embeddings,
        targets,
        label_smoothing,
        math.ceil(num_positions / CHUNK_ROWS),
    )
