"""Training: the loop, its state, its evaluation and its log."""
