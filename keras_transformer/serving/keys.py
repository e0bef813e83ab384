"""The keys of clients, and how often each may ask."""

import collections
import hashlib
import math
import re
import threading
import time

from keras_transformer.errors import UserError
from keras_transformer.files.reading import read_text
from keras_transformer.serving.errors import RequestError

MAX_BYTES = 2**20  # of a file of keys
_LINE = re.compile(r"([!-~]{8,256})(?:\s+([1-9][0-9]{0,5}))?\s*", re.ASCII)
_SCHEME = re.compile("^Bearer +", re.IGNORECASE)
_SECONDS = 60


def read_keys(path):
    """Reads a file of keys; returns each with its line and its limit.

    A line has a key and, if that is limited, its number of requests a minute.
    The limit is 0 without one. A message has the number of a line, never a key.
    """
    keys = {}
    remedy = "Name a file with one key per line."
    lines = read_text(path, remedy, MAX_BYTES).splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if not match or match[1] in keys:
            fault = "which repeats a key" if match else "which has none"
            raise UserError(
                "Each line of a file of keys must have a key of at least 8 "
                "letters, digits and signs, and may add its number of requests "
                f"per minute. Received: {path}, line {number}, {fault}. Write "
                "for example `aG7Lk2Qx 60`, and each key once."
            )
        keys[match[1]] = number, int(match[2] or 0)
    if not keys:
        raise UserError(
            "A file of keys must hold at least one key. Received: "
            f"{path}, which holds none. Write one key per line."
        )
    return keys


class Keys:
    """Accepts requests with one of the keys in a file; see `read_keys`."""

    def __init__(self, path):
        self._lock = threading.Lock()
        # Each deque holds the times of as many requests as its key may send in
        # a minute. It stays empty for a key without a limit.
        self._entries = {
            _hash(key): (line, collections.deque(maxlen=limit))
            for key, (line, limit) in read_keys(path).items()
        }

    def check(self, key, monitor):
        """Checks the key of the request that a `Monitor` follows.

        The name of the scheme may stand before it, as in a header of HTTP.
        """
        text = _SCHEME.sub("", key) if isinstance(key, str) else ""
        # The duration of a look-up depends on the hash alone, from which nobody
        # can find the key.
        found = self._entries.get(_hash(text))
        if not found:
            raise RequestError(
                "UNAUTHENTICATED",
                "A request must have a key of this server. Received: "
                f"{'an unknown key' if key else 'none'}. Ask the operator for "
                "one.",
            )
        line, times = found
        monitor.identify(line)
        with self._lock:
            now = time.monotonic()
            if times and len(times) == times.maxlen:
                seconds = times[0] + _SECONDS - now
                if seconds > 0:
                    raise RequestError(
                        "RESOURCE_EXHAUSTED",
                        f"Slowdown: this key may send {times.maxlen} requests "
                        f"per minute. Try again in {math.ceil(seconds)} s.",
                    )
            times.append(now)


def _hash(key):
    return hashlib.sha256(key.encode(errors="replace")).digest()
