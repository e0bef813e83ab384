"""Embeddings for a new vocabulary, made of those of an earlier one."""

import numpy as np

from keras_transformer.token_ids import UNKNOWN_ID


def carry_over(embeddings, earlier, vocabulary):
    """Computes the embeddings of a vocabulary from those of an earlier one.

    A piece that both vocabularies have keeps its embedding. Any other piece is
    spelled by the longest pieces of the earlier vocabulary, or in bytes, and
    gets the mean of their embeddings.

    Args:
        embeddings: Array of shape `(earlier.vocab_size, d_model)`.
        earlier: `Subwords` that the embeddings belong to.
        vocabulary: The new `Subwords`.

    Returns:
        Array of shape `(vocabulary.vocab_size, d_model)`.
    """
    ids = {piece: id_ for id_, piece in enumerate(earlier.all_pieces())}
    return np.stack(
        [
            embeddings[_spelled(piece, ids)].mean(axis=0)
            for piece in vocabulary.all_pieces()
        ]
    )


def num_shared_pieces(earlier, vocabulary):
    """Returns how many pieces of a vocabulary an earlier one has, too."""
    return len({*earlier.all_pieces()} & {*vocabulary.all_pieces()})


def _spelled(piece, ids):
    """Returns ids of an earlier vocabulary that spell a piece together.

    Example:

    >>> _spelled("abcd", {"a": 3, "abc": 4, "d": 5})
    [4, 5]
    """
    spelling = []
    while piece:
        # A single character that the earlier vocabulary lacks is spelled in
        # bytes.
        size = max(
            (size for size in range(1, len(piece) + 1) if piece[:size] in ids),
            default=0,
        )
        if size:
            spelling.append(ids[piece[:size]])
        else:
            size = 1
            spelling += _bytes_of(piece[0], ids)
        piece = piece[size:]
    return spelling


def _bytes_of(character, ids):
    names = (f"<0x{byte:02X}>" for byte in character.encode("utf-8"))
    # A vocabulary of given symbols has no bytes.
    return [ids.get(name, UNKNOWN_ID) for name in names]
