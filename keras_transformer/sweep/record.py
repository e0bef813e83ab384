"""The record of a sweep, which keeps one directory to one sweep."""

import json
import os

from keras_transformer.files.records import read_record
from keras_transformer.files.writing import atomic_write

RECORD_FILE = "sweep.json"


def check_settings(directory, settings):
    """Checks that a directory holds no other sweep, and records this one.

    Args:
        directory: Directory of the sweep.
        settings: Dictionary of the settings that all calls have to share, by
            the name of the flag.

    Raises:
        ValueError: If an earlier call had other settings.
    """
    path = os.path.join(directory, RECORD_FILE)
    if not os.path.lexists(path):
        with atomic_write(path) as file:
            file.write(json.dumps(settings, indent=2) + "\n")
        return
    shape = {str: (str, int, None)}
    earlier = read_record(path, shape)
    for name, value in settings.items():
        if earlier.get(name) != value:
            raise ValueError(
                f"`--{name}` must not change in the directory of a sweep. "
                f"Received: {_flag(name, value)}, but {directory} was begun "
                f"with {_flag(name, earlier.get(name))}. Repeat the earlier "
                "command, or use another --output_dir."
            )


def _flag(name, value):
    return f"no --{name}" if value is None else f"--{name}={value}"
