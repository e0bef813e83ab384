"""The numbered versions of a model, loaded as they appear in a directory."""

import contextlib
import logging
import os
import threading
import typing

from keras_transformer.errors import UserError
from keras_transformer.files import versions
from keras_transformer.serving.errors import CODES
from keras_transformer.serving.errors import RequestError

POLL_SECONDS = 1.0
_WRITE_ONE = "Write one with kt-exporter."
_log = logging.getLogger(__name__)


class Status(typing.NamedTuple):
    """State of a version, in the words of TF Serving."""

    state: str  # START, LOADING, AVAILABLE or END
    code: str = "OK"  # code of the error that ended loading
    message: str = ""


class Versions:
    """Keeps all versions in a directory loaded, the newest first.

    A background thread checks the directory regularly. It loads new versions
    while the others keep answering and releases versions that were removed. A
    version that cannot be loaded is not tried again until its files change.
    `load` takes the path of a version and returns the model to serve.
    """

    loads_on_demand = False

    def __init__(self, directory, load, poll_seconds=POLL_SECONDS):
        self.directory = directory
        self._load = load
        self._poll_seconds = poll_seconds
        # Replaced as a whole, because other threads read them without a lock.
        self._models = {}  # available models by number
        self._statuses = dict.fromkeys(
            find_versions(directory), Status("START")
        )
        self._is_starting = True  # until a version has been loaded
        self._failed = {}  # number: state of its files when it failed
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name="versions", daemon=True
        )

    def start(self):
        """Loads the newest version that can be loaded."""
        paths = find_versions(self.directory)
        self._statuses = dict.fromkeys(paths, Status("START"))
        numbers = sorted(paths, reverse=True)
        for position, number in enumerate(numbers):
            if self._load_version(number, paths[number]):
                break
        else:
            newest = numbers[0]
            raise UserError(
                f"The model in {paths[newest]} cannot be loaded "
                f"({self._statuses[newest].message}). Export it again with "
                "kt-exporter."
            )
        # If none can be loaded, the error says so.
        for failed in numbers[:position]:
            _warn(failed, self._statuses[failed].message)
        self._is_starting = False

    def watch(self):
        """Loads the other versions, and new ones, in the background."""
        self._thread.start()

    def stop(self):
        """Ends the background thread after the version that it is loading."""
        self._stopping.set()
        if self._thread.ident:  # None before `watch`
            self._thread.join()

    def get(self, number=None):
        """Returns the number of a version, or of the newest, and its model.

        It returns None if there is no such version.
        """
        models = self._models  # read once: the other thread replaces it
        if number is None and models:
            number = max(models)
        if number in models:
            return number, models[number]
        if self._is_starting:
            raise RequestError(
                "UNAVAILABLE", "The model is still being loaded."
            )
        return None

    def list_statuses(self):
        """Returns the `Status` of each version by its number, newest first."""
        return dict(sorted(self._statuses.items(), reverse=True))

    def poll(self):
        """Checks the directory once; loads and releases what has changed."""
        try:
            paths = _scan(self.directory)
        except OSError as error:
            # The directory is being replaced, or the file system is briefly
            # unavailable. The loaded models are still good.
            _log.warning("%s cannot be read: %s", self.directory, error)
            return
        for number in self._statuses.keys() - paths.keys():
            self._failed.pop(number, None)
            if number in self._models:
                _log.info("Version %d is gone.", number)
            self._models = {
                n: model for n, model in self._models.items() if n != number
            }
            self._set_status(number, Status("END"))
        # The newest first, because it is the default of all requests.
        for number in sorted(paths, reverse=True):
            path = paths[number]
            if number in self._failed:
                is_new = self._failed[number] != read_file_stamps(path)
            else:
                is_new = number not in self._models
            if is_new:
                self._load_version(number, path)
            if self._stopping.is_set():
                return

    def _watch(self):
        while not self._stopping.is_set():
            self.poll()
            self._stopping.wait(self._poll_seconds)

    def _load_version(self, number, path):
        """Loads a version and returns whether it succeeded."""
        # Read before loading, so that a change in the meantime is noticed.
        stamps = read_file_stamps(path)
        self._set_status(number, Status("LOADING"))
        try:
            model = self._load(path)
        # Any error in one version must not stop the others.
        except Exception as error:
            code = CODES[getattr(error, "error_code", CODES.index("UNKNOWN"))]
            message = " ".join(str(error).split()) or repr(error)
            self._failed[number] = stamps
            if self._models:
                _warn(number, message)
            self._set_status(number, Status("END", code, message))
            return False
        self._failed.pop(number, None)
        if self._models:
            _log.info("Version %d is loaded.", number)
        self._models = {**self._models, number: model}
        self._set_status(number, Status("AVAILABLE"))
        return True

    def _set_status(self, number, status):
        self._statuses = {**self._statuses, number: status}


def _warn(number, message):
    _log.warning("Version %d cannot be loaded: %s", number, message)


def find_versions(directory):
    """Returns the paths of the versions in a directory, which must have one."""
    if not os.path.isdir(directory):
        raise UserError(
            "`export_dir` must be a directory. Received: "
            f"export_dir={directory!r}. {_WRITE_ONE}"
        )
    paths = _scan(directory)
    if not paths:
        file = os.path.join(directory, versions.SAVED_MODEL_FILE)
        is_version = os.path.exists(file)
        raise UserError(
            "`export_dir` must hold versions in folders 1, 2, and so on. "
            f"Received: {directory}, which has none. "
            + ("Use its parent directory." if is_version else _WRITE_ONE)
        )
    return paths


def _scan(directory):
    paths = versions.find_versions(directory)
    # If the directory went away meanwhile, its versions only seem to be gone.
    os.stat(directory)
    return paths


def read_file_stamps(path):
    """Returns names, sizes and times, which change with any file."""
    stamps = []
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):  # removed since it was listed
                status = os.stat(os.path.join(folder, name))
                size, time = status.st_size, status.st_mtime_ns
                stamps.append((folder, name, size, time))
    return sorted(stamps)
