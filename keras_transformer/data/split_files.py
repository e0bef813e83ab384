"""The files of a split: raw text and token ids of each side."""

import contextlib
import hashlib
import math
import os

from keras_transformer.data.token_arrays import REMEDY
from keras_transformer.data.token_arrays import TokenArray
from keras_transformer.data.token_arrays import TokenArrayWriter
from keras_transformer.files import reading


def ids_path(directory, split, side):
    """Returns the path of the token ids of a "source" or "target" side."""
    return os.path.join(directory, f"{split}.{side}")


def read_ids(directory, split):
    """Returns the token ids of both sides, a dictionary of `TokenArray`."""
    return {
        side: TokenArray(ids_path(directory, split, side))
        for side in ("source", "target")
    }


def text_path(directory, split, side):
    """Returns the path of the raw text of a "source" or "target" side."""
    return os.path.join(directory, f"{split}.{side}.txt")


def read_text(directory, split, side, num_lines):
    """Returns the lines of the raw text of a side, a list of strings.

    Args:
        directory, split, side: As for `text_path`.
        num_lines: Number of lines that the side must have.

    Raises:
        ValueError: If the file is not as it was written.
    """
    path = text_path(directory, split, side)
    text = reading.read_text(path, REMEDY, max_bytes=math.inf)
    # `splitlines` also splits at rarer characters, which may stand inside a
    # sentence.
    lines = text.split("\n")[:-1]
    if len(lines) != num_lines:
        fault = f"with {len(lines):,} lines instead of {num_lines:,}"
        raise reading.file_error(path, fault, REMEDY)
    return lines


class SideWriter(contextlib.ExitStack):
    """Writes one side of a split: ids, and raw text unless it is "train".

    Nothing reads the raw text of "train" again, and it may be huge.

    Args:
        directory: Path of the directory to write to.
        split: Name of the split.
        side: Either "source" or "target".
        vocab_size: Number of different ids.
        to_encode: Function that returns the text to encode for a raw text.
    """

    def __init__(self, directory, split, side, vocab_size, to_encode):
        super().__init__()
        self._to_encode = to_encode
        self._sha256 = hashlib.sha256()
        self._ids = self.enter_context(
            TokenArrayWriter(ids_path(directory, split, side), vocab_size)
        )
        self._text = None
        if split != "train":
            path = text_path(directory, split, side)
            self._text = self.enter_context(
                open(path, "w", encoding="utf-8", newline="\n")
            )

    def hash(self, texts):
        """Adds texts to the checksum, whether they are written or not."""
        lines = "".join(text + "\n" for text in texts)
        self._sha256.update(lines.encode("utf-8"))

    def prepare(self, texts):
        """Writes raw texts unless they are of "train".

        Returns:
            List of the texts to encode.
        """
        if self._text:
            for text in texts:
                # A line break inside a sentence would misalign the two sides.
                self._text.write(text.replace("\n", " ") + "\n")
        return [self._to_encode(text) for text in texts]

    def append(self, sequences):
        """Writes the ids of encoded texts, a `TokenSequences`."""
        self._ids.extend(sequences)

    @property
    def num_tokens(self):
        """Number of tokens written so far."""
        return self._ids.num_tokens

    @property
    def sha256(self):
        """SHA-256 of the raw text as a file of lines, in hexadecimal."""
        return self._sha256.hexdigest()
