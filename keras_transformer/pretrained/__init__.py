"""Pretrained models of other tools, which become runs."""
