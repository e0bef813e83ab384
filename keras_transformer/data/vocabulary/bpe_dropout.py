"""BPE-dropout: random segmentations of words, many words at a time."""

import numpy as np

from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.errors import UserError
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID
from keras_transformer.token_ids import WORD_START


class BpeDropout:
    """Segments words by byte-pair encoding, leaving out random merges.

    A word begins as its characters. Before each merge, every possible merge is
    left out with probability `dropout` (p < 1), and the best of the others is
    applied. The word is finished when none remains (Algorithm 1 of Provilkov et
    al., 2020). Without dropout this is what SentencePiece does. Bytes, and
    symbols that a problem defines, are neither split nor merged. Raises a
    `UserError` unless the vocabulary is a byte-pair encoding within words.
    """

    def __init__(self, vocabulary, dropout):
        self._dropout = dropout
        model = _read_model(vocabulary)
        # Merges make and split only normal pieces.
        ids = {
            piece.piece: id_
            for id_, piece in enumerate(model.pieces)
            if piece.type == piece.NORMAL
        }
        # Merges are ranked by the scores of the pieces that they make.
        by_rank = sorted(ids.values(), key=lambda i: -model.pieces[i].score)
        self._by_rank = np.array([*by_rank, PAD_ID], np.int32)
        self._no_merge = len(by_rank)  # a rank after all others
        self._merges = _make_merges(ids, by_rank)
        self._spellings = TokenSequences.from_lists(
            [
                [ids[character] for character in text]
                if text in ids and all(character in ids for character in text)
                else [id_]
                for id_, text in enumerate(vocabulary.all_pieces())
            ]
        )
        self.starts_word = vocabulary.starts_word.copy()
        self.starts_word[END_ID] = True

    def spell(self, words):
        """Returns words, `TokenSequences` of pieces, as their characters."""
        ends = np.append(0, np.cumsum(self._spellings.lengths[words.ids]))
        characters = self._spellings.concatenate(words.ids)
        return TokenSequences(characters, ends[words.offsets])

    def first_ranks(self, words):
        """Returns the rank of the merge of each character with the next one.

        A last character has none. Both are `TokenSequences` of the same words.
        """
        followers = np.append(words.ids[1:], PAD_ID)
        ranks = self._merges.find(words.ids, followers)
        ranks[words.offsets[1:] - 1] = self._no_merge
        return TokenSequences(ranks, words.offsets)

    def segment(self, characters, ranks, generator):
        """Yields a random segmentation of each word, by number of pieces.

        `characters` and `ranks` (see `first_ranks`) have shape `(characters,
        words)`. Each item has the columns of all words with the same number of
        pieces, `(words,)`, and their pieces, `(pieces, words)`.
        """
        words = np.arange(characters.shape[1])
        # Padding, which merges with nothing, gives each piece two neighbours.
        pieces = np.pad(characters, ((1, 1), (0, 0)), constant_values=PAD_ID)
        # (pieces - 1, words)
        ranks = np.pad(ranks, ((1, 0), (0, 0)), constant_values=self._no_merge)
        while len(words):
            rank, at = self._choose_merges(ranks, generator)
            is_over = rank == self._no_merge
            over, others = np.flatnonzero(is_over), np.flatnonzero(~is_over)
            yield words[over], pieces[1:-1].take(over, axis=1)
            words, pieces, ranks, rank, at = (
                array.take(others, axis=-1)
                for array in (words, pieces, ranks, rank, at)
            )
            pieces, ranks = self._merge(pieces, ranks, self._by_rank[rank], at)

    def _choose_merges(self, ranks, generator):
        """Returns the rank and the pair of the best merge of each word."""
        # It is the best of those not left out. Both have the shape `(words,)`.
        num_pairs, num_words = ranks.shape
        # Of two equal merges the first one is better, as in SentencePiece.
        keys = ranks * num_pairs + np.arange(num_pairs, dtype=np.int32)[:, None]
        best = keys.min(axis=0)
        # The number of better merges that are left out before one is not.
        num_skipped = generator.geometric(1 - self._dropout, num_words) - 1
        some = np.flatnonzero(num_skipped)
        # The last sorted key is not a merge: words have padding at both ends.
        skipped = np.minimum(num_skipped[some], num_pairs - 1)
        by_key = np.sort(keys[:, some], axis=0)
        best[some] = by_key[skipped, np.arange(len(some))]
        return np.divmod(best, num_pairs)

    def _merge(self, pieces, ranks, merged, at):
        """Merges the pair number `at` of each word, so arrays lose a row."""
        columns = np.arange(len(at))
        pieces, ranks = _drop_next(pieces, at), _drop_next(ranks, at)
        pieces[at, columns] = merged
        before, after = pieces[at - 1, columns], pieces[at + 1, columns]
        ranks[at - 1, columns] = self._merges.find(before, merged)
        ranks[at, columns] = self._merges.find(merged, after)
        return pieces, ranks


