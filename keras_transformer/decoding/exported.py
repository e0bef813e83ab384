"""Which form of a model a directory holds."""

import os

from keras_transformer.export import versions

CTRANSLATE2_FILE = "model.bin"
SAVED_MODEL_FILE = "saved_model.pb"


def form_of(path):
    """Tells the form of the exported model in a directory.

    Args:
        path: a directory that kt-exporter wrote, or any other.

    Returns:
        "saved_model", "ctranslate2", or None where no exported model is.
    """
    if os.path.isfile(os.path.join(path, CTRANSLATE2_FILE)):
        return "ctranslate2"
    newest = versions.newest_version(path)
    if os.path.isfile(os.path.join(newest, SAVED_MODEL_FILE)):
        return "saved_model"
    return None
