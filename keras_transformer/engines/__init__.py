"""Engines run updates on the devices, one for each backend that trains."""
