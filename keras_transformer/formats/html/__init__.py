"""A run as one page that translates in a browser."""
