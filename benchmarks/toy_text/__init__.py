"""Grammars of a small English-German language pair and a small treebank."""
