"""The evaluation of a run: the text, the outputs of the model, and EVALB."""
