"""Writes models for other programs: SavedModels, and CTranslate2's format."""
