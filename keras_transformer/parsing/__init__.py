"""Constituency trees, and the layers, loss and search that are for them."""
