"""Search for the best output of a model, on `keras.ops` alone."""
