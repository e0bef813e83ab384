"""The numbered versions of an exported model, each in a folder of its own."""

import os
import re

# As kt-exporter and TensorFlow write it: 007 would be a second version 7.
_VERSION = re.compile("0|[1-9][0-9]*")
SAVED_MODEL_FILE = "saved_model.pb"
CTRANSLATE2_FILE = "model.bin"


def find_versions(export_dir):
    """Returns the paths of the versions in a directory by number, ascending.

    A directory that holds a model of CTranslate2 itself, as version 0.1 of this
    package wrote it, is version 1.
    """
    if os.path.isfile(os.path.join(export_dir, CTRANSLATE2_FILE)):
        return {1: export_dir}
    numbers = list_versions(export_dir)
    paths = {n: os.path.join(export_dir, str(n)) for n in numbers}
    # A link may lead to nothing, or back to itself.
    return {n: path for n, path in paths.items() if os.path.isdir(path)}


def list_versions(export_dir):
    """Returns the numbers of the versions in a directory, ascending."""
    if not os.path.isdir(export_dir):
        return []
    # As numbers, because version 10 is newer than version 9.
    return sorted(map(int, filter(is_version, os.listdir(export_dir))))


def is_version(name):
    """Returns whether a name is the number of a version, of 63 bits."""
    return bool(_VERSION.fullmatch(name)) and int(name) < 2**63
