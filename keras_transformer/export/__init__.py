"""Writers of models that others serve, as SavedModel or for CTranslate2."""
