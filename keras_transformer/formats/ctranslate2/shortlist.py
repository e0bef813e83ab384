"""Learns which target subwords may translate each source subword.

The softmax over a vocabulary is a large part of a decoder's work. With a
shortlist, CTranslate2 computes it over few subwords: those frequent in the
training text, and those that belong to the sources of the batch.
"""

import hashlib
import os
import typing

import numpy as np

from keras_transformer.data.text import parallel_files
from keras_transformer.data.text.tags import make_tag_word
from keras_transformer.data.vocabulary.vocabularies import sample_evenly
from keras_transformer.errors import UserError
from keras_transformer.files.writing import write_file
from keras_transformer.formats.exported import SHORTLIST_FILE
from keras_transformer.token_ids import WORD_START

NUM_RELATED = 40  # target subwords for each source subword
NUM_FREQUENT = 300  # subwords of the target for every sentence
MAX_PAIRS = 1_000_000
_BLOCK = 10_000  # texts that are encoded at a time
_SEPARATORS = frozenset(" \t\r\n")  # between words of `vmap.txt`


class Shortlist(typing.NamedTuple):
    """The subwords of the target that a search may write.

    CTranslate2 itself adds the end, the unknown id and subwords of a prefix.
    """

    frequent: list  # ids for every sentence
    related: list  # a list of ids for each id of the source

    def write(self, directory, vocabularies):
        """Writes `vmap.txt` into a directory, and returns its SHA-256.

        Subwords with a tab or line end are left out: the file cannot hold them.
        """
        pieces = vocabularies.targets.pieces
        sources = vocabularies.sources.all_pieces()
        # The row without a source holds the subwords for every sentence.
        rows = [("", self.frequent), *zip(sources, self.related)]
        lines = [
            f"{source}\t{' '.join(filter(_is_writable, pieces(ids)))}\n"
            for source, ids in rows
            if _is_writable(source)
        ]
        content = "".join(lines).encode()
        path = os.path.join(directory, SHORTLIST_FILE)
        write_file(path, content)
        return hashlib.sha256(content).hexdigest()


def read_pairs(corpora, languages, vocabulary):
    """Reads the text that a shortlist is learnt from, as pairs without blanks.

    If there are more than `MAX_PAIRS` pairs, the result is an even sample of at
    least half of `MAX_PAIRS`. Only TMX needs the codes of the languages. The
    `Subwords` belong to the sources.
    """
    for corpus in corpora:
        _check_tag(corpus.tag, vocabulary)
    pairs = sample_evenly(
        (
            pair
            for corpus in corpora
            for pair in corpus.tag_pairs(
                parallel_files.read_pairs(corpus.paths, languages),
                vocabulary.language_codes,
            )
            if all(map(str.strip, pair))
        ),
        MAX_PAIRS,
    )
    if not pairs:
        raise UserError(
            f"{' '.join(corpus.tagged_name for corpus in corpora)} has no pair "
            "with text on both sides. Name the text that the run was trained "
            "on."
        )
    return pairs


def learn_shortlist(
    pairs, vocabularies, num_related=NUM_RELATED, num_frequent=NUM_FREQUENT
):
    """Learns a `Shortlist` from pairs of str.

    For each source subword it holds the `num_related` target subwords with the
    highest Dice coefficients: twice the number of pairs that hold both, divided
    by the sum of the numbers of pairs that hold each. Each source subword may
    also be copied, so that names and numbers survive. The `num_frequent`
    subwords that occur in the most targets are for every sentence.
    """
    sides = vocabularies.sources, vocabularies.targets
    sources, targets = (
        _find_occurrences(texts, side)
        for texts, side in zip(zip(*pairs), sides)
    )
    sizes = [side.vocab_size for side in sides]
    related = _compute_dice(sources, targets, *sizes, len(pairs))
    rows = [
        [*copy, *_select_highest(coefficients, num_related)]
        for copy, coefficients in zip(_find_copies(vocabularies), related)
    ]
    _, ids = targets
    frequent = _select_highest(np.bincount(ids), num_frequent)
    return Shortlist(frequent, [list(dict.fromkeys(row)) for row in rows])


def _find_occurrences(texts, vocabulary):
    """Returns which subwords occur in which texts, without the ends."""
    # The array `(2, num_occurrences)` holds the numbers of the texts, in
    # ascending order, and the ids, each once for each text.
    blocks = []
    for first in range(0, len(texts), _BLOCK):
        encoded = vocabulary.encode(texts[first : first + _BLOCK])
        lengths = [len(ids) - 1 for ids in encoded]
        numbers = np.repeat(np.arange(first, first + len(encoded)), lengths)
        ids = np.array([id_ for row in encoded for id_ in row[:-1]], np.int64)
        # A pair of a text and an id as one number, since `np.unique` is much
        # faster on numbers than on rows.
        distinct = np.unique(numbers * vocabulary.vocab_size + ids)
        block = np.divmod(distinct, vocabulary.vocab_size)
        blocks.append(np.array(block, np.int32))
    return np.concatenate(blocks, axis=1)


def _compute_dice(sources, targets, num_sources, num_targets, num_texts):
    """Yields the Dice coefficients `(num_targets,)` of each source id."""
    # The first two arguments are arrays of `_find_occurrences`.
    texts, ids = sources
    source_counts = np.bincount(ids, minlength=num_sources)
    texts = texts[np.argsort(ids, kind="stable")]
    texts_of = np.split(texts, np.cumsum(source_counts)[:-1])
    texts, ids = targets
    target_counts = np.bincount(ids, minlength=num_targets)
    # The ids of text n are those from `bounds[n]` to `bounds[n + 1]`. A matrix
    # of all pairs of ids would be too large, so one source id at a time counts
    # the target ids of the texts that hold it.
    bounds = np.searchsorted(texts, np.arange(num_texts + 1))
    for number, numbers in zip(source_counts, texts_of):
        places = _join_ranges(bounds[numbers], bounds[numbers + 1])
        joint = np.bincount(ids[places], minlength=num_targets)
        yield 2 * joint / np.maximum(1, number + target_counts)


def _join_ranges(begins, ends):
    """Returns the integers of several ranges, one range after another."""
    lengths = ends - begins
    shifts = begins - np.cumsum(lengths) + lengths
    return np.repeat(shifts, lengths) + np.arange(lengths.sum())


def _select_highest(values, count):
    """Returns the places of the highest values, except zeros."""
    places = np.flatnonzero(values)
    order = np.argsort(-values[places], kind="stable")
    return places[order[:count]].tolist()


def _find_copies(vocabularies):
    """Returns, for each source id, the target ids that spell its piece."""
    pieces = vocabularies.sources.all_pieces()
    targets = vocabularies.targets
    ids = {piece: id_ for id_, piece in enumerate(targets.all_pieces())}
    spelled = targets.encode(
        [piece.replace(WORD_START, " ") for piece in pieces]
    )
    return [
        [ids[piece]] if piece in ids else spelling[:-1]
        for piece, spelling in zip(pieces, spelled)
    ]


def _is_writable(piece):
    return _SEPARATORS.isdisjoint(piece)


def _check_tag(tag, vocabulary):
    # One id for the tag, and one for the end.
    word = tag and make_tag_word(tag, vocabulary.language_codes)
    if word and len(vocabulary.encode([word])[0]) != 2:
        raise UserError(
            "The tag of a corpus must be one that the model was trained with. "
            f"Received: {tag}, but {word} has no id in the vocabulary. "
            "Name a tag that kt-datagen was given, or leave it out."
        )
