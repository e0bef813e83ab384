"""Text to batches: subwords, token arrays and batch plans in plain NumPy."""
