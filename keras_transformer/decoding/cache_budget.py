"""How many cache positions fit into the memory of a GPU."""

# The part of the free memory that the largest batch fills with what it holds
# throughout. The rest is for what one layer computes at a time, above all the
# encoder's attention over long sentences, and for copies of growing caches.
HELD_SHARE = 1 / 8
# A step needs four float32 numbers for each logit: the logit itself, and what
# the search computes from it.
LOGITS_BYTES = 4 * 4


def cache_positions(free_bytes, position_bytes):
    """Returns how many positions the caches of a batch may hold.

    Args:
        free_bytes: Number of bytes that are free on the device.
        position_bytes: Number of bytes that `position_bytes` returned.

    Example:

    >>> cache_positions(free_bytes=8_000_000_000, position_bytes=25_000)
    40000
    """
    return max(1, int(HELD_SHARE * free_bytes / position_bytes))


def position_bytes(model, options):
    """Returns how many bytes a search holds for one position of one beam.

    Args:
        model: A built `Transformer` or an `Ensemble`.
        options: A `DecodeOptions`.
    """
    models = getattr(model, "models", [model])
    return sum(_position_bytes(one, options) for one in models)


def _position_bytes(model, options):
    attention = model.decoder.stack[0].self_attention
    width = attention.num_heads * (attention.d_k + attention.d_v)
    number_bytes = 2 if model.compute_dtype.endswith("16") else 4
    own = model.decoder.num_layers * width * number_bytes
    # The beams share the keys and values of the source, which has no more
    # positions than the limit of its translations.
    of_source = own / options.num_beams
    # A beam has the logits of one position. The shortest limit shares them out
    # among the fewest positions.
    shortest = 1 + options.extra_length
    return own + of_source + LOGITS_BYTES * model.vocab_size / shortest


def free_bytes(device):
    """Returns how many bytes of a device's memory are free.

    Args:
        device: Keras' name of the device, such as "gpu:0", or None.

    Returns:
        An integer, or None if the backend does not tell. None stands for a
        processor as well.
    """
    if device is None or device.startswith("cpu"):
        return None
    import keras

    backend = keras.backend.backend()
    if backend == "tensorflow":
        return _free_tensorflow_bytes(device)
    return _free_jax_bytes(device) if backend == "jax" else None


def _free_tensorflow_bytes(device):
    import tensorflow as tf

    # No public function tells the limit.
    from tensorflow.python.client import device_lib

    limits = {
        local.name.removeprefix("/device:").lower(): local.memory_limit
        for local in device_lib.list_local_devices()
    }
    taken = tf.config.experimental.get_memory_info(device.upper())["current"]
    return limits[device] - taken if device in limits else None


def _free_jax_bytes(device):
    import jax

    platform, _, number = device.partition(":")
    local = jax.devices(platform)[int(number)]
    memory = local.memory_stats()
    return memory and memory["bytes_limit"] - memory["bytes_in_use"]
