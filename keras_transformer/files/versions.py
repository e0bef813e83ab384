"""The numbered versions of an exported model, each in a folder of its own."""

import os
import re

# As kt-exporter and TensorFlow write it: 007 would be a second version 7.
_VERSION = re.compile("0|[1-9][0-9]*")


def list_versions(export_dir):
    """Returns the numbers of the versions in a directory, ascending."""
    if not os.path.isdir(export_dir):
        return []
    # As numbers, because version 10 is newer than version 9.
    return sorted(map(int, filter(is_version, os.listdir(export_dir))))


def is_version(name):
    """Returns whether a name is the number of a version, of 63 bits."""
    return bool(_VERSION.fullmatch(name)) and int(name) < 2**63
