"""Sentences in, translations or trees out."""
