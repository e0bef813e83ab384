"""What training minimises, the same for every engine."""

import math

from keras_transformer.layers import dropout_noise
from keras_transformer.losses import projected_cross_entropy

# Target positions whose logits are held at once. Fewer take longer, since each
# chunk adds to the gradient of the whole embedding matrix.
CHUNK_ROWS = 1024


def loss_sum(model, inputs, targets, seeds, label_smoothing, num_positions):
    """Sums the loss over the real target tokens of a part of a batch.

    Args:
        model: a built `Transformer`.
        inputs: integer ids of shape `(rows, input_len)`.
        targets: integer ids of shape `(rows, target_len)`.
        seeds: integers of shape `(rows,)`, see `dropout_noise`.
        label_smoothing: eps_ls.
        num_positions: about how many target positions there are.

    Returns:
        float32 scalar.
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
