"""Parallel text in UTF-8, one sentence a line, plain or gzip-compressed."""

import codecs
import gzip
import hashlib
import itertools
import os
import zlib

from keras_transformer.errors import UserError
from keras_transformer.files.reading import check_reachable

MAX_LINE_BYTES = 16 * 2**20  # far more than any sentence or tree has
# Gzipped text is 3 to 10 times smaller. A file that expands more is not text.
MAX_GZIP_BYTES = 2**30
MAX_GZIP_RATIO = 200

_MAX_COUNTED = 1_000_000  # lines, which takes a second
_GZIP_START = b"\x1f\x8b"  # never the start of UTF-8 text
_PACKED = {
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\0": "xz",
    b"BZh91AY&SY": "bzip2",
    b"(\xb5/\xfd": "zstd",
}


def read_lines(path, errors="strict", exact=False, recode=None):
    """Yields the lines of a text file without their line ends.

    The file is UTF-8 and may be compressed by gzip. It may also be a pipe, such
    as `<(command)` of a shell, which can be read only once. See `split_lines`
    for what a line is and for the options. The `UserError` about a fault names
    the file and the line. `recode` turns the buffered file of bytes into one of
    UTF-8, if it is in another encoding.
    """
    check_exists(path)
    with open(path, "rb") as file:
        # By content, not by name: downloads are often named without ".gz".
        if file.peek(len(_GZIP_START)).startswith(_GZIP_START):
            yield from _decompress_lines(file, path, errors, exact, recode)
        else:
            lines = recode(file) if recode else file
            yield from split_lines(lines, path, errors, exact)


def split_lines(file, name, errors="strict", exact=False):
    r"""Yields the lines of a file of bytes without their line ends.

    Only the byte `\n` ends a line, as for `wc -l`. Unicode's other line
    separators stay inside a sentence; `str.splitlines` would split there and
    break the alignment with the other language. A `\r` before the `\n` and a
    byte order mark at the start are removed unless `exact` is set. A line is
    yielded as soon as it is complete, while a pipe is still open.

    `name` is what error messages call the file. `errors` tells how to treat
    bytes that are not UTF-8, as for `bytes.decode`. If it is "strict", text in
    which all lines are full of zero bytes is an error, and other zero bytes
    become U+FFFD unless `exact` is set. The lines before an error are yielded.
    """
    number = 0
    may_be_utf16 = True
    # A binary file may have no line end at all.
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise UserError(
                f"A line of text must have at most {MAX_LINE_BYTES:,} bytes. "
                f"Received: {name}, line {number}, which has more. Check that "
                "this is text with one sentence on a line. `xmllint --format` "
                "divides a line of TMX."
            )
        for start, program in _PACKED.items() if number == 1 else ():
            if line.startswith(start):
                raise UserError(
                    f"{name} is not text: it was compressed by {program}. "
                    "Decompress it, and name the file of text."
                )
        line = line.removesuffix(b"\n")
        if not exact:
            line = line.removesuffix(b"\r")
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
        try:
            text = line.decode(errors=errors)
        except UnicodeDecodeError as error:
            fault = make_encoding_error(name, number, line, error.start)
            raise fault from error
        # UTF-16 without a byte order mark is full of zero bytes.
        num_zeros = text.count("\0")
        may_be_utf16 = may_be_utf16 and (3 * num_zeros >= len(text))
        if errors == "strict" and num_zeros:
            if may_be_utf16:
                raise make_encoding_error(name, number, line, line.index(b"\0"))
            # A single one is a fault of its line, as in HTML.
            text = text if exact else text.replace("\0", "\ufffd")
        yield text


def make_encoding_error(name, number, line, position):
    """Returns the error about a line of bytes that is not UTF-8 text.

    `name` is usually the file's path. The line's `number` counts from 1, the
    `position` of its first wrong byte from 0.
    """
    marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    is_utf16 = (number == 1 and line.startswith(marks)) or not line[position]
    encoding = "UTF-16" if is_utf16 else "ISO-8859-1"
    return UserError(
        f"{name}, line {number} is not UTF-8: byte {position + 1} is "
        f"0x{line[position]:02x}. Convert the text, for example with iconv -f "
        f"{encoding} -t UTF-8."
    )


