"""Recognises exported models by the files in their directories."""

import importlib.util
import os
import re

from keras_transformer.data.subwords import VOCABULARY_FILE
from keras_transformer.files.reading import file_error
from keras_transformer.files.records import read_record
from keras_transformer.search.options import DecodeOptions
from keras_transformer.trees.symbols import LINEARIZATIONS

EXPORT_FILE = "export.json"
SAVED_MODEL_FILE = "saved_model.pb"
CTRANSLATE2_FILE = "model.bin"
SHORTLIST_FILE = "vmap.txt"  # the name that CTranslate2 demands
# The file by which the format of a version is recognised.
FILES = {"ctranslate2": CTRANSLATE2_FILE, "saved_model": SAVED_MODEL_FILE}

# The shape of `export.json`; see `read_record`.
_RECORD = {
    "vocabulary_sha256": str,
    "source_vocabulary_sha256?": str,
    "decode": {str: (bool, float)},
    "max_tokens": range(1, 2**31),
    "of_text?": bool,
    "linearization?": (set(LINEARIZATIONS), None),
    "shortlist_sha256?": str,
}
# What an error about a damaged file says.
REMEDY = "Export the run again."

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
    newest = newest_version(path)
    for format, name in FILES.items():
        if os.path.isfile(os.path.join(newest, name)):
            return format
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
    """Returns whether a file name is the number of a version, of 63 bits."""
    return bool(_VERSION.fullmatch(name)) and int(name) < 2**63


def newest_version(path):
    """Returns the directory of the newest version.

    Args:
        path: Directory of versions. Any other path is returned unchanged, and
            so is a model of CTranslate2 without versions, as version 0.1 of
            this package wrote it.
    """
    if os.path.isfile(os.path.join(path, CTRANSLATE2_FILE)):
        return path
    numbers = versions(path)
    return os.path.join(path, str(numbers[-1])) if numbers else path


def read_export(path):
    """Reads `export.json`, the record of an exported model.

    Args:
        path: Path of the file.

    Returns:
        The record, a dictionary, and the `DecodeOptions` in it.

    Raises:
        ValueError: If the file is not one that kt-exporter wrote.
    """
    record = read_record(path, _RECORD, REMEDY)
    try:
        return record, DecodeOptions(**record["decode"])
    except TypeError as error:  # an option that does not exist
        fault = f"where `decode` is wrong ({error})"
        raise file_error(path, fault, REMEDY) from error
    except ValueError as error:
        raise ValueError(f"{error} The value is in {path}.") from error


def check_exportable(options):
    """Checks that an exported model can decode with options.

    A SavedModel cannot compute chrF. CTranslate2 returns equal samples once, so
    it does not tell how often they were drawn.

    Args:
        options: A `DecodeOptions`.

    Raises:
        ValueError: If they ask for minimum Bayes risk.
    """
    if options.mbr_samples:
        raise ValueError(
            "`mbr_samples` must go with a run, since an exported model cannot "
            "choose among samples. Received: mbr_samples="
            f"{options.mbr_samples}. Name the directory of the run, or leave "
            "it out."
        )


def is_ctranslate2(path):
    """Returns whether `path` holds the files of a CTranslate2 export."""
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
