import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.data.generation.token_arrays import TokenArray
from keras_transformer.data.generation.token_arrays import TokenArrayWriter
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.data.generation.token_arrays import join_sequences


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
    @given(st.data())
    def test_what_is_written_is_read(self, tmp_path_factory, vocab_size, data):
        ids = st.integers(0, vocab_size - 1)
        sequences = data.draw(st.lists(st.lists(ids, min_size=1), min_size=1))
        path = tmp_path_factory.mktemp("ids") / "a"
        tokens = write(path, sequences, vocab_size)
        assert len(tokens) == len(sequences)
        assert [ids.tolist() for ids in tokens] == sequences
        assert tokens.lengths.tolist() == [len(s) for s in sequences]
        assert tokens[-1].tolist() == sequences[-1]
        assert tokens[0].dtype == np.int32

    @pytest.mark.parametrize("vocab_size", [100, 100_000])
    def test_extending_is_appending_one_by_one(self, tmp_path, vocab_size):
        sequences = random_sequences(vocab_size)
        appended = write(tmp_path / "a", sequences, vocab_size)
        with TokenArrayWriter(str(tmp_path / "b"), vocab_size) as writer:
            for part in ([], sequences[:20], sequences[20:], []):
                ids = np.array([i for ids in part for i in ids], np.int32)
                offsets = np.cumsum([0, *map(len, part)])
                writer.extend(TokenSequences(ids, offsets))
        extended = TokenArray(str(tmp_path / "b"))
        assert writer.num_tokens == sum(appended.lengths)
        np.testing.assert_array_equal(extended.ids, appended.ids)
        np.testing.assert_array_equal(extended.offsets, appended.offsets)

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
        padded = tokens.pad(indices, 10)
        np.testing.assert_array_equal(padded, expected)
        assert padded.dtype == np.int32

    def test_several_sequences_of_a_row_follow_one_another(self, tmp_path):
        sequences = random_sequences(100)
        tokens = write(tmp_path / "a", sequences)
        indices = np.array([[3, 0, 49], [7, -1, -1], [-1, -1, -1], [1, 3, -1]])
        padded = tokens.pad(indices, 30)
        assert padded.shape == (4, 30)
        for row, numbers in zip(padded.tolist(), indices):
            joined = sum([sequences[n] for n in numbers if n >= 0], [])
            assert row == joined + [0] * (30 - len(joined))

    @pytest.mark.parametrize("vocab_size", [100, 100_000])
    def test_joined_arrays_read_as_one_list(self, tmp_path, vocab_size):
        lists = [random_sequences(vocab_size, seed) for seed in (0, 1)]
        parts = [
            write(tmp_path / name, sequences, vocab_size)
            for name, sequences in zip("ab", lists)
        ]
        both = join_sequences(parts)
        expected = write(tmp_path / "c", lists[0] + lists[1], vocab_size)
        assert [ids.tolist() for ids in both] == lists[0] + lists[1]
        assert both.lengths.tolist() == expected.lengths.tolist()
        # Rows of one sequence, and rows with sequences of either part.
        for indices in ([3, 99, -1, 50, 49], [[3, 99, 0], [50, 2, -1]]):
            padded = both.pad(indices, 30)
            np.testing.assert_array_equal(padded, expected.pad(indices, 30))
            assert padded.dtype == np.int32
        assert join_sequences(parts[:1]) is parts[0]

    def test_a_row_longer_than_the_array_is_an_error(self, tmp_path):
        tokens = write(tmp_path / "a", [[5, 6], [7]])
        for indices in ([1, 0], [[0, 1]]):
            with pytest.raises(ValueError):
                tokens.pad(indices, 2 if np.ndim(indices) > 1 else 1)

    def test_no_rows_are_an_empty_array(self, tmp_path):
        tokens = write(tmp_path / "a", [[5, 6], [7]])
        assert tokens.pad(np.zeros(0, int), 4).shape == (0, 4)

    def test_rows_exactly_as_long_as_the_array_fit(self, tmp_path):
        tokens = write(tmp_path / "a", [[5, 6], [7]])
        assert tokens.pad([0, 1], 2).tolist() == [[5, 6], [7, 0]]

    def test_a_shortened_file_is_an_error(self, tmp_path):
        write(tmp_path / "a", [[1, 2, 3]])
        os.truncate(tmp_path / "a.ids", 5)
        with pytest.raises(
            ValueError, match="5 bytes for 3 ids.*kt-datagen again"
        ):
            TokenArray(str(tmp_path / "a"))

    def test_the_writer_counts_tokens(self, tmp_path):
        with TokenArrayWriter(str(tmp_path / "a"), 100) as writer:
            writer.append([1, 2])
            writer.append([3])
            assert writer.num_tokens == 3


