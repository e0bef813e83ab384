"""Encoding of texts in chunks, the slowest part of generating data.

An encoder is an object with the method `encode` of `LocalEncoder`. Whatever the
encoder, the same chunks give the same ids in the same order.
"""

import collections
import collections.abc
import contextlib
import hashlib
import itertools
import re

import numpy as np

from keras_transformer.data.batches.prefetch import prefetch
from keras_transformer.data.generation.token_arrays import SIDES
from keras_transformer.data.generation.token_arrays import TokenArrayWriter
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.data.generation.token_arrays import ids_dtype
from keras_transformer.data.generation.token_arrays import ids_path
from keras_transformer.data.generation.token_arrays import text_path
from keras_transformer.errors import UserError
from keras_transformer.files.progress import Progress


class LocalEncoder:
    """Encodes on all cores of this machine, one chunk after another."""

    def encode(self, vocabularies, chunks, directory):
        """Yields the `TokenSequences` of each side for each chunk, in order.

        `vocabularies` lists the `Subwords` of each side. A chunk is a list with
        the texts of each side, which are lists of strings. An encoder may store
        files in `directory` meanwhile; this one stores nothing.
        """
        # A thread reads and cleans the next chunks while these are encoded.
        with contextlib.closing(prefetch(chunks)) as chunks:
            for chunk in chunks:
                yield encode_chunk(vocabularies, chunk)


def encode_chunk(vocabularies, chunk):
    """Returns a list with the `TokenSequences` of each side of a chunk."""
    return [
        TokenSequences.from_lists(
            vocabulary.encode(texts), ids_dtype(vocabulary.vocab_size)
        )
        for vocabulary, texts in zip(vocabularies, chunk, strict=True)
    ]


# Pairs that are encoded together, on any number of workers.
PAIRS_IN_CHUNK = 20_000
PAIRS_IN_STREAM = 1_000  # pairs that are read and encoded at a time

_HALVES = re.compile("[\ud800-\udfff]")  # of characters; UTF-8 has none


def encode_split(problem, split, tmp_dir, vocabularies, directory, described):
    """Encodes a split and returns its entry in the manifest.

    `described` describes each corpus, and is empty for a single unnamed one.
    """
    corpora = problem.text_corpora(split, tmp_dir)
    corpus_counts = [collections.Counter() for _ in corpora]
    # The other splits are small, so they never leave this machine.
    encoder = problem.encoder if split == "train" else LocalEncoder()
    hashes = [hashlib.sha256() for _ in SIDES]  # of the raw texts
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress("pairs", label=split))
        writers = [
            stack.enter_context(
                TokenArrayWriter(ids_path(directory, split, side), size)
            )
            for side, size in zip(SIDES, reversed(vocabularies.sizes))
        ]
        # Nothing reads the raw text of "train" again, and it may be huge.
        files = [
            stack.enter_context(open(path, "w", encoding="utf-8", newline="\n"))
            for path in (text_path(directory, split, side) for side in SIDES)
            if split != "train"
        ]
        chunks = itertools.chain.from_iterable(
            _prepare_chunks(problem, pairs, hashes, files, counts, progress)
            for pairs, counts in zip(corpora, corpus_counts)
        )
        # Closed before the files, to which it writes.
        encoded_chunks = stack.enter_context(
            contextlib.closing(encoder.encode(vocabularies, chunks, directory))
        )
        for encoded in encoded_chunks:
            for writer, sequences in zip(writers, encoded, strict=True):
                writer.extend(sequences)
    counts = sum(corpus_counts, collections.Counter())
    check_number(counts["pairs"], problem, split)
    dropped = {"empty_side": counts["empty_side"]}
    entry = {
        "pairs": counts["pairs"],
        "dropped": dropped | problem.num_left_out(split),
        "source_tokens": writers[0].num_tokens,
        "target_tokens": writers[1].num_tokens,
        "source_sha256": hashes[0].hexdigest(),
        "target_sha256": hashes[1].hexdigest(),
    }
    if described:
        entry["corpora"] = [
            {**corpus, "pairs": count["pairs"]}
            for corpus, count in zip(described, corpus_counts, strict=True)
        ]
    return entry


def _prepare_chunks(problem, pairs, hashes, files, counts, progress):
    """Yields the texts to encode in chunks, a list for each side."""
    pairs = iter(pairs)
    while chunk := list(itertools.islice(pairs, PAIRS_IN_CHUNK)):
        kept = list(select_complete_pairs(problem, chunk))
        for number, sha256 in enumerate(hashes):
            # The checksum covers dropped pairs too: it identifies the raw text.
            lines = "".join(pair[number] + "\n" for pair in chunk)
            sha256.update(lines.encode("utf-8"))
        for number, file in enumerate(files):
            # A line break inside a sentence would misalign the two sides.
            lines = (pair[number].replace("\n", " ") for pair in kept)
            file.writelines(f"{line}\n" for line in lines)
        counts.update(pairs=len(kept), empty_side=len(chunk) - len(kept))
        progress.add(len(chunk))
        targets = [problem.target_text(target) for _, target in kept]
        yield [[source for source, _ in kept], targets]


def encode_stream(problem, corpus, vocabularies, max_length):
    """Yields the ids of a corpus in chunks, in the directions of a problem.

    A chunk is a tuple of two lists of equal length, the int32 ids of each
    source and of each target as bytes. Pairs with a sentence of more than
    `max_length` tokens are left out.
    """
    pairs = select_complete_pairs(problem, corpus)
    while chunk := list(itertools.islice(pairs, PAIRS_IN_STREAM)):
        sources, targets = zip(*chunk)
        targets = list(map(problem.target_text, targets))
        texts = {"source": sources, "target": targets}
        sides = [
            [text for side in sides for text in texts[side]]
            for sides in zip(*problem.directions)
        ]
        encoded = zip(
            vocabularies.sources.encode(sides[0]),
            vocabularies.targets.encode(sides[1]),
        )
        kept = [
            [np.array(ids, np.int32).tobytes() for ids in pair]
            for pair in encoded
            if max(map(len, pair)) <= max_length
        ]
        if kept:
            yield tuple(map(list, zip(*kept)))


def select_complete_pairs(problem, pairs):
    """Yields the pairs that have text on both sides."""
    # What is no iterable, such as None, is shown as if it were a pair.
    is_iterable = isinstance(pairs, collections.abc.Iterable)
    for pair in pairs if is_iterable else [pairs]:
        if (
            not isinstance(pair, tuple | list)
            or [isinstance(text, str) for text in pair] != [True, True]
            or any(map(_HALVES.search, pair))
        ):
            raise UserError(
                f"`text_pairs` must yield pairs of str. Received: {pair!r:.60} "
                f"from problem={problem.data_name}. Write `yield source, "
                "target`, of texts without halves of characters."
            )
        if problem.is_complete(*pair):
            yield pair


def check_number(num_pairs, problem, split):
    """Raises a `UserError` for a split without pairs."""
    if num_pairs:
        return
    name = problem.data_name
    left_out = {r: n for r, n in problem.num_left_out(split).items() if n}
    if left_out:
        counts = ", ".join(f"{n:,} by {r!r}" for r, n in left_out.items())
        raise UserError(
            f"The split {split} of problem {name} has no pairs of non-empty "
            f"sentences left. Left out were: {counts}. Keep some of them, for "
            "example without --clean, or check its raw text."
        )
    raise UserError(
        f"The split {split} of problem {name} has no pairs of non-empty "
        "sentences. Check its raw text."
    )
