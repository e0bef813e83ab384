"""The cost of a training in floating-point operations, as in Table 2."""
