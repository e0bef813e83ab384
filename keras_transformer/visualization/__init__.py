"""Draws attention weights and the course of training runs."""
