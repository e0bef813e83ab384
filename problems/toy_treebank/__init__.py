"""A small English treebank, made by grammar."""
