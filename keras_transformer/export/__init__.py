"""Models in forms that others serve: SavedModel and CTranslate2."""
