"""The numbered versions of a model, loaded as they appear in a directory."""

import contextlib
import logging
import os
import threading
import time
import typing

from keras_transformer.errors import UserError
from keras_transformer.files import directories
from keras_transformer.serving.errors import CODES
from keras_transformer.serving.errors import RequestError

POLL_SECONDS = 1.0
RETRY_SECONDS = 60.0  # before a model that could not be loaded is tried again
_WRITE_ONE = "Write one with kt-exporter."
_log = logging.getLogger(__name__)


class Status(typing.NamedTuple):
    """State of a version, in the words of TF Serving, and its model."""

    state: str  # START, LOADING, AVAILABLE or END
    code: str = "OK"  # code of the error that ended loading
    message: str = ""
    model: typing.Any = None  # if it is available
    stamps: list | None = None  # of the files that could not be loaded


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
        # Replaced as a whole, because other threads read it without a lock.
        self._statuses = dict.fromkeys(
            find_versions(directory), Status("START")
        )
        self._is_starting = True  # until a version has been loaded
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, name="versions", daemon=True
        )

    def start(self):
        """Loads the newest version that can be loaded."""
        paths = find_versions(self.directory)
        self._statuses = dict.fromkeys(paths, Status("START"))
        failed = []
        for number in sorted(paths, reverse=True):
            if self._load_version(number, paths[number]):
                break
            failed.append(number)
        else:
            newest = failed[0]
            raise UserError(
                f"The model in {paths[newest]} cannot be loaded "
                f"({self._statuses[newest].message}). Export it again with "
                "kt-exporter."
            )
        # If none can be loaded, the error says so.
        for number in failed:
            self._warn(number)
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
        models = {n: one.model for n, one in self._statuses.items()}
        models = {n: model for n, model in models.items() if model}
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
            if self._statuses[number].model:
                _log.info("Version %d is gone.", number)
            self._set_status(number, Status("END"))
        # The newest first, because it is the default of all requests.
        for number in sorted(paths, reverse=True):
            status = self._statuses.get(number, Status("START"))
            if status.model or status.stamps == read_file_stamps(paths[number]):
                continue
            if self._load_version(number, paths[number]):
                _log.info("Version %d is loaded.", number)
            else:
                self._warn(number)
            if self._stopping.is_set():
                return

    def _watch(self):
        while not self._stopping.is_set():
            self.poll()
            self._stopping.wait(self._poll_seconds)

    def _load_version(self, number, path):
        """Loads a version; returns its model, or None after an error."""
        # A version that is still being copied may load without optional files.
        stamps = read_file_stamps(path)
        self._set_status(number, Status("LOADING"))
        try:
            status = Status("AVAILABLE", model=self._load(path))
            if read_file_stamps(path) != stamps:
                raise UserError("its files changed while it was being loaded")
        # Any error in one version must not stop the others.
        except Exception as error:
            code = CODES[getattr(error, "error_code", CODES.index("UNKNOWN"))]
            message = " ".join(str(error).split()) or repr(error)
            status = Status("END", code, message, stamps=stamps)
        self._set_status(number, status)
        return status.model

    def _set_status(self, number, status):
        self._statuses = {**self._statuses, number: status}

    def _warn(self, number):
        message = self._statuses[number].message
        _log.warning("Version %d cannot be loaded: %s", number, message)


class Memory:
    """Unloads the least recently used models above a limit of bytes.

    A model counts by the size of its files. The one in use always stays.
    """

    def __init__(self, max_bytes):
        self._max_bytes = max_bytes
        self._sizes = {}  # by model; the last one was used last
        self._lock = threading.Lock()

    def note_use(self, model, size):
        """Makes room for a model that is used now."""
        unloaded = []
        with self._lock:
            self._sizes.pop(model, None)
            self._sizes[model] = size
            while len(self._sizes) > 1 and (
                sum(self._sizes.values()) > self._max_bytes
            ):
                unloaded.append(next(iter(self._sizes)))
                del self._sizes[unloaded[-1]]
        for one in unloaded:
            one.unload()

    def forget(self, model):
        """Notes that a model is not loaded after all."""
        with self._lock:
            self._sizes.pop(model, None)


class LazyVersions:
    """The `Versions` of a model that is loaded when it is first asked for."""

    loads_on_demand = True

    def __init__(self, directory, load, memory):
        find_versions(directory)  # raises an error if there are none
        self.directory = directory
        self._load = load
        self._memory = memory
        self._size = 0
        self._versions = None  # `Versions`, once the model is loaded
        self._retry_at = 0.0  # before this, it is not loaded again
        self._lock = threading.Lock()

    def get(self, number=None):
        """Returns a version as `Versions.get` does, after it is loaded."""
        with self._lock:
            versions = self._versions
            if versions is None and time.monotonic() >= self._retry_at:
                stamps = read_file_stamps(self.directory)
                self._size = sum(size for _, _, size, _ in stamps)
                self._memory.note_use(self, self._size)
                versions = self._versions = self._open()
        if versions is None:
            raise RequestError(
                "UNAVAILABLE",
                "The model cannot be loaded. The log of the server says why.",
            )
        self._memory.note_use(self, self._size)
        return versions.get(number)

    def list_statuses(self):
        """Returns statuses as `Versions` does; nothing is loaded for them."""
        versions = self._versions
        if versions:
            return versions.list_statuses()
        with contextlib.suppress(UserError):  # the directory is gone
            return dict.fromkeys(find_versions(self.directory), Status("START"))
        return {}

    def unload(self):
        """Releases the model; requests that run keep theirs to their end."""
        versions, self._versions = self._versions, None
        if versions:
            versions.stop()

    # A server calls these methods of `Versions`, too.
    stop = unload

    def start(self):
        """Loads nothing yet."""

    watch = start

    def _open(self):
        """Returns `Versions` that are loaded, or None."""
        try:
            versions = Versions(self.directory, self._load)
            versions.start()
        except UserError as error:
            self._memory.forget(self)
            # Each attempt takes the room of others.
            self._retry_at = time.monotonic() + RETRY_SECONDS
            _log.warning("%s", error)
            return None
        versions.watch()
        return versions


def find_versions(directory):
    """Returns the paths of the versions in a directory, which must have one."""
    if not os.path.isdir(directory):
        raise UserError(
            "`export_dir` must be a directory. Received: "
            f"export_dir={directory!r}. {_WRITE_ONE}"
        )
    paths = _scan(directory)
    if not paths:
        file = os.path.join(directory, directories.SAVED_MODEL_FILE)
        is_version = os.path.exists(file)
        raise UserError(
            "`export_dir` must hold versions in folders 1, 2, and so on. "
            f"Received: {directory}, which has none. "
            + ("Use its parent directory." if is_version else _WRITE_ONE)
        )
    return paths


def _scan(directory):
    paths = directories.find_versions(directory)
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
