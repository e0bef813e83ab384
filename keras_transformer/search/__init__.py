"""Search for the best output of a model, written on `keras.ops` alone."""
