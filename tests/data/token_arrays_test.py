import os

import numpy as np
import pytest

from keras_transformer.data.token_arrays import TokenArray
from keras_transformer.data.token_arrays import TokenArrayWriter


def write(path, sequences, vocab_size=100):
    with TokenArrayWriter(str(path), vocab_size) as writer:
        for sequence in sequences:
            writer.append(sequence)
    return TokenArray(str(path))


def random_sequences(vocab_size, seed=0):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 9, 50)
    return [generator.integers(0, vocab_size, n).tolist() for n in lengths]


class TokenArrayTest:
    @pytest.mark.parametrize("vocab_size", [100, 1 << 16, 100_000])
    def test_what_is_written_is_read(self, tmp_path, vocab_size):
        sequences = random_sequences(vocab_size) + [[vocab_size - 1]]
        tokens = write(tmp_path / "a", sequences, vocab_size)
        assert len(tokens) == len(sequences)
        assert [ids.tolist() for ids in tokens] == sequences
        assert tokens.lengths.tolist() == [len(s) for s in sequences]
        assert tokens[-1].tolist() == sequences[-1]
        assert tokens[0].dtype == np.int32

    @pytest.mark.parametrize(
        "vocab_size,num_bytes", [(1 << 16, 2), ((1 << 16) + 1, 4)]
    )
    def test_ids_take_two_bytes_where_possible(
        self, tmp_path, vocab_size, num_bytes
    ):
        write(tmp_path / "a", [[1, 2, 3]], vocab_size)
        assert os.path.getsize(tmp_path / "a.ids") == 3 * num_bytes

    def test_an_index_outside_is_an_error(self, tmp_path):
        tokens = write(tmp_path / "a", [[1], [2]])
        with pytest.raises(IndexError):
            tokens[2]

    def test_padded_agrees_with_a_loop(self, tmp_path):
        sequences = random_sequences(100)
        tokens = write(tmp_path / "a", sequences)
        indices = np.array([3, -1, 49, 0, 3])
        expected = np.zeros((5, 10), np.int32)
        for row, index in enumerate(indices):
            if index >= 0:
                expected[row, : len(sequences[index])] = sequences[index]
        padded = tokens.padded(indices, 10)
        np.testing.assert_array_equal(padded, expected)
        assert padded.dtype == np.int32

    def test_several_sequences_of_a_row_follow_one_another(self, tmp_path):
        sequences = random_sequences(100)
        tokens = write(tmp_path / "a", sequences)
        indices = np.array([[3, 0, 49], [7, -1, -1], [-1, -1, -1], [1, 3, -1]])
        padded = tokens.padded(indices, 30)
        assert padded.shape == (4, 30)
        for row, numbers in zip(padded.tolist(), indices):
            joined = sum([sequences[n] for n in numbers if n >= 0], [])
            assert row == joined + [0] * (30 - len(joined))

    def test_a_row_longer_than_the_array_is_an_error(self, tmp_path):
        tokens = write(tmp_path / "a", [[5, 6], [7]])
        for indices in ([1, 0], [[0, 1]]):
            with pytest.raises(ValueError):
                tokens.padded(indices, 2 if np.ndim(indices) > 1 else 1)

    def test_no_rows_are_an_empty_array(self, tmp_path):
        tokens = write(tmp_path / "a", [[5, 6], [7]])
        assert tokens.padded(np.zeros(0, int), 4).shape == (0, 4)

    def test_rows_exactly_as_long_as_the_array_fit(self, tmp_path):
        tokens = write(tmp_path / "a", [[5, 6], [7]])
        assert tokens.padded([0, 1], 2).tolist() == [[5, 6], [7, 0]]

    def test_a_shortened_file_is_an_error(self, tmp_path):
        write(tmp_path / "a", [[1, 2, 3]])
        os.truncate(tmp_path / "a.ids", 5)
        with pytest.raises(ValueError, match="5 bytes for 3 ids.*kt-datagen"):
            TokenArray(str(tmp_path / "a"))

    def test_the_writer_counts_tokens(self, tmp_path):
        with TokenArrayWriter(str(tmp_path / "a"), 100) as writer:
            writer.append([1, 2])
            writer.append([3])
            assert writer.num_tokens == 3
