"""Measures one layer at one length and width, in a separate process.

The process gets the cell as JSON in its argument, and writes the figures as one
line of JSON. A fresh process is needed because its peak of memory never falls.
"""

import json
import sys
import time

from keras_transformer.files.machine import process_peak_bytes

KERNEL_SIZE = 3  # k of the convolutions
HEAD_WIDTH = 64  # as in the paper's models
MIN_RUNS = 3  # the fastest of them counts, since it was disturbed least
MIN_SECONDS = 0.3  # short runs are repeated for this long


def measure(name, length, width, neighbourhood_size):
    """Measures a layer on one sequence of n positions of width d.

    Returns a dictionary of the seconds and the peak bytes of `forward`, the
    output alone, and of `training`, the output and all gradients.
    """
    import keras

    keras.utils.set_random_seed(0)
    # A tiny layer first: libraries, threads and compilers take memory too.
    tiny = keras.random.normal((1, 8, HEAD_WIDTH))
    for run in _runs(_make(name, HEAD_WIDTH, neighbourhood_size), tiny):
        run()
    base_bytes = process_peak_bytes()
    x = keras.random.normal((1, length, width))
    figures = {}
    layer = _make(name, width, neighbourhood_size)
    # Training follows, since it takes more memory than the output alone.
    for part, run in zip(("forward", "training"), _runs(layer, x)):
        figures[f"{part}_seconds"] = _seconds(run)
        figures[f"{part}_bytes"] = process_peak_bytes() - base_bytes
    return figures


def _make(name, width, neighbourhood_size):
    import keras

    from keras_transformer.layers import MultiHeadAttention

    if name.endswith("self_attention"):
        attention = MultiHeadAttention
        if name.startswith("bare"):
            attention = _without_projections()
        if "restricted" not in name:
            neighbourhood_size = 0
        return attention(
            width,
            num_heads=max(1, width // HEAD_WIDTH),
            neighbourhood_size=neighbourhood_size,
        )
    if name == "lstm":
        return keras.layers.LSTM(width, return_sequences=True)
    if name == "gru":
        return keras.layers.GRU(width, return_sequences=True)
    convolution = keras.layers.Conv1D
    if name == "separable_convolution":
        convolution = keras.layers.SeparableConv1D
    return convolution(width, KERNEL_SIZE, padding="same")


def _without_projections():
    """Returns a class of attention that the paper's complexity describes."""
    from keras import ops

    from keras_transformer.layers import MultiHeadAttention
    from keras_transformer.layers.projection import split_heads

    class BareAttention(MultiHeadAttention):
        def _project_all(self, query, training=None):
            leading = ops.shape(query)[:2]
            heads = split_heads(query, leading, self.num_heads)
            return heads, heads, heads

        def _project_heads(self, heads, training=None):
            heads = ops.transpose(heads, (0, 2, 1, 3))
            # (batch, length, num_heads, width)
            batch, length = ops.shape(heads)[:2]
            return ops.reshape(heads, (batch, length, self.d_model))

    return BareAttention


def _runs(layer, x):
    """Returns functions that run the layer forward, and with its gradients."""
    # Both are compiled, and both wait until the device has finished.
    import keras
    from keras import ops

    layer.build(x.shape)
    weights = [variable.value for variable in layer.trainable_variables]
    others = [variable.value for variable in layer.non_trainable_variables]

    def loss(weights, x):
        output, _ = layer.stateless_call(weights, others, x)
        return ops.mean(ops.square(output))

    if keras.backend.backend() == "jax":
        import jax

        forward = jax.jit(layer)
        gradients = jax.jit(jax.grad(loss, argnums=(0, 1)))
    else:
        import tensorflow as tf

        forward = tf.function(layer)

        @tf.function
        def gradients(weights, x):
            with tf.GradientTape() as tape:
                tape.watch((weights, x))
                value = loss(weights, x)
            return tape.gradient(value, (weights, x))

    def run_forward():
        float(ops.sum(forward(x)))

    def run_training():
        float(ops.sum(gradients(weights, x)[1]))

    return run_forward, run_training


def _seconds(run):
    """Returns the seconds of the fastest run, without the first one."""
    run()  # compiles
    seconds = []
    end = time.perf_counter() + MIN_SECONDS
    while len(seconds) < MIN_RUNS or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
