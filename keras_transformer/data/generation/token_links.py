"""Word alignments of training text, as links between positions of tokens.

The links of a pair of sentences are one sequence in a flat file: the positions
of a source token and a target token, and so on for each link.
"""

import itertools
import os
import re

import numpy as np

from keras_transformer.data.generation import token_arrays
from keras_transformer.data.text.text_files import read_lines
from keras_transformer.errors import UserError
from keras_transformer.files.reading import file_error
from keras_transformer.token_ids import END_ID

FILE = "train.links"  # without suffix
FILES = (FILE + token_arrays.IDS_SUFFIX, FILE + token_arrays.OFFSETS_SUFFIX)
SETTING = "train_alignments"  # of the manifest, if there are links
_LINE = re.compile("(?:[0-9]{1,5}-[0-9]{1,5}(?: |$))*")
_MOST_POSITIONS = 2**31
_PAIRS_AT_ONCE = 2**16  # pairs whose links are checked together


def read_alignments(path):
    """Yields the word links of each line of a file in Pharaoh's format.

    `0-0 2-1` links source word 0 to target word 0, and source word 2 to target
    word 1. An item is a list of pairs of integers and may be empty.
    """
    for number, line in enumerate(read_lines(path), 1):
        line = " ".join(line.split())
        if not _LINE.fullmatch(line):
            raise UserError(
                "A word alignment must be pairs of word numbers such as 0-0 "
                f"2-1. Received: {path}, line {number}, {line[:40]!r}. Correct "
                "the line."
            )
        yield [tuple(map(int, link.split("-"))) for link in line.split()]


def write_links(directory, vocabularies, alignments):
    """Writes the links between the tokens of the training pairs.

    All tokens of a source word are linked to all tokens of a target word that
    the word is aligned with. `alignments` yields for each training pair the
    origin of its alignment, a str, and its list of pairs of words. `directory`
    holds the token arrays already.
    """
    if any(vocabulary.is_tensor2tensor for vocabulary in vocabularies):
        raise UserError(
            "Word alignments need a vocabulary whose subwords show where words "
            "begin. Received: one of Tensor2Tensor. Leave the alignments out."
        )
    sides = token_arrays.read_ids(directory, "train").values()
    starts = [vocabulary.starts_word for vocabulary in vocabularies]
    path = os.path.join(directory, FILE)
    with token_arrays.TokenArrayWriter(path, _MOST_POSITIONS) as writer:
        for *pair, (origin, links) in zip(*sides, alignments, strict=True):
            words = [_number_words(*side) for side in zip(pair, starts)]
            writer.append(_link_tokens(words, links, origin))
        num_positions = writer.num_tokens
    if not num_positions:
        raise UserError(
            "The file of --train_alignments has no links. Align the text "
            "again, or leave the flag out."
        )


def read_links(problem):
    """Returns the `TokenLinks` of a problem's training pairs.

    Raises a `UserError` if the data have no word alignments in this direction.
    """
    settings = problem.manifest["made_from"].get("settings", {})
    if SETTING not in settings or problem.name != problem.data_name:
        raise UserError(
            "`guided_alignment` needs data with word alignments, in "
            f"their own direction. Received: problem={problem.name} in "
            f"{problem.data_dir}, which has none in that direction. Use "
            f"problem={problem.data_name} with data of kt-datagen "
            "--train_alignments, or leave guided_alignment out."
        )
    links = token_arrays.TokenArray(os.path.join(problem.directory, FILE))
    pairs = problem.token_pairs("train")
    if not _are_between_tokens(links, pairs):
        fault = f"whose links are not those of {len(pairs.inputs):,} pairs"
        raise file_error(links.path, fault, token_arrays.REMEDY)
    return TokenLinks(links)


def _are_between_tokens(links, token_pairs):
    lengths = np.stack([side.lengths for side in token_pairs], axis=1)
    if len(links) != len(lengths) or (links.lengths % 2).any():
        return False
    for start in range(0, len(links), _PAIRS_AT_ONCE):
        offsets = links.offsets[start : start + _PAIRS_AT_ONCE + 1]
        positions = links.ids[offsets[0] : offsets[-1]].reshape(-1, 2)
        limits = lengths[start : start + _PAIRS_AT_ONCE]  # (pairs, 2)
        limits = limits.repeat(np.diff(offsets) // 2, axis=0)  # (links, 2)
        if ((positions < 0) | (positions >= limits)).any():
            return False
    return True


class TokenLinks:
    """Guides attention during training by links, a `TokenSequences`."""

    def __init__(self, links):
        self._links = links

    def read(self, token_pairs, rows, shape):
        """Returns an int32 array `(rows, target_len, input_len)`, 1 for a link.

        `rows` are the numbers of the pairs, of shape `(rows,)`; -1 means no
        pair. `shape` is the shape of the batch, as in `BatchPlan`.
        """
        _, input_len, target_len = shape
        dense = np.zeros((len(rows), target_len, input_len), np.int32)
        (places,) = np.nonzero(rows >= 0)
        pairs = rows[places]
        sources, targets = self._links.concatenate(pairs).reshape(-1, 2).T
        places = np.repeat(places, self._links.count_tokens(pairs) // 2)
        dense[places, targets, sources] = 1
        return dense


def _number_words(ids, starts):
    """Returns the number of the word of each token, without the end."""
    ids = ids[:-1] if ids[-1] == END_ID else ids
    is_start = starts[ids]
    is_start[:1] = True  # also if it is a symbol without the mark of a word
    return np.cumsum(is_start) - 1


def _link_tokens(words, links, origin):
    """Returns the positions of all linked tokens, one after another."""
    positions = []
    for link in sorted(set(links)):
        linked = [np.flatnonzero(w == n) for w, n in zip(words, link)]
        if not all(map(len, linked)):
            sizes = [int(of_side.max(initial=-1)) + 1 for of_side in words]
            raise UserError(
                "A word alignment must link words of its pair. Received: "
                f"{origin} with {link[0]}-{link[1]}, where the source has "
                f"{sizes[0]} words and the target {sizes[1]}. Correct the "
                "line, or swap the sides of all links if the first number of "
                "each counts target words."
            )
        positions += itertools.chain(*itertools.product(*linked))
    return positions
