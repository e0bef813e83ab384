"""The model card, README.md of a run: what the model is and how to use it."""
