"""The compiled steps of training and of evaluation on TensorFlow."""

import keras
import tensorflow as tf

from keras_transformer.losses import smoothed_cross_entropy
from keras_transformer.masks import padding_mask
from keras_transformer.metrics import token_sums
from keras_transformer.schedules import InverseSquareRootSchedule

IDS = tf.TensorSpec((None, None), tf.int32)


def make_schedule(hparams):
    """Makes the learning-rate schedule of an `HParams`."""
    return InverseSquareRootSchedule(
        hparams.d_model, hparams.warmup_steps, hparams.learning_rate
    )


def make_optimizer(model, hparams):
    """Makes Adam with the paper's schedule, its variables built.

    Section 5.3 of Vaswani et al. (2017).

    Args:
        model: a built `Transformer`.
        hparams: an `HParams`.

    Returns:
        a Keras optimizer.
    """
    optimizer = keras.optimizers.Adam(
        make_schedule(hparams),
        hparams.adam_beta1,
        hparams.adam_beta2,
        hparams.adam_epsilon,
        name="adam",
    )
    optimizer.build(model.trainable_variables)
    return optimizer


def make_train_step(model, optimizer, label_smoothing):
    """Compiles one update of the weights.

    The batch is an argument, not read inside: an iterator that ends within the
    function would still count an update (Keras' own `fit` does so).

    Args:
        model: a built `Transformer`.
        optimizer: a built Keras optimizer.
        label_smoothing: eps_ls.

    Returns:
        function of `inputs` `(batch, input_len)` and `targets`
        `(batch, target_len)` that updates the model and returns the sum of
        the token losses and the number of real target tokens.
    """

    @tf.function(input_signature=[IDS, IDS])
    def train_step(inputs, targets):
        real = tf.cast(padding_mask(targets), tf.float32)
        num_tokens = tf.reduce_sum(real)
        with tf.GradientTape() as tape:
            logits = model(
                {"inputs": inputs, "targets": targets}, training=True
            )
            losses = smoothed_cross_entropy(targets, logits, label_smoothing)
            loss_sum = tf.reduce_sum(losses * real)
            loss = loss_sum / num_tokens
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss_sum, num_tokens

    return train_step


def make_eval_step(model):
    """Compiles the sums that perplexity and accuracy are made of.

    Args:
        model: a built `Transformer`.

    Returns:
        function of `inputs` and `targets` that returns the sum of negative
        log-probabilities, the number of tokens predicted right and the number
        of real target tokens.
    """

    @tf.function(input_signature=[IDS, IDS])
    def eval_step(inputs, targets):
        logits = model({"inputs": inputs, "targets": targets}, training=False)
        return token_sums(targets, logits)

    return eval_step
