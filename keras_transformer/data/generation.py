"""Generate a problem's data: text in, vocabulary and token arrays out."""

import collections
import contextlib
import hashlib
import itertools
import json
import logging
import os
import shutil
import time

from keras_transformer import files
from keras_transformer.data import subwords
from keras_transformer.data import text_files
from keras_transformer.data import token_arrays
from keras_transformer.data.progress import Progress

MANIFEST_FILE = "manifest.json"
VOCABULARY_FILE = "vocab.model"

# A vocabulary is trained on at most so many training pairs, evenly spread
# (see `sample_evenly`): more of them change it little.
MAX_VOCABULARY_PAIRS = 500_000

_PAIRS_AT_ONCE = 20_000

_logger = logging.getLogger(__name__)


def generate(problem, tmp_dir):
    """Write a problem's vocabulary, token arrays and manifest.

    Does nothing if that was done before from the same files. Everything is
    written aside and moved into place, the manifest last: a run that was
    killed leaves nothing that a later one would take for complete. Runs at
    the same time wait for each other.

    Args:
        problem: a `Problem` with a `data_dir`.
        tmp_dir: directory with the raw text, or for downloads.

    Returns:
        The manifest, a dict; it is a function of the text and the problem
        only, so that the same text gives the same bytes.

    Raises:
        ValueError: if a split has no pairs.
    """
    unfinished = problem.directory + ".unfinished"
    with files.locked_directory(problem.data_dir):
        shutil.rmtree(unfinished, ignore_errors=True)
        depends_on = made_from(problem, tmp_dir)
        manifest = read_manifest(problem.directory)
        if manifest and manifest["made_from"] == depends_on:
            _logger.info("%s is complete already.", problem.directory)
            return manifest
        with files.directory_aside(unfinished):
            manifest = {
                "made_from": depends_on,
                **_write_data(problem, tmp_dir, unfinished),
            }
            _write_manifest(manifest, unfinished)
            files.synchronise(unfinished)
            _move_files(unfinished, problem.directory)
    return manifest


def read_manifest(directory):
    """Return the manifest in a directory, or None if there is none."""
    try:
        with open(os.path.join(directory, MANIFEST_FILE)) as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def made_from(problem, tmp_dir):
    """Describe all that the data depends on, for comparison."""
    given = problem.vocabulary_path
    settings = problem.settings()
    return {
        "problem": problem.data_name,
        "splits": list(problem.splits),
        "vocab_size": None if given else problem.vocab_size,
        "vocab_sha256": text_files.sha256(given) if given else None,
        "files": problem.fingerprints(tmp_dir),
        **({"settings": settings} if settings else {}),
    }


def text_path(directory, split, side):
    """Return where the raw text of a split's "source" or "target" lies."""
    return os.path.join(directory, f"{split}.{side}.txt")


def read_text(directory, split, side):
    """Returns the lines of raw text of one side of a split."""
    # Not `splitlines`, which also splits at rarer characters than "\n".
    path = text_path(directory, split, side)
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def ids_path(directory, split, side):
    """Return where the token ids of a split's "source" or "target" lie."""
    return os.path.join(directory, f"{split}.{side}")


def _move_files(aside, directory):
    """Moves complete data to their place, the manifest last."""
    os.makedirs(directory, exist_ok=True)
    manifest_path = os.path.join(directory, MANIFEST_FILE)
    # Without its manifest, a mixture of earlier and new files is not taken for
    # complete.
    with contextlib.suppress(FileNotFoundError):
        os.remove(manifest_path)
    for name in os.listdir(aside):
        if name != MANIFEST_FILE:
            os.replace(os.path.join(aside, name), os.path.join(directory, name))
    files.move(os.path.join(aside, MANIFEST_FILE), manifest_path)


def _write_data(problem, tmp_dir, directory):
    """Write vocabulary and splits; return what the manifest says of them."""
    vocabulary = _make_vocabulary(problem, tmp_dir, directory)
    return {
        "vocab_size": vocabulary.vocab_size,
        "vocab_sha256": vocabulary.sha256,
        "splits": {
            split: _encode_split(problem, split, tmp_dir, vocabulary, directory)
            for split in problem.splits
        },
    }


