"""Scores of translations, test sets, and the comparison of two systems."""
