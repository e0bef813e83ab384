"""Search for the best output of a model, which uses only `keras.ops`."""
