"""Read parallel text: UTF-8, one sentence a line, plain or gzip-compressed."""

import codecs
import gzip
import hashlib
import itertools
import os
import zlib

_GZIP_START = b"\x1f\x8b"  # never the start of UTF-8 text


def read_lines(path, errors="strict"):
    r"""Yield the lines of a text file without their ends.

    Only the byte `\n` ends a line, as `wc -l` counts them: Unicode's other line
    separators stay inside a sentence, where `str.splitlines` would break the
    alignment with the other language. A `\r` before the `\n` and a byte order
    mark at the start are removed.

    Args:
        path: a file of UTF-8 text; if gzip-compressed, it is decompressed.
        errors: what `bytes.decode` makes of bytes that are not UTF-8.

    Raises:
        ValueError: if there is no such file, or it is not UTF-8, or its
            compressed data are damaged; the message names file and line.
    """
    with _open(path) as file:
        number = 0
        try:
            for number, line in enumerate(file, 1):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                line = line.removesuffix(b"\n").removesuffix(b"\r")
                yield line.decode(errors=errors)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"Text must be UTF-8. Received: {path}, line {number}, where "
                f"byte {error.start + 1} is 0x{error.object[error.start]:02x}. "
                "Convert the file, for example with iconv -t UTF-8."
            ) from error
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"A gzip file must be whole. Received: {path}, damaged after "
                f"line {number}. Copy or compress it again."
            ) from error


def read_pairs(source_path, target_path):
    """Yield (source, target) for each line of two aligned files.

    Raises:
        ValueError: if one file ends before the other; the message holds both
            names and both counts.
    """
    pairs = itertools.zip_longest(
        read_lines(source_path), read_lines(target_path)
    )
    for source, target in pairs:
        if source is None or target is None:
            raise ValueError(
                "Parallel files must have equally many lines. Received: "
                f"{source_path} with {count_lines(source_path):,} lines and "
                f"{target_path} with {count_lines(target_path):,} lines. "
                "Align them again: line n of the one translates line n of the "
                "other."
            )
        yield source, target


def count_lines(path):
    """Return how many lines `read_lines` yields."""
    return sum(1 for _ in read_lines(path))


def count_pairs(source_path, target_path):
    """Read two aligned files to their ends, so that all their faults show.

    Returns:
        the number of lines, and the number of lines with text on both sides.

    Raises:
        ValueError: as `read_pairs`, and if no line has text on both sides.
    """
    num_lines = num_pairs = 0
    for source, target in read_pairs(source_path, target_path):
        num_lines += 1
        num_pairs += not (is_blank(source) or is_blank(target))
    if not num_pairs:
        raise ValueError(
            "Parallel files must have at least one line with text on both "
            f"sides. Received: {source_path} and {target_path} with "
            f"{num_lines:,} lines, all of them empty on one side. Check that "
            "these are the right files."
        )
    return num_lines, num_pairs


def is_blank(line):
    """Return whether a line holds no text."""
    return not line or line.isspace()


def sha256(path):
    """Return the SHA-256 of a file as it lies there, as `sha256sum` prints."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprints(paths):
    """Return what a manifest records of files: a list of name and SHA-256."""
    return [
        {"name": os.path.basename(path), "sha256": sha256(path)}
        for path in paths
    ]


def _open(path):
    """Return a binary file object on the file's decompressed contents."""
    if not os.path.isfile(path):
        state = "a directory" if os.path.isdir(path) else "not there"
        raise ValueError(
            f"Text must be a file. Received: {path}, which is {state}. "
            "Check the path."
        )
    with open(path, "rb") as file:
        is_gzip = file.read(len(_GZIP_START)) == _GZIP_START
    return gzip.open(path) if is_gzip else open(path, "rb")
