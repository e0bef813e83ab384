"""The directory of a training run: its files and what they yield."""
