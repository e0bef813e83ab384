"""Corrected translations in an SQLite file, and those like a sentence."""

import contextlib
import datetime
import difflib
import hashlib
import itertools
import os
import re
import sqlite3
import threading
import typing
import unicodedata
from collections.abc import Iterable
from collections.abc import Iterator
from xml.sax import saxutils

from keras_transformer.errors import UserError
from keras_transformer.files.writing import atomic_write
from keras_transformer.token_ids import UNSPACED

# A name or a code is one word: wget, canadian-english-huge, 3.14, PF_KEY.
WORD = re.compile(
    rf"[{UNSPACED}]|[^\W{UNSPACED}]+(?:[-.+_/:@][^\W{UNSPACED}]+)*\+*|[^\w\s]"
)
MAX_WORDS = 256  # of a sentence that is compared with others
_APPLICATION = 0x6B74746D  # "kttm", which tells our files from others
_VERSION = 1
_SECONDS = 30  # that a process waits for another one to write
_NEWEST = 500  # sentences that are looked at for two words in a row
_COMPARED = 50  # sentences that are compared word by word
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS pairs (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, target TEXT NOT NULL,
    time TEXT NOT NULL, origin TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS by_source ON pairs (source);
CREATE TABLE IF NOT EXISTS bigrams (
    bigram INTEGER, id INTEGER, PRIMARY KEY (bigram, id)) WITHOUT ROWID;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_PAIRS = "SELECT source, target, time, origin FROM pairs "
# What XML forbids, which would make a whole file of TMX unreadable.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")


class Pair(typing.NamedTuple):
    """A sentence and its translation, as a person corrected it."""

    source: str
    target: str
    time: str = ""  # in UTC, such as 2026-01-31T12:00:00+00:00
    origin: str = ""  # who corrected it, or where


class Match(typing.NamedTuple):
    """A pair whose source is like a sentence."""

    pair: Pair
    similarity: float  # share of words in common, from 0 to 1


class TranslationMemory:
    """Keeps corrected pairs, and finds those like a sentence.

    Nothing is ever overwritten: the last correction of a source counts, and
    earlier ones stay in the file. Several threads and processes can use a file
    at the same time. It holds one direction of translation.

    Args:
        path: Path of the file.
        must_exist: Whether an absent file is an error. By default it is made.

    Example:

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "memory")
    >>> memory = TranslationMemory(path)
    >>> memory.remember("Use tcl.", "Usate tcl.")
    >>> memory.find("Use tcl.").target
    'Usate tcl.'
    """

    def __init__(self, path: str | os.PathLike, must_exist: bool = False):
        # SQLite gives names such as ":memory:" and "file:a" a meaning.
        self.path = os.path.abspath(path)
        if must_exist and not os.path.isfile(self.path):
            raise UserError(
                "A memory must be a file of corrections. Received: "
                f"{self.path}, which is no file. Check its name."
            )
        self._lock = threading.Lock()
        with self._explain_errors():
            self._connection = sqlite3.connect(
                self.path,
                timeout=_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            # Else the index would be read from the disk again and again.
            self._connection.execute("PRAGMA cache_size = -200000")
            self._open()

    def _open(self):
        """Checks whose file it is, and prepares an empty one."""
        # Another process may prepare it now, so its marks are read last.
        is_used, application, version = (
            self._connection.execute(query).fetchone()[0]
            for query in (
                "SELECT EXISTS (SELECT 1 FROM sqlite_master)",
                "PRAGMA application_id",
                "PRAGMA user_version",
            )
        )
        if application == _APPLICATION and version > _VERSION:
            raise UserError(
                f"{self.path} is a memory of a newer version. Update "
                "keras-t2t to read it."
            )
        if is_used and application != _APPLICATION:
            raise UserError(
                "A memory must be a file of corrections. Received: "
                f"{self.path}, a database of another program. Name another "
                "file."
            )
        if not is_used:
            self._connection.executescript(_SCHEMA)

    @contextlib.contextmanager
    def _explain_errors(self):
        """Lets one thread at a time use the file, and explains its faults."""
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise UserError(
                    f"The memory {self.path} cannot be used: {error}. Nothing "
                    "was added. Check the file, its directory and the disk."
                ) from error
            finally:
                with contextlib.suppress(AttributeError, sqlite3.Error):
                    self._connection.rollback()  # what is not committed

    def count(self) -> int:
        """Returns the number of all corrections, earlier ones too."""
        with self._explain_errors():
            counts = self._connection.execute("SELECT count(*) FROM pairs")
            return counts.fetchone()[0]

    def close(self) -> None:
        self._connection.close()

    def remember(self, source: str, target: str, origin: str = "") -> None:
        """Adds a correction, which is on the disk when this returns."""
        self.remember_all([(source, target)], origin)

    def remember_all(
        self, pairs: Iterable[tuple[str, str]], origin: str = ""
    ) -> None:
        """Adds pairs of source and target, either all of them or none."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        cleaned = [_clean_pair(*pair) for pair in pairs]
        execute = self._connection.execute
        with self._explain_errors():
            execute("BEGIN IMMEDIATE")
            for source, target in cleaned:
                query = "SELECT 1 FROM pairs WHERE source = ?"
                is_known = execute(query, [source]).fetchone()
                row = source, target, now, origin
                query = "INSERT INTO pairs VALUES (NULL, ?, ?, ?, ?)"
                id_ = execute(query, row).lastrowid
                # Only the first correction of a source is indexed.
                bigrams = [] if is_known else _hash_bigrams(source)
                self._connection.executemany(
                    "INSERT INTO bigrams VALUES (?, ?)",
                    [(bigram, id_) for bigram in bigrams],
                )
            execute("COMMIT")

    def find(self, source: str) -> Pair | None:
        """Returns the last correction of a sentence, or None."""
        query = _PAIRS + "WHERE source = ? ORDER BY id DESC LIMIT 1"
        with self._explain_errors():
            found = self._connection.execute(query, [normalise(source)])
            return next(map(Pair._make, found), None)

    def find_similar(
        self, source: str, number: int = 5, minimum: float = 0.0
    ) -> list[Match]:
        """Returns the pairs whose sources are most like a sentence.

        They share two words in a row with it, and the best come first. Of equal
        ones, the last correction comes first.

        Args:
            source: The sentence.
            number: Maximum number of pairs. Defaults to 5.
            minimum: Minimum similarity. Defaults to 0.
        """
        source = normalise(source)
        bigrams = _hash_bigrams(source)
        if not bigrams:
            return []
        # The newest of each bigram are enough, and bound the time.
        newest = f"""SELECT id FROM (SELECT id FROM bigrams WHERE bigram = ?
            ORDER BY id DESC LIMIT {_NEWEST})"""
        query = f"""SELECT source FROM (SELECT id FROM (
            {" UNION ALL ".join([newest] * len(bigrams))})
            GROUP BY id ORDER BY count(*) DESC, id DESC LIMIT {_COMPARED})
            JOIN pairs AS first USING (id) ORDER BY
            (SELECT max(id) FROM pairs WHERE source = first.source) DESC"""
        with self._explain_errors():
            sources = self._connection.execute(query, bigrams).fetchall()
        words = split_words(source)
        matcher = difflib.SequenceMatcher(b=words, autojunk=False)
        rated = []
        for (candidate,) in sources:
            matcher.set_seq1(split_words(candidate))
            rated.append((matcher.ratio(), candidate))
        rated.sort(key=lambda each: -each[0])
        return [
            Match(pair, similarity)
            for similarity, candidate in rated[:number]
            if similarity >= minimum and (pair := self.find(candidate))
        ]

    def __iter__(self) -> Iterator[Pair]:
        """Yields the last correction of each source, the oldest first."""
        last = "WHERE id IN (SELECT max(id) FROM pairs GROUP BY source) "
        with self._explain_errors():
            rows = self._connection.execute(_PAIRS + last + "ORDER BY id")
            rows = rows.fetchall()
        return map(Pair._make, rows)

    def write_tmx(
        self,
        path: str | os.PathLike,
        source_language: str,
        target_language: str,
    ) -> None:
        """Writes the last corrections as TMX, for other programs.

        The languages are codes such as "en".
        """
        with atomic_write(os.fspath(path)) as file:
            file.writelines(_format_tmx(self, source_language, target_language))


def split_words(text: str) -> list[str]:
    """Returns the words and signs of a text.

    >>> split_words("Use lib-x4, or C++.")
    ['Use', 'lib-x4', ',', 'or', 'C++', '.']
    """
    return WORD.findall(text)


def _clean_pair(source, target):
    for name, text in (("source", source), ("target", target)):
        if not isinstance(text, str) or not text.strip():
            raise UserError(
                f"The {name} of a correction must be a text. Received: "
                f"{name}={text!r:.40}. Write a sentence."
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UserError(
                f"The {name} of a correction must be Unicode. Received: "
                f"{ascii(text):.40}. Decode it with errors='replace'."
            ) from error
    return normalise(source), normalise(target)


def normalise(text):
    """Returns a text in one spelling (NFC), without spaces around it."""
    return unicodedata.normalize("NFC", text).strip()


def _hash_bigrams(text):
    """Returns numbers for each two words in a row, and for both ends."""
    words = split_words(text.casefold())
    if not 0 < len(words) <= MAX_WORDS:
        return []
    bigrams = itertools.pairwise(["", *words, ""])
    hashes = {
        hashlib.blake2b("\n".join(pair).encode(), digest_size=6).digest()
        for pair in bigrams
    }
    return sorted(int.from_bytes(each) for each in hashes)


def _format_tmx(pairs, *languages):
    """Yields the lines of a TMX file, version 1.4."""
    quoted = list(map(saxutils.quoteattr, languages))
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
    yield (
        '<header creationtool="keras-t2t" creationtoolversion="1" '
        'segtype="sentence" o-tmf="keras-t2t" adminlang="en" '
        f'srclang={quoted[0]} datatype="plaintext"/>\n<body>\n'
    )
    for pair in pairs:
        time = re.sub("[-:]", "", pair.time[:19])
        origin = saxutils.quoteattr(_FORBIDDEN.sub(" ", pair.origin))
        yield f'<tu changedate="{time}Z" changeid={origin}>\n'
        for language, text in zip(quoted, pair):
            segment = saxutils.escape(_FORBIDDEN.sub(" ", text))
            yield f"<tuv xml:lang={language}><seg>{segment}</seg></tuv>\n"
        yield "</tu>\n"
    yield "</body>\n</tmx>\n"