def _make_vocabulary(problem, tmp_dir, directory):
    path = os.path.join(directory, VOCABULARY_FILE)
    if problem.vocabulary_path:
        shutil.copyfile(problem.vocabulary_path, path)
        return subwords.Subwords(path)
    start = time.monotonic()
    pairs = subwords.sample_evenly(
        filter(_is_complete, problem.text_pairs("train", tmp_dir)),
        MAX_VOCABULARY_PAIRS,
    )
    _check_pairs(len(pairs), problem, "train")
    texts = (
        text
        for source, target in pairs
        for text in (source, problem.target_text(target))
    )
    vocabulary = subwords.train_subwords(
        texts, problem.vocab_size, path, problem.symbols(tmp_dir)
    )
    _logger.info(
        "Trained a vocabulary of %d on %d pairs in %.1f s.",
        vocabulary.vocab_size,
        len(pairs),
        time.monotonic() - start,
    )
    return vocabulary


def _encode_split(problem, split, tmp_dir, vocabulary, directory):
    """Encode a split and return its entry in the manifest."""
    sides = [
        _SideWriter(directory, split, side, vocabulary, to_encode)
        for side, to_encode in (
            ("source", str),
            ("target", problem.target_text),
        )
    ]
    counts = collections.Counter()
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress("pairs", label=split))
        for side in sides:
            stack.enter_context(side)
        pairs = iter(problem.text_pairs(split, tmp_dir))
        while chunk := list(itertools.islice(pairs, _PAIRS_AT_ONCE)):
            kept = list(filter(_is_complete, chunk))
            for number, side in enumerate(sides):
                side.hash([pair[number] for pair in chunk])
                side.append([pair[number] for pair in kept])
            counts.update(pairs=len(kept), empty_side=len(chunk) - len(kept))
            progress.add(len(chunk))
    _check_pairs(counts["pairs"], problem, split)
    source, target = sides
    return {
        "pairs": counts["pairs"],
        "dropped": {
            "empty_side": counts["empty_side"],
            **problem.num_left_out(split),
        },
        "source_tokens": source.num_tokens,
        "target_tokens": target.num_tokens,
        "source_sha256": source.sha256,
        "target_sha256": target.sha256,
    }


def _is_complete(pair):
    return not any(map(text_files.is_blank, pair))


def _check_pairs(num_pairs, problem, split):
    if not num_pairs:
        raise ValueError(
            "Each split must have a pair of two sentences that are not empty. "
            f"Received: problem={problem.data_name}, split={split} with no "
            "such pair. Check the raw text of this split."
        )


class _SideWriter(contextlib.ExitStack):
    """Write the ids and, but for training, the text of one side of a split."""

    def __init__(self, directory, split, side, vocabulary, to_encode):
        super().__init__()
        self._vocabulary = vocabulary
        self._to_encode = to_encode
        self._sha256 = hashlib.sha256()
        self._ids = self.enter_context(
            token_arrays.TokenArrayWriter(
                ids_path(directory, split, side), vocabulary.vocab_size
            )
        )
        self._text = None
        if split != "train":
            self._text = self.enter_context(
                open(
                    text_path(directory, split, side),
                    "w",
                    encoding="utf-8",
                    newline="\n",
                )
            )

    def hash(self, texts):
        lines = "".join(text + "\n" for text in texts)
        self._sha256.update(lines.encode("utf-8"))

    def append(self, texts):
        for ids in self._vocabulary.encode(map(self._to_encode, texts)):
            self._ids.append(ids)
        if self._text:
            for text in texts:
                self._text.write(text.replace("\n", " ") + "\n")

    @property
    def num_tokens(self):
        return self._ids.num_tokens

    @property
    def sha256(self):
        return self._sha256.hexdigest()


def _write_manifest(manifest, directory):
    path = os.path.join(directory, MANIFEST_FILE)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=2)
        file.write("\n")
