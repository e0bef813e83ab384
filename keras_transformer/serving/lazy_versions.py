"""Models that are loaded when they are first asked for, within a limit."""

import contextlib
import logging
import threading

from keras_transformer.errors import UserError
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.versions import Status
from keras_transformer.serving.versions import Versions
from keras_transformer.serving.versions import find_versions
from keras_transformer.serving.versions import read_file_stamps

_log = logging.getLogger(__name__)


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
        find_versions(directory)  # or an error
        self.directory = directory
        self._load = load
        self._memory = memory
        self._size = 0
        self._versions = None  # or those that are loaded
        self._lock = threading.Lock()

    def get(self, number=None):
        """Returns a version as `Versions.get` does, after it is loaded."""
        with self._lock:
            if self._versions is None:
                stamps = read_file_stamps(self.directory)
                self._size = sum(size for _, _, size, _ in stamps)
                self._memory.note_use(self, self._size)
                self._versions = self._open()
            versions = self._versions
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
        try:
            versions = Versions(self.directory, self._load)
            versions.start()
        except UserError as error:
            self._memory.forget(self)
            _log.warning("%s", error)
            raise RequestError(
                "UNAVAILABLE",
                "The model cannot be loaded. The log of the server says why.",
            ) from error
        versions.watch()
        return versions
