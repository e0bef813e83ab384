"""Tests of the embeddings for a new vocabulary."""

import numpy as np
import pytest

from keras_transformer.data.subwords import train_subwords
from keras_transformer.runs.new_vocabulary import carry_over
from keras_transformer.runs.new_vocabulary import num_shared_pieces

TEXT = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog"]


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory):
    directory = tmp_path_factory.mktemp("vocabularies")
    texts = {"earlier": TEXT, "new": [TEXT[0], "a naïve caté", "ñandú"]}
    return {
        name: train_subwords(text, 290, str(directory / name))
        for name, text in texts.items()
    }


def rows(vocabulary, seed=0):
    generator = np.random.default_rng(seed)
    return generator.normal(size=(vocabulary.vocab_size, 4))


class CarryOverTest:
    def test_same_vocabulary_changes_nothing(self, vocabularies):
        earlier = vocabularies["earlier"]
        embeddings = rows(earlier)
        np.testing.assert_array_equal(
            carry_over(embeddings, earlier, earlier), embeddings
        )

    @pytest.mark.parametrize("reverse", [False, True])
    def test_every_piece_keeps_its_row_or_is_a_mean_of_its_parts(
        self, vocabularies, reverse
    ):
        earlier, new = list(vocabularies.values())[:: -1 if reverse else 1]
        embeddings = rows(earlier)
        carried = carry_over(embeddings, earlier, new)
        assert carried.shape == (new.vocab_size, 4)
        of_piece = dict(zip(earlier.all_pieces(), embeddings))
        shared = 0
        for piece, row in zip(new.all_pieces(), carried):
            if piece in of_piece:
                shared += 1
                np.testing.assert_array_equal(row, of_piece[piece])
            else:
                assert is_mean_of_parts(row, piece, of_piece)
        assert shared == num_shared_pieces(earlier, new) > 260
        assert shared < new.vocab_size

    def test_new_characters_are_spelled_in_bytes(self, vocabularies):
        earlier, new = vocabularies.values()
        embeddings = rows(earlier)
        carried = carry_over(embeddings, earlier, new)
        pieces = new.all_pieces()
        names = earlier.all_pieces()
        assert "ñ" not in names
        of_bytes = [
            embeddings[names.index(f"<0x{b:02X}>")] for b in b"\xc3\xb1"
        ]
        np.testing.assert_allclose(
            carried[pieces.index("ñ")], np.mean(of_bytes, axis=0)
        )


def is_mean_of_parts(row, piece, of_piece):
    """Whether some way to spell a piece has this mean, by enumeration."""
    return any(
        np.allclose(row, np.mean([of_piece[part] for part in parts], axis=0))
        for parts in spellings(piece, of_piece)
    )


def spellings(piece, of_piece):
    if not piece:
        yield []
    for size in range(1, len(piece) + 1):
        parts = None
        if piece[:size] in of_piece:
            parts = [piece[:size]]
        elif size == 1:
            parts = [f"<0x{byte:02X}>" for byte in piece[0].encode()]
        if parts:
            for rest in spellings(piece[size:], of_piece):
                yield parts + rest
