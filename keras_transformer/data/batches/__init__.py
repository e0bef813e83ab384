"""Which pairs of ids form which batch, and the batches as arrays."""