def _decompress_lines(file, path, errors, exact, recode):
    number = 0
    content = gzip.GzipFile(fileobj=file)
    try:
        recoded = recode(content) if recode else content
        lines = split_lines(recoded, path, errors, exact)
        for number, line in enumerate(lines, 1):
            size = content.tell()
            # The position in a pipe is not known.
            if size > MAX_GZIP_BYTES and file.seekable():
                compressed_size = file.tell()
                if size > MAX_GZIP_RATIO * compressed_size:
                    raise UserError(
                        f"A gzip file of text must be at most {MAX_GZIP_RATIO} "
                        f"times smaller than its text. Received: {path}, where "
                        f"{size:,} bytes come from {compressed_size:,}. Check "
                        "that this is text; otherwise decompress it first."
                    )
            yield line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"The gzip file {path} is damaged after line {number}. Copy or "
            "compress it again."
        ) from error


def read_parallel_lines(path, num_lines, other):
    """Returns the lines of a file, as many as the text called `other` has.

    Raises a `UserError` if their numbers of lines differ.
    """
    rest = read_lines(path)
    lines = list(itertools.islice(rest, num_lines))
    count = _count_lines(len(lines), rest)
    if count != f"{num_lines:,}":
        raise _make_count_error(path, count, other, f"{num_lines:,}")
    return lines


def read_rows(*paths, exact=False):
    """Yields the lines of several files of the same text side by side.

    A row is a tuple, such as `(source, target)`. `exact` is as in
    `split_lines`. If a file ends before another, the `UserError` names both and
    their numbers of lines, without reading a much longer file to its end.
    """
    sides = [read_lines(path, exact=exact) for path in paths]
    # `zip` would silently drop the surplus lines of the longer file.
    for number, row in enumerate(itertools.zip_longest(*sides)):
        if None in row:
            first, *others = [
                (path, _count_lines(number + (line is not None), side))
                for path, line, side in zip(paths, row, sides)
            ]
            other = next(o for o in others if o[1] != first[1])
            raise _make_count_error(*first, *other)
        yield row


def read_sides(*paths):
    """Returns a list of lines for each of several files of the same text."""
    sides = list(map(list, zip(*read_rows(*paths))))
    if not sides:
        raise UserError(
            f"{' and '.join(paths)} have no lines to score. Check the paths."
        )
    return sides


def _make_count_error(path, count, other, other_count):
    return UserError(
        "Files of the same text must have the same number of lines. Received: "
        f"{path} with {count} lines and {other} with {other_count} lines. Name "
        "other files, or align them again: line n of each must have the same "
        "sentence."
    )


def _count_lines(number, rest):
    """Returns how many lines a file has, as text, after some were read."""
    # An error shows which file is short, without minutes for a very long one.
    number += sum(1 for _ in itertools.islice(rest, _MAX_COUNTED))
    is_all = next(rest, None) is None
    return f"{number:,}" if is_all else f"more than {number:,}"


def unescape(text):
    """Returns a text with the entities of SGML, such as `&amp;`, as characters.

    >>> unescape("&quot;R&amp;D&quot;")
    '"R&D"'
    """
    # Imported here because it imports much, and few texts come from SGML.
    from xml.sax import saxutils

    return saxutils.unescape(text, {"&quot;": '"', "&apos;": "'"})


def sha256(path):
    """Returns the SHA-256 of a file, as `sha256sum` prints it."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprints(paths):
    """Returns the name and SHA-256 of each file, for a manifest."""
    return [
        {
            "name": make_recordable(os.path.basename(path)),
            "sha256": sha256(path),
        }
        for path in paths
    ]


def make_recordable(name):
    """Returns the name of a file as UTF-8, in any locale, for a manifest."""
    return os.fsencode(name).decode(errors="replace")


def check_exists(path):
    """Raises a `UserError` unless a path names a file or a pipe."""
    check_reachable(path)
    if not os.path.exists(path) or os.path.isdir(path):
        state = "is a directory" if os.path.isdir(path) else "does not exist"
        raise UserError(
            f"Cannot read {path}, which {state}. Name a file of text."
        )


def check_rereadable(paths):
    """Raises a `UserError` if one of the files is a pipe or a device."""
    for path in paths:
        if os.path.exists(path) and not os.path.isfile(path):
            raise UserError(
                f"Cannot read {path} more than once, because it is a "
                "directory, a pipe or a device. Data are generated in several "
                "passes, so write the text to a file first."
            )
