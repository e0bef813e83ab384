"""Sweeps: several models on one problem, trained and compared in one table."""
