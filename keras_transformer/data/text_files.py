"""Parallel text in UTF-8, one sentence a line, plain or gzip-compressed."""

import codecs
import gzip
import hashlib
import itertools
import os
import zlib

_GZIP_START = b"\x1f\x8b"  # never the start of UTF-8 text


def read_lines(path, errors="strict"):
    r"""Yields the lines of a text file without their line ends.

    Only the byte `\n` ends a line, as for `wc -l`. Unicode's other line
    separators stay inside a sentence; `str.splitlines` would split there and
    break the alignment with the other language. A `\r` before the `\n` and a
    byte order mark at the start are removed.

    Args:
        path: Path of a file of UTF-8 text, which may be gzip-compressed.
        errors: Treatment of bytes that are not UTF-8, as for `bytes.decode`.
            Defaults to "strict".

    Raises:
        ValueError: If the file does not exist, is not UTF-8, or holds damaged
            compressed data. The message names the file and the line.
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
    """Yields `(source, target)` for each line of two aligned files.

    Raises:
        ValueError: If one file ends before the other. The message names both
            files and their numbers of lines.
    """
    # `zip` would silently drop the surplus lines of the longer file.
    pairs = itertools.zip_longest(
        read_lines(source_path), read_lines(target_path)
    )
    for source, target in pairs:
        # Both files are counted once more, so that the message shows which of
        # them is short.
        if source is None or target is None:
            raise ValueError(
                "Parallel files must have the same number of lines. Received: "
                f"{source_path} with {count_lines(source_path):,} lines and "
                f"{target_path} with {count_lines(target_path):,} lines. "
                "Align them again: line n of one file must translate line n of "
                "the other."
            )
        yield source, target


def count_lines(path):
    """Returns the number of lines that `read_lines` yields."""
    return sum(1 for _ in read_lines(path))


def count_pairs(source_path, target_path):
    """Reads two aligned files to the end and counts lines and pairs.

    Reading everything first finds every fault of the files before any work
    starts.

    Returns:
        A tuple of the number of lines and the number of lines with text on
        both sides.

    Raises:
        ValueError: As for `read_pairs`, or if no line has text on both sides.
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
    """Returns whether a line holds no text."""
    return not line or line.isspace()


def sha256(path):
    """Returns the SHA-256 of a file, as `sha256sum` prints it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprints(paths):
    """Returns the name and SHA-256 of each file, for a manifest."""
    return [
        {"name": os.path.basename(path), "sha256": sha256(path)}
        for path in paths
    ]


def _open(path):
    """Opens the decompressed contents of a file in binary mode."""
    if not os.path.isfile(path):
        state = "is a directory" if os.path.isdir(path) else "does not exist"
        raise ValueError(
            f"Text must be a file. Received: {path}, which {state}. "
            "Check the path."
        )
    # By content, not by name: downloads are often named without ".gz".
    with open(path, "rb") as file:
        is_gzip = file.read(len(_GZIP_START)) == _GZIP_START
    return gzip.open(path) if is_gzip else open(path, "rb")
