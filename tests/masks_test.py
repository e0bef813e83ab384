"""The masks against brute force."""

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import ops
from layer_checks import to_numpy

from keras_transformer.masks import ancestor_mask
from keras_transformer.masks import average_tokens
from keras_transformer.masks import causal_mask
from keras_transformer.masks import combine_masks
from keras_transformer.masks import neighbourhood_mask
from keras_transformer.masks import padding_mask
from keras_transformer.masks import segment_numbers
from keras_transformer.masks import segment_positions
from keras_transformer.masks import self_attention_mask
from keras_transformer.masks import visible_mask


class MasksTest:
    def test_padding_mask_is_true_for_real_tokens(self):
        mask = to_numpy(padding_mask(np.array([[5, 1, 0], [0, 0, 0]])))
        assert mask.dtype == bool
        assert mask.tolist() == [[True, True, False], [False] * 3]

    def test_an_average_is_that_of_the_real_tokens(self):
        x = np.random.default_rng(0).normal(size=(4, 3, 2)).astype("float32")
        lengths = [3, 2, 1, 0]
        mask = np.arange(3) < np.array(lengths)[:, None]
        averages = to_numpy(average_tokens(x, mask))
        for row, length in enumerate(lengths[:3]):
            expected = x[row, :length].mean(axis=0)
            np.testing.assert_allclose(averages[row], expected, rtol=1e-5)
        assert averages[3].tolist() == [0, 0]

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    @pytest.mark.parametrize("value", [3.0, 20.0])
    def test_an_average_of_many_tokens_is_exact(self, value, dtype):
        x = ops.full((1, 4096, 2), value, dtype)
        averages = average_tokens(x, np.ones((1, 4096), bool))
        assert keras.backend.standardize_dtype(averages.dtype) == dtype
        assert to_numpy(averages).tolist() == [[value, value]]

    def test_causal_mask_is_the_lower_triangle(self):
        mask = to_numpy(causal_mask(4))
        assert mask.dtype == bool
        np.testing.assert_array_equal(mask, [np.tri(4, dtype=bool)])

    @pytest.mark.parametrize("width", [None, 4])
    def test_the_length_of_a_symbolic_input_is_its_own(self, width, tmp_path):
        shape = (None,) if width is None else (None, width)
        inputs = keras.Input(shape)
        outputs = [causal_mask(inputs), neighbourhood_mask(inputs, 3)]
        path = tmp_path / "model.keras"
        keras.Model(inputs, outputs).save(path)
        model = keras.saving.load_model(path)
        x = np.ones((2, 3) if width is None else (2, 3, width))
        for mask, expected in zip(
            model(x), [causal_mask(3), neighbourhood_mask(3, 3)], strict=True
        ):
            np.testing.assert_array_equal(to_numpy(mask), to_numpy(expected))

    def test_an_unknown_length_is_an_error_with_the_way_out(self):
        with pytest.raises(ValueError, match="pass the `keras.Input` itself"):
            causal_mask(None)

    @pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 14])
    def test_a_neighbourhood_is_centred_and_has_its_size(self, size):
        mask = to_numpy(neighbourhood_mask(20, size))
        for i in range(20):
            first = i - size // 2
            expected = set(range(first, first + size)) & set(range(20))
            assert set(np.flatnonzero(mask[0, i])) == expected

    def test_combined_masks_allow_what_all_allow(self):
        padding = np.array([[[True, True, False]]])
        combined = to_numpy(combine_masks(None, padding, causal_mask(3)))
        expected = [[[1, 0, 0], [1, 1, 0], [1, 1, 0]]]
        np.testing.assert_array_equal(combined, np.array(expected, bool))

    def test_no_mask_at_all_stays_none(self):
        assert combine_masks(None, None) is None

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=8))
    def test_positions_count_from_each_end_of_a_segment(self, ids):
        segments = segment_numbers(np.array([ids]))
        ends = np.cumsum(np.equal(ids, 1))
        assert to_numpy(segments).tolist() == [[0, *ends[:-1]]]
        positions = []
        for place in range(len(ids)):
            starts_anew = not place or ids[place - 1] == 1
            positions.append(0 if starts_anew else positions[-1] + 1)
        assert to_numpy(segment_positions(segments)).tolist() == [positions]

    def test_segments_end_with_the_end_id(self):
        ids = np.array([[7, 1, 8, 9, 1, 1, 0, 0]])
        segments = to_numpy(segment_numbers(ids))
        np.testing.assert_array_equal(segments, [[0, 0, 1, 1, 1, 2, 3, 3]])
        positions = to_numpy(segment_positions(segments))
        np.testing.assert_array_equal(positions, [[0, 1, 0, 1, 2, 0, 0, 1]])

    def test_visible_are_real_keys_of_the_same_segment(self):
        real = np.array([[True, True, True, False]])
        queries, keys = np.array([[0, 1, 1]]), np.array([[0, 1, 2, 1]])
        mask = to_numpy(visible_mask(real, queries, keys))
        expected = [[[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]]]
        np.testing.assert_array_equal(mask, np.array(expected, bool))
        assert visible_mask() is None
        assert visible_mask(real).shape == (1, 1, 4)

    def test_segments_of_one_side_alone_are_an_error(self):
        segments = np.array([[0, 1]])
        with pytest.raises(ValueError, match="only segments of the queries"):
            visible_mask(None, segments)
        with pytest.raises(ValueError, match="only segments of the keys"):
            visible_mask(None, None, segments)

    @given(
        st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1),
        st.booleans(),
        st.sampled_from([0, 1, 3, 5]),
    )
    def test_the_mask_of_self_attention_allows_what_all_allow(
        self, tokens, causal, size
    ):
        real, segments = zip(*tokens)
        mask = self_attention_mask(
            len(tokens), np.array([real]), np.array([segments]), causal, size
        )
        expected = [
            [
                real[j]
                and segments[i] == segments[j]
                and (j <= i or not causal)
                and (abs(i - j) <= size // 2 or not size)
                for j in range(len(tokens))
            ]
            for i in range(len(tokens))
        ]
        assert to_numpy(mask).tolist() == [expected]

    def test_nothing_to_exclude_gives_no_mask(self):
        assert self_attention_mask(4) is None

    def test_beams_see_the_slots_of_their_ancestors(self):
        ancestors = np.array([[[0, 1], [0, -1]]])
        mask = to_numpy(ancestor_mask(ancestors, 2))
        expected = [[[1, 0, 0, 1], [1, 0, 0, 0]]]
        np.testing.assert_array_equal(mask, np.array(expected, bool))
