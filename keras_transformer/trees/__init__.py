"""Constituency trees: reading, writing, linearizing, scoring them."""
