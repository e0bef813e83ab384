"""Serves exported models over a network in TF Serving's protocol."""
