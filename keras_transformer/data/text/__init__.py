"""Text files, tags, and what changes text before it is encoded."""
