"""A small language and its German translation, made by grammar."""
