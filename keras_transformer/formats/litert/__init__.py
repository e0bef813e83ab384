"""Models for LiteRT, which runs on phones."""
