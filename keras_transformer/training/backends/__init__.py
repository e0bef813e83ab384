"""One update on the devices, by TensorFlow or JAX."""
