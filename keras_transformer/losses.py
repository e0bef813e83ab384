"""Label-smoothed cross-entropy of real target tokens."""

import keras
from keras import ops

from keras_transformer.masks import padding_mask
from keras_transformer.serialization import serializable


def smoothed_cross_entropy(targets, logits, label_smoothing=0.0):
    """Computes the loss of every position, including padded ones.

    This is the cross-entropy against `(1 - eps) onehot + eps / vocab_size`.
    Section 5.4 of Vaswani et al. (2017), after Szegedy et al. (2015).
    Tensor2Tensor spreads eps over the other tokens only and subtracts the
    entropy of the soft target. Together, these two differences change no
    gradient by more than eps / vocab_size.

    The closed form `lse(z) - (1 - eps) z[target] - eps mean(z)` needs no
    one-hot of the targets, nor does its gradient
    `softmax(z) - (1 - eps) onehot - eps / vocab_size`. Both are computed in
    float32 whatever the precision of the logits.

    Args:
        targets: Integer ids of shape `(batch, length)`.
        logits: Tensor of shape `(batch, length, vocab_size)`.
        label_smoothing: Float eps_ls, the share of probability that is spread
            over the vocabulary. Defaults to 0, which means no smoothing.

    Returns:
        Float32 tensor of shape `(batch, length)`.

    Example:

    >>> import numpy as np
    >>> loss = smoothed_cross_entropy(np.array([[1]]), np.zeros((1, 1, 8)))
    >>> round(float(loss[0, 0]), 4)  # log 8
    2.0794
    """
    vocab_size = logits.shape[-1]
    shape = ops.shape(targets)
    targets = ops.cast(targets, "int32")
    targets = ops.reshape(targets, (-1,))  # (batch x length,)
    rows = ops.reshape(logits, (-1, vocab_size))  # (batch x length, vocab_size)
    kept = 1.0 - label_smoothing
    spread = label_smoothing / vocab_size
    cells = ops.stack(
        [ops.arange(ops.shape(targets)[0]), targets], axis=-1
    )  # (batch x length, 2)

    # Differentiated automatically, the loss would keep several float32 arrays
    # as large as the logits until the backward pass. It would also be slower:
    # for 2,048 x 8,000 logits 204 ms of CPU time, instead of 118 ms.
    @ops.custom_gradient
    def loss_of(rows):
        scores = ops.cast(rows, "float32")
        log_sum = ops.logsumexp(scores, axis=-1)
        gold = ops.take_along_axis(
            scores, targets[:, None], axis=-1
        )  # (batch x length, 1)
        gold = gold[:, 0]
        loss = log_sum - kept * gold
        if label_smoothing:
            loss = loss - label_smoothing * ops.mean(scores, axis=-1)

        def gradient(*args, upstream=None):
            # PyTorch passes the upstream gradient by name, others by position.
            factor = args[0] if upstream is None else upstream
            scores = ops.cast(rows, "float32")
            slopes = ops.exp(scores - log_sum[:, None]) - spread
            slopes = slopes * factor[:, None]
            at_gold = (ops.exp(gold - log_sum) - spread - kept) * factor
            slopes = ops.scatter_update(slopes, cells, at_gold)
            return ops.cast(slopes, rows.dtype)

        return loss, gradient

    return ops.reshape(loss_of(rows), shape)  # (batch, length)


def projected_cross_entropy(
    states, embeddings, targets, label_smoothing=0.0, num_chunks=1
):
    """Sums the loss of all real target tokens without keeping any logits.

    The result equals projecting the decoder's states to logits and summing
    `smoothed_cross_entropy` over real tokens. It goes through the positions in
    chunks and computes the gradient together with the loss. No logits or
    probabilities wait for the backward pass, which saves most of the memory of
    large vocabularies. Choose it for training only, since it always does the
    work of the gradient.

    Args:
        states: Tensor of shape `(batch, length, d_model)`.
        embeddings: Tensor of shape `(vocab_size, d_model)`.
        targets: Integer ids of shape `(batch, length)`, padded with 0.
        label_smoothing: Float eps_ls, as in `smoothed_cross_entropy`. Defaults
            to 0, which means no smoothing.
        num_chunks: Number of chunks of positions. Defaults to 1.

    Returns:
        Float32 scalar.

    Example:

    >>> import numpy as np
    >>> states, embeddings = np.zeros((1, 2, 4)), np.ones((8, 4))
    >>> targets = np.array([[5, 0]])
    >>> round(float(projected_cross_entropy(states, embeddings, targets)), 4)
    2.0794
    """
    states = ops.convert_to_tensor(states)
    embeddings = ops.convert_to_tensor(embeddings)
    shape = ops.shape(states)
    targets = ops.cast(targets, "int32")
    targets = ops.reshape(targets, (-1,))  # (batch x length,)

    @ops.custom_gradient
    def loss_of(states, embeddings):
        kernel = ops.cast(embeddings, states.dtype)
        rows = ops.reshape(states, (-1, shape[-1]))  # (batch x length, d_model)
        loss, slopes, kernel_slopes = 0.0, [], 0.0
        for chunk in zip(
            _chunks(rows, num_chunks), _chunks(targets, num_chunks)
        ):
            of_chunk = _chunk_loss(*chunk, kernel, label_smoothing)
            loss = loss + of_chunk[0]
            slopes.append(of_chunk[1])
            kernel_slopes = kernel_slopes + of_chunk[2]
        slopes = ops.concatenate(slopes, axis=0)
        slopes = slopes[: ops.shape(rows)[0]]  # (batch x length, d_model)

        def gradient(*args, upstream=None):
            factor = args[0] if upstream is None else upstream
            of_states = slopes * ops.cast(factor, slopes.dtype)
            return (
                ops.reshape(of_states, shape),  # (batch, length, d_model)
                ops.cast(kernel_slopes * factor, embeddings.dtype),
            )

        return loss, gradient

    return loss_of(states, embeddings)


