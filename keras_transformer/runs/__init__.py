"""A training run's directory: what it holds, and what is made of it."""