class FaultyFileTest:
    @pytest.mark.parametrize(
        "offsets, words",
        [
            ([0, 2, 1, 3], "do not ascend"),
            ([1, 2, 3], "do not ascend"),
            ([-3, 3], "do not ascend"),
            ([0, 2**63 - 1, -(2**63), 3], "do not ascend"),
            ([0], "for 0 ids"),
            ([0, 4], "6 bytes for 4 ids"),
            ([], "shape (0,)"),
            ([[0, 3]], "shape (1, 2)"),
            (np.array([0.0, 3.0]), "float64 numbers"),
            (np.array([0, 3], "int32"), "int32 numbers"),
            (np.array([0, 3], object), "not an array of numbers"),
        ],
    )
    def test_other_offsets_are_refused(self, tmp_path, offsets, words):
        write(tmp_path / "a", [[5, 6, 1]])
        np.save(tmp_path / "a.offsets.npy", offsets)
        with pytest.raises(ValueError, match="Cannot use ") as caught:
            TokenArray(str(tmp_path / "a"))
        assert words in str(caught.value)

    @pytest.mark.parametrize("size", [0, 1, 9, 60, 130])
    def test_truncated_offsets_are_refused(self, tmp_path, size):
        write(tmp_path / "a", [[5, 6, 1]])
        os.truncate(tmp_path / "a.offsets.npy", size)
        with pytest.raises(ValueError, match="a.offsets.npy.*kt-datagen again"):
            TokenArray(str(tmp_path / "a"))

    @pytest.mark.parametrize("name", ["a.offsets.npy", "a.ids"])
    def test_a_pipe_is_refused_unopened(self, tmp_path, name):
        write(tmp_path / "a", [[5, 6, 1]])
        os.remove(tmp_path / name)
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match="which is not a file"):
            TokenArray(str(tmp_path / "a"))

    @pytest.mark.parametrize(
        "sequences, words",
        [
            ([[5, 1]], "1 sentences instead of 2"),
            ([[5, 1], [5]], "does not end with the id 1"),
            ([[5, 1], []], "does not end with the id 1"),
            ([[5, 1], [0, 1]], "not from 1 to 99"),
            ([[5, 1], [100, 1]], "not from 1 to 99"),
            ([[5, 1], [65535, 1]], "not from 1 to 99"),
        ],
    )
    def test_check_refuses_other_sentences(self, tmp_path, sequences, words):
        tokens = write(tmp_path / "a", sequences)
        with pytest.raises(ValueError, match=words):
            tokens.check(2, vocab_size=100)

    def test_negative_id_is_refused(self, tmp_path):
        tokens = write(tmp_path / "a", [[-5, 1], [6, 1]], vocab_size=100_000)
        with pytest.raises(ValueError, match="not from 1 to 99,999"):
            tokens.check(2, vocab_size=100_000)

    def test_check_accepts_encoded_sentences(self, tmp_path):
        write(tmp_path / "a", [[99, 1], [1]]).check(2, vocab_size=100)
