"""Recognises exported models by the files in their directories."""

import importlib.util
import os
import re

EXPORT_FILE = "export.json"
SAVED_MODEL_FILE = "saved_model.pb"
CTRANSLATE2_FILE = "model.bin"
VOCABULARY_FILE = "vocab.model"

# The names that TensorFlow Serving accepts as versions.
_VERSION = re.compile(r"[1-9]\d*")


def export_format(path):
    """Returns the format of the exported model in a directory.

    Args:
        path: A directory that kt-exporter wrote, or any other path.

    Returns:
        "saved_model", "ctranslate2", or None if the directory holds no
        exported model.
    """
    # A SavedModel lies in a numbered folder, CTranslate2's files in `path`.
    if os.path.isfile(os.path.join(path, CTRANSLATE2_FILE)):
        return "ctranslate2"
    newest = newest_version(path)
    if os.path.isfile(os.path.join(newest, SAVED_MODEL_FILE)):
        return "saved_model"
    return None


def versions(export_dir):
    """Returns the numbers of the versions in a directory, ascending.

    Example:

    >>> import tempfile
    >>> export_dir = tempfile.mkdtemp()
    >>> os.mkdir(os.path.join(export_dir, "10"))
    >>> os.mkdir(os.path.join(export_dir, "9"))
    >>> os.mkdir(os.path.join(export_dir, "11.incomplete"))
    >>> versions(export_dir)
    [9, 10]
    """
    if not os.path.isdir(export_dir):
        return []
    # As numbers, because version 10 is newer than version 9.
    return sorted(map(int, filter(is_version, os.listdir(export_dir))))


def is_version(name):
    """Returns whether a file name is the number of a version."""
    return bool(_VERSION.fullmatch(name))


def newest_version(path):
    """Returns the directory of the newest version.

    Args:
        path: Directory of versions. Any other path is returned unchanged.
    """
    numbers = versions(path)
    return os.path.join(path, str(numbers[-1])) if numbers else path


def is_ctranslate2(path):
    """Returns whether `path` is a directory that `export_ctranslate2` wrote."""
    files = (CTRANSLATE2_FILE, EXPORT_FILE, VOCABULARY_FILE)
    return all(os.path.isfile(os.path.join(path, name)) for name in files)


def require_ctranslate2():
    """Checks that CTranslate2 is installed.

    Raises:
        ValueError: If it is not installed.
    """
    if importlib.util.find_spec("ctranslate2") is None:
        raise ValueError(
            "CTranslate2 must be installed. Received: no package called "
            "ctranslate2. Install it with pip install '.[ctranslate2]'."
        )
