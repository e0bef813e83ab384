"""Measures the speed of this package in comparable figures."""
