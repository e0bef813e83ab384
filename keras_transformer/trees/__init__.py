"""Reads, writes, linearizes and scores constituency trees."""