def _drop_next(rows, at):
    """Drops from each column the entry after number `at`."""
    numbers = np.arange(len(rows) - 1)[:, None]
    return np.where(numbers > at, rows[1:], rows[:-1])


def _make_merges(ids, by_rank):
    """Returns a table from two pieces to the rank of their merge."""
    ranks = {id_: rank for rank, id_ in enumerate(by_rank)}
    merges = [
        (ids[text[:cut]], ids[text[cut:]], ranks[id_])
        for text, id_ in ids.items()
        for cut in range(1, len(text))
        if text[:cut] in ids and text[cut:] in ids
    ]
    columns = np.array(merges, np.int64).reshape(-1, 3).T
    return PairTable(*columns, default=len(by_rank))


def _read_model(vocabulary):
    model = vocabulary.parse_model()
    spec = model.trainer_spec
    # The words of a sentence are segmented one by one.
    across_words = [
        piece.piece
        for piece in model.pieces
        if piece.type == piece.NORMAL and WORD_START in piece.piece[1:]
    ]
    way_out = "use another problem"
    if vocabulary.is_imported:
        rule, received = "that was trained here", "one of an imported model"
    elif spec.model_type != spec.BPE:
        name = spec.ModelType.Name(spec.model_type).lower()
        rule = "that is a byte-pair encoding"
        received = f"a SentencePiece model of type {name}"
    elif across_words:
        rule = "whose pieces are within words"
        received = f"a SentencePiece model with {across_words[0][:40]!r}"
        way_out = "train the vocabulary with --split_by_whitespace=true"
    else:
        return model
    raise UserError(
        f"`subword_dropout` needs a vocabulary {rule}. Received: {received}. "
        f"Leave subword_dropout at 0, or {way_out}."
    )


class PairTable:
    """Maps pairs of ids from 0 to 2**31 - 1 to numbers, `default` if unknown.

    >>> table = PairTable(np.array([5]), np.array([7]), np.array([3]), -1)
    >>> table.find(np.array([5, 7]), np.array([7, 5])).tolist()
    [3, -1]
    """

    def __init__(self, lefts, rights, numbers, default):
        codes = _encode_pairs(lefts, rights)
        order = np.argsort(codes)
        # An entry after all others, where every search ends at the latest.
        self._codes = np.append(codes[order], np.iinfo(np.int64).max)
        self._numbers = np.append(numbers[order], default).astype(np.int32)

    def find(self, lefts, rights):
        """Returns the numbers of pairs, an array of the shape of both sides."""
        codes = _encode_pairs(lefts, rights)
        places = np.searchsorted(self._codes, codes)
        is_known = self._codes[places] == codes
        return np.where(is_known, self._numbers[places], self._numbers[-1])


def _encode_pairs(lefts, rights):
    return np.asarray(lefts, np.int64) << 32 | rights
