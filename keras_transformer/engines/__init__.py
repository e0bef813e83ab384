"""Engines compute updates on the devices; each backend has one."""
