"""Opens an exported model for a server."""

from keras_transformer.decoding.exported import export_format


def open_model(path):
    """Opens a version for `Server`, which is told to use this function.

    Args:
        path: Directory of a SavedModel of any origin, or of a CTranslate2 model
            of kt-exporter.

    Returns:
        A `LoadedModel` or a `CTranslate2Model`, which are called alike.

    Raises:
        Exception: If the model cannot be loaded.
    """
    # Imported here because each needs packages that the other does without.
    if export_format(path) == "ctranslate2":
        from keras_transformer.decoding.ctranslate2_model import (
            CTranslate2Model,
        )

        return CTranslate2Model(path)
    from keras_transformer.serving.loaded_model import LoadedModel

    return LoadedModel(path)
