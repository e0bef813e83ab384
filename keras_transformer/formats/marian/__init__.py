"""Models of transformers' Marian: read, written and compared."""
