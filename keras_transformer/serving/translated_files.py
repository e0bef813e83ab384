"""Translated files, which a client may fetch for some minutes."""

import collections
import os
import secrets
import threading
import time
import urllib.parse

from keras_transformer.serving.asgi import Response
from keras_transformer.serving.errors import RequestError

DOWNLOAD = "/download_file/"
SECONDS = 600  # that a file can be fetched
MAX_BYTES = 64 * 2**20  # of all files; the oldest go first


class TranslatedFiles:
    """Keeps files in memory, under names that cannot be guessed."""

    def __init__(self, clock=time.monotonic):
        self._clock = clock
        self._files = collections.OrderedDict()  # content and time, by path
        self._lock = threading.Lock()

    def add(self, name, language, content):
        """Keeps the translation of a file and returns its path."""
        stem, suffix = os.path.splitext(os.path.basename(name))
        shown = urllib.parse.quote(f"{stem}_{language}{suffix}", safe="")
        path = f"{DOWNLOAD}{secrets.token_urlsafe()}.{shown}"
        # A page of somebody else must not run as one of this server.
        response = Response(content, "application/octet-stream")
        with self._lock:
            self._files[path] = response, self._clock()
            self._drop_old()
        return path

    def find(self, path):
        """Returns the file of a path."""
        with self._lock:
            self._drop_old()
            file = self._files.get(path)
        if file is None:
            raise RequestError(
                "NOT_FOUND",
                f"There is no file here. Files are kept for {SECONDS // 60} "
                "minutes. Translate it again.",
            )
        return file[0]

    def _drop_old(self):
        size = sum(len(content) for content, _ in self._files.values())
        for path, (content, begin) in list(self._files.items()):
            if size <= MAX_BYTES and self._clock() - begin < SECONDS:
                return
            size -= len(content)
            del self._files[path]
