"""Encoding of a split: its ids, its raw text, and its counts."""

import collections
import collections.abc
import contextlib
import itertools

from keras_transformer.data import split_files
from keras_transformer.data.encoding import LocalEncoder
from keras_transformer.data.progress import Progress

# The number of pairs that are encoded together. It is fixed, so chunks do not
# depend on the number of workers.
PAIRS_IN_CHUNK = 20_000


def encode_split(problem, split, tmp_dir, vocabularies, directory, described):
    """Encodes a split and returns its entry in the manifest.

    Args:
        problem: The `Problem` whose text is encoded.
        split: Name of the split.
        tmp_dir: Directory that holds the raw text.
        vocabularies: The `Vocabularies` of the problem.
        directory: Path of the directory to write to.
        described: List of what the problem says of each corpus of the split;
            empty for a single corpus of no name.

    Raises:
        ValueError: If the split has no pairs.
    """
    source_first = list(reversed(vocabularies))
    sides = [
        split_files.SideWriter(
            directory, split, side, vocabulary.vocab_size, to_encode
        )
        for side, vocabulary, to_encode in zip(
            ("source", "target"),
            source_first,
            (str, problem.target_text),
        )
    ]
    corpora = problem.text_corpora(split, tmp_dir)
    corpus_counts = [collections.Counter() for _ in corpora]
    # The other splits are small, so they never leave this machine.
    encoder = problem.encoder if split == "train" else LocalEncoder()
    with contextlib.ExitStack() as stack:
        progress = stack.enter_context(Progress("pairs", label=split))
        for side in sides:
            stack.enter_context(side)
        chunks = itertools.chain.from_iterable(
            _prepared_chunks(problem, pairs, sides, counts, progress)
            for pairs, counts in zip(corpora, corpus_counts)
        )
        # Closed before the sides, whose texts it reads.
        encoded_chunks = stack.enter_context(
            contextlib.closing(encoder.encode(source_first, chunks, directory))
        )
        for encoded in encoded_chunks:
            for side, sequences in zip(sides, encoded, strict=True):
                side.append(sequences)
    counts = sum(corpus_counts, collections.Counter())
    check_number(counts["pairs"], problem, split)
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
        **_corpora_entry(described, corpus_counts),
    }


def _prepared_chunks(problem, pairs, sides, counts, progress):
    """Yields the texts to encode in chunks, a list for each side."""
    pairs = iter(pairs)
    while chunk := list(itertools.islice(pairs, PAIRS_IN_CHUNK)):
        kept = list(complete_pairs(problem, chunk))
        for number, side in enumerate(sides):
            # The checksum covers dropped pairs too, because it identifies the
            # raw text.
            side.hash([pair[number] for pair in chunk])
        counts.update(pairs=len(kept), empty_side=len(chunk) - len(kept))
        progress.add(len(chunk))
        yield [
            side.prepare([pair[number] for pair in kept])
            for number, side in enumerate(sides)
        ]


def _corpora_entry(described, corpus_counts):
    """Returns what the manifest says of the corpora of a split."""
    if not described:
        return {}
    return {
        "corpora": [
            {**entry, "pairs": counts["pairs"]}
            for entry, counts in zip(described, corpus_counts, strict=True)
        ]
    }


def complete_pairs(problem, pairs):
    """Yields the pairs that have text on both sides.

    Raises:
        ValueError: If something is no pair of str, which a problem of the
            user's own may yield.
    """
    if not isinstance(pairs, collections.abc.Iterable):
        raise _no_pair(problem, pairs)
    for pair in pairs:
        if not _is_pair(pair):
            raise _no_pair(problem, pair)
        if problem.is_complete(*pair):
            yield pair


def _is_pair(pair):
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        return False
    return isinstance(pair[0], str) and isinstance(pair[1], str)


def _no_pair(problem, value):
    return ValueError(
        f"`text_pairs` must yield pairs of str. Received: {value!r:.60} from "
        f"problem={problem.data_name}. Write `yield source, target`."
    )


def check_number(num_pairs, problem, split):
    """Raises a `ValueError` for a split without pairs."""
    if not num_pairs:
        raise ValueError(
            "Each split must have at least one pair of non-empty sentences. "
            f"Received: problem={problem.data_name}, split={split} with no "
            "such pair. Check the raw text of this split."
        )
