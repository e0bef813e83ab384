"""The directory of a training run and the files in it."""
