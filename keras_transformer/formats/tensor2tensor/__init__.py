"""Checkpoints and vocabularies of Tensor2Tensor."""
