"""From text to batches: subwords, token arrays and batch plans in NumPy."""
