"""Corrections that people made, and how the next sentences use them."""
