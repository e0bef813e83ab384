"""The numbered versions of a model in a directory, loaded as they appear."""

import logging
import os
import threading
import typing

from keras_transformer.serving.errors import CODES
from keras_transformer.serving.errors import RequestError

POLL_SECONDS = 1.0
_log = logging.getLogger(__name__)


class Status(typing.NamedTuple):
    """Where a version stands, in TF Serving's words."""

    state: str  # START, LOADING, AVAILABLE or END
    code: str = "OK"  # of what went wrong while loading
    message: str = ""


class Versions:
    """Keeps the versions in a directory loaded, the newest first.

    Looks into the directory again and again: loads what is new while the
    others go on answering, and lets go of what has vanished. A version that
    cannot be loaded is left alone until its files change.

    Args:
        directory: holds one folder for each version: 1, 2, and so on.
        load: function of a version's path that returns what is served.
        poll_seconds: seconds between looks.
    """

    def __init__(self, directory, load, poll_seconds=POLL_SECONDS):
        self.directory = directory
        self._load = load
        self._poll_seconds = poll_seconds
        self._models = {}  # those available, by number
        self._statuses = {}
        self._failed = {}  # number: what its files were when it failed
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name="versions", daemon=True
        )

    def start(self):
        """Load the newest version that can be, and go on in the background.

        Raises:
            ValueError: if there is none.
        """
        paths = versions_in(self.directory)
        self._statuses = dict.fromkeys(paths, Status("START"))
        for number in sorted(paths, reverse=True):
            if self._load_version(number, paths[number]):
                break
        else:
            number = max(paths)
            raise ValueError(
                "A version must be a SavedModel that can be loaded. Received: "
                f"{paths[number]} ({self._statuses[number].message}). Export "
                "it again with kt-exporter."
            )
        self._thread.start()

    def stop(self):
        """End the background work, once what is being loaded is."""
        self._stopping.set()
        if self._thread.ident:
            self._thread.join()

    def get(self, number=None):
        """Return the number of a version and what was loaded from it.

        Args:
            number: number of the version. Default: that of the newest.

        Raises:
            RequestError: if it is not available.
        """
        models = self._models
        if number is None and models:
            number = max(models)
        if number not in models:
            raise RequestError("NOT_FOUND", "There is no such version.")
        return number, models[number]

    def statuses(self):
        """Return the `Status` of each version by its number, newest first."""
        return dict(sorted(self._statuses.items(), reverse=True))

    def poll(self):
        """Look into the directory once; load and let go what has changed."""
        try:
            paths = _scan(self.directory)
        except OSError as error:
            # A directory that is being replaced, or a file system that is
            # away for a moment: what is loaded is good all the same.
            _log.warning("%s cannot be read: %s", self.directory, error)
            return
        for number in self._statuses.keys() - paths.keys():
            self._unload(number)
        for number in sorted(paths, reverse=True):
            if self._is_new(number, paths[number]):
                self._load_version(number, paths[number])
            if self._stopping.is_set():
                return

    def _watch(self):
        while not self._stopping.is_set():
            self.poll()
            self._stopping.wait(self._poll_seconds)

    def _is_new(self, number, path):
        if number in self._failed:
            return self._failed[number] != _file_stamps(path)
        return number not in self._models

    def _load_version(self, number, path):
        """Whether the version could be loaded."""
        stamps = _file_stamps(path)
        self._statuses = {**self._statuses, number: Status("LOADING")}
        try:
            model = self._load(path)
        # Whatever is wrong with it, the others must go on.
        except Exception as error:
            code = CODES[getattr(error, "error_code", CODES.index("UNKNOWN"))]
            message = " ".join(str(error).split()) or repr(error)
            status = Status("END", code, message)
            self._failed[number] = stamps
            if self._models:
                _log.warning("Version %d cannot be loaded: %s", number, message)
        else:
            status = Status("AVAILABLE")
            self._failed.pop(number, None)
            if self._models:
                _log.info("Version %d is loaded.", number)
            # Replaced as a whole, since other threads read it.
            self._models = {**self._models, number: model}
        self._statuses = {**self._statuses, number: status}
        return status.state == "AVAILABLE"

    def _unload(self, number):
        self._failed.pop(number, None)
        if number in self._models:
            _log.info("Version %d is gone.", number)
        self._models = {n: m for n, m in self._models.items() if n != number}
        self._statuses = {**self._statuses, number: Status("END")}


def versions_in(directory):
    """Return the paths of the versions in a directory, by number.

    Raises:
        ValueError: if it is no directory with versions.
    """
    if not os.path.isdir(directory):
        raise ValueError(
            "`export_dir` must be a directory. Received: "
            f"export_dir={directory!r}. Write one with kt-exporter."
        )
    paths = _scan(directory)
    if not paths:
        raise ValueError(
            "`export_dir` must hold versions, in folders 1, 2, and so on. "
            f"Received: {directory}, where there are none. "
            + (
                "Name the folder above it."
                if os.path.exists(os.path.join(directory, "saved_model.pb"))
                else "Write one with kt-exporter."
            )
        )
    return paths


def _scan(directory):
    with os.scandir(directory) as entries:
        return {
            int(entry.name): entry.path
            for entry in entries
            if entry.name.isascii() and entry.name.isdigit() and entry.is_dir()
        }


def _file_stamps(path):
    """What changes when the files of a version do."""
    stamps = []
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                status = os.stat(os.path.join(folder, name))
            except OSError:
                continue  # gone in between
            stamps.append((folder, name, status.st_size, status.st_mtime_ns))
    return sorted(stamps)
