"""From the text of a problem to files of token ids."""
