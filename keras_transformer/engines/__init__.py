"""Engines, which compute updates on the devices: one for each backend."""