def _chunk_loss(rows, targets, kernel, label_smoothing):
    """Computes the loss of a chunk of positions together with its gradients.

    Args:
        rows: Tensor of shape `(rows, d_model)`.
        targets: Int32 ids of shape `(rows,)`, 0 where padded.
        kernel: Tensor of shape `(vocab_size, d_model)`.
        label_smoothing: Float eps_ls.

    Returns:
        The sum of the losses, its gradient by the rows, and its gradient by the
        kernel in float32.
    """
    kept = 1.0 - label_smoothing
    spread = label_smoothing / kernel.shape[0]
    real = ops.cast(padding_mask(targets), "float32")
    cells = ops.stack(
        [ops.arange(ops.shape(targets)[0]), targets], axis=-1
    )  # (rows, 2)
    scores = ops.matmul(rows, ops.transpose(kernel))  # (rows, vocab_size)
    scores = ops.cast(scores, "float32")
    gold = ops.take_along_axis(scores, targets[:, None], axis=-1)  # (rows, 1)
    gold = gold[:, 0]
    largest = ops.max(scores, axis=-1, keepdims=True)
    # Kept for the gradient, so that exponentials are computed once.
    powers = ops.exp(scores - largest)
    power_sum = ops.sum(powers, axis=-1, keepdims=True)
    log_sum = (ops.log(power_sum) + largest)[:, 0]
    loss = log_sum - kept * gold
    if label_smoothing:
        loss = loss - label_smoothing * ops.mean(scores, axis=-1)
    slopes = powers * (real[:, None] / power_sum)
    if label_smoothing:
        slopes = slopes - real[:, None] * spread
    at_gold = (ops.exp(gold - log_sum) - spread - kept) * real
    slopes = ops.scatter_update(slopes, cells, at_gold)
    slopes = ops.cast(slopes, rows.dtype)
    by_vocabulary = ops.transpose(slopes)  # (vocab_size, rows)
    kernel_slopes = ops.matmul(by_vocabulary, rows)
    return (
        ops.sum(loss * real),
        ops.matmul(slopes, kernel),
        # Float32, since sums over many chunks would lose digits in bfloat16.
        ops.cast(kernel_slopes, "float32"),
    )


def _chunks(rows, num_chunks):
    """Splits the first axis, padded with zeros, into equal parts."""
    if num_chunks == 1:
        return [rows]
    missing = -ops.shape(rows)[0] % num_chunks
    widths = [[0, missing]] + [[0, 0]] * (len(rows.shape) - 1)
    rows = ops.pad(rows, widths)
    rows = ops.reshape(
        rows, (num_chunks, -1, *rows.shape[1:])
    )  # (num_chunks, rows, ...)
    return ops.unstack(rows, num=num_chunks)


@serializable
class SmoothedCrossEntropy(keras.losses.Loss):
    """Averages label-smoothed cross-entropy over a batch's real target tokens.

    Pass it to `model.compile`. Padding, id 0, counts neither in the sum nor in
    the number of tokens.

    Args:
        label_smoothing: Float eps_ls. Defaults to 0.1, as in section 5.4 of
            Vaswani et al. (2017).
        name: Name of the loss. Defaults to "loss".

    Call arguments:
        y_true: Integer ids of shape `(batch, length)`.
        y_pred: Logits of shape `(batch, length, vocab_size)`.

    Returns:
        Float32 scalar.
    """

    def __init__(self, label_smoothing=0.1, name="loss"):
        super().__init__(name=name, reduction="sum")
        self.label_smoothing = label_smoothing

    def call(self, y_true, y_pred):
        losses = smoothed_cross_entropy(y_true, y_pred, self.label_smoothing)
        real = ops.cast(padding_mask(y_true), "float32")
        # Keras only sums, since its own mean would count padding.
        return losses * real / ops.maximum(ops.sum(real), 1.0)

    def get_config(self):
        return {"name": self.name, "label_smoothing": self.label_smoothing}
