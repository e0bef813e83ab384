"""Vocabularies of subwords, their files, and sampled segmentations."""
