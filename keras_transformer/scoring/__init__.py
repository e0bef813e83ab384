"""Scores of translations, and the comparison of two systems."""
