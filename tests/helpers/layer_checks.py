"""NumPy formulas of the layers, and checks that every layer must pass."""

import json
import math

import keras
import numpy as np
from keras import ops

PRECISIONS = ("mixed_bfloat16", "mixed_float16")


def random_array(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape).astype("float32")


def to_numpy(x):
    """Returns a tensor as an array, with bfloat16 widened to float32."""
    x = ops.convert_to_numpy(x)
    return x.astype("float32") if "float" in x.dtype.name else x


def randomize(layer, seed=0):
    """Gives every weight random values, biases and scales included."""
    rng = np.random.default_rng(seed)
    for weight in layer.trainable_weights:
        values = rng.normal(size=weight.shape) / np.sqrt(weight.shape[0])
        weight.assign(values.astype("float32"))


def weights_by_path(layer):
    """Returns the weights by the end of their path, as "feed_forward/inner"."""
    return {
        weight.path.split("/", 1)[1]: to_numpy(weight)
        for weight in layer.trainable_weights
    }


def softmax(scores):
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def attention(query, key, value, allowed=True):
    """Computes equation 1 of the paper, with a mask."""
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(key.shape[-1])
    return softmax(np.where(allowed, scores, -np.inf)) @ value


def multi_head_attention(kernels, num_heads, query, memory, allowed=True):
    """Computes section 3.2.2 of the paper, one head after the other."""

    def project(x, name):
        return x @ kernels[name] + kernels.get(f"{name}_bias", 0)

    queries, keys, values = (
        np.split(project(x, name), num_heads, axis=-1)
        for x, name in ((query, "query"), (memory, "key"), (memory, "value"))
    )
    heads = [
        attention(*head, allowed)
        for head in zip(queries, keys, values, strict=True)
    ]
    return project(np.concatenate(heads, axis=-1), "output")


def feed_forward(kernels, x, activation="relu"):
    """Computes equation 2 of the paper, or another activation in it."""
    hidden = x @ kernels["inner"] + kernels["inner_bias"]
    hidden = {
        "relu": lambda x: np.maximum(0, x),
        "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / 2**0.5)) / 2,
        "silu": lambda x: x / (1 + np.exp(-x)),
    }[activation](hidden)
    return hidden @ kernels["outer"] + kernels["outer_bias"]


def layer_norm(kernels, x):
    mean, deviation = x.mean(-1, keepdims=True), x.std(-1, keepdims=True)
    return (x - mean) / deviation * kernels["gamma"] + kernels["beta"]


def part(kernels, prefix):
    """Returns the entries of `weights_by_path` below a path."""
    return {
        path.removeprefix(f"{prefix}/"): values
        for path, values in kernels.items()
        if path.startswith(f"{prefix}/")
    }


def sublayer(kernels, name, norm, function, x):
    """Computes a sub-layer with its residual, post-norm or pre-norm."""
    inner = part(kernels, name)
    around = part(kernels, f"{name}_residual/norm")
    if norm == "pre":
        return x + function(inner, layer_norm(around, x))
    return layer_norm(around, x + function(inner, x))


def encoder_layer(kernels, num_heads, norm, x, allowed=True):
    def attend(inner, y):
        return multi_head_attention(inner, num_heads, y, y, allowed)

    x = sublayer(kernels, "self_attention", norm, attend, x)
    return sublayer(kernels, "feed_forward", norm, feed_forward, x)


def decoder_layer(kernels, num_heads, norm, x, encoded, allowed=True):
    def attend_to_past(inner, y):
        past = np.tri(y.shape[1], dtype=bool)
        return multi_head_attention(inner, num_heads, y, y, past)

    def attend_to_encoded(inner, y):
        return multi_head_attention(inner, num_heads, y, encoded, allowed)

    x = sublayer(kernels, "self_attention", norm, attend_to_past, x)
    x = sublayer(kernels, "cross_attention", norm, attend_to_encoded, x)
    return sublayer(kernels, "feed_forward", norm, feed_forward, x)


def stack(layer, kernels, num_heads, norm, x, *others):
    """Computes section 3.1 of the paper with all layers that have kernels."""
    for i in range(
        len({path.split("/")[0] for path in kernels} - {"final_norm"})
    ):
        x = layer(part(kernels, f"layer_{i}"), num_heads, norm, x, *others)
    return layer_norm(part(kernels, "final_norm"), x) if norm == "pre" else x


def gradient(function, x):
    """Returns the gradient of a function that returns a scalar."""
    if keras.backend.backend() == "jax":
        import jax

        return to_numpy(jax.grad(function)(ops.convert_to_tensor(x)))
    import tensorflow as tf

    x = tf.convert_to_tensor(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = function(x)
    return to_numpy(tf.convert_to_tensor(tape.gradient(value, x)))


def check_config_round_trip(layer, *inputs):
    """Checks that a config in JSON makes a layer with the same output."""
    expected = layer(*inputs)
    config = json.loads(json.dumps(layer.get_config()))
    copy = type(layer).from_config(config)
    assert copy.get_config() == layer.get_config()
    copy(*inputs)
    copy.set_weights(layer.get_weights())
    np.testing.assert_array_equal(to_numpy(copy(*inputs)), to_numpy(expected))


def check_dropout(layer, plain, *inputs, atol=0.0):
    """Checks that dropout changes the output, and in training alone.

    `plain` is a layer without dropout, whose outputs may differ by `atol`.
    """
    still = to_numpy(layer(*inputs))
    in_inference = to_numpy(layer(*inputs, training=False))
    np.testing.assert_array_equal(in_inference, still)
    in_training = to_numpy(layer(*inputs, training=True))
    assert np.abs(in_training - still).max() > 1e-3
    np.testing.assert_allclose(
        to_numpy(plain(*inputs, training=True)),
        to_numpy(plain(*inputs)),
        rtol=0,
        atol=atol,
    )


def check_functional_model(layer, directory, *inputs, **named_inputs):
    """Checks a layer in a functional model, before and after saving.

    The sizes of batch and length are open. Loading gets no `custom_objects`, so
    the class must be registered.
    """
    symbols = [symbol_of(x) for x in inputs]
    named_symbols = {name: symbol_of(x) for name, x in named_inputs.items()}
    model = keras.Model(
        [*symbols, *named_symbols.values()], layer(*symbols, **named_symbols)
    )
    randomize(model)
    arrays = [*inputs, *named_inputs.values()]
    expected = to_numpy(model(arrays))
    np.testing.assert_allclose(
        expected, to_numpy(layer(*inputs, **named_inputs)), atol=1e-6
    )
    path = directory / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path)
    np.testing.assert_array_equal(to_numpy(loaded(arrays)), expected)


def symbol_of(x):
    is_vectors = x.dtype == "float32"
    shape = (None, x.shape[-1]) if is_vectors else (None,) * (x.ndim - 1)
    return keras.Input(shape=shape, dtype=x.dtype.name)


def check_mixed_precision(make, precision, *inputs, tolerance=0.1):
    """Checks that low precision gives its dtype and nearly the same output."""
    full, mixed = make(), make(dtype=precision)
    full(*inputs)
    randomize(full)
    expected = full(*inputs)
    mixed(*inputs)
    mixed.set_weights(full.get_weights())
    output = mixed(*inputs)
    dtype = precision.removeprefix("mixed_")
    assert keras.backend.standardize_dtype(output.dtype) == dtype
    assert {weight.dtype for weight in mixed.weights} <= {"float32"}
    np.testing.assert_allclose(
        to_numpy(output), to_numpy(expected), atol=tolerance
    )
