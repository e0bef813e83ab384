import keras
import numpy as np
import pytest
from layer_checks import PRECISIONS
from layer_checks import attention
from layer_checks import check_config_round_trip
from layer_checks import check_dropout
from layer_checks import check_functional_model
from layer_checks import check_mixed_precision
from layer_checks import multi_head_attention
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import to_numpy
from layer_checks import weights_by_path

from keras_transformer.layers import MultiHeadAttention
from keras_transformer.masks import causal_mask

X = random_array(2, 5, 8)
MEMORY = random_array(2, 7, 8, seed=1)
REAL = np.arange(7) < np.array([[7], [4]])  # the second row ends in padding


def make(**options):
    return MultiHeadAttention(**{"d_model": 8, "num_heads": 2, **options})


def call(layer, *inputs, **options):
    """Returns the output and the weights as arrays."""
    outputs = layer(*inputs, return_weights=True, **options)
    return [to_numpy(x) for x in outputs]


class FormulaTest:
    def test_one_head_without_projections_is_equation_1(self):
        layer = make(num_heads=1)
        layer.build(X.shape)
        layer.set_weights([np.eye(8)] * 4)
        expected = attention(X, MEMORY, MEMORY)
        output = to_numpy(layer(X, MEMORY))
        np.testing.assert_allclose(output, expected, atol=1e-5)

    @pytest.mark.parametrize("attention_bias", [False, True])
    @pytest.mark.parametrize("d_k,d_v", [(None, None), (3, 5), (16, 1)])
    def test_self_attention_equals_numpy(self, d_k, d_v, attention_bias):
        layer = make(d_k=d_k, d_v=d_v, attention_bias=attention_bias)
        layer(X)
        randomize(layer)
        output = to_numpy(layer(X))
        expected = multi_head_attention(weights_by_path(layer), 2, X, X)
        np.testing.assert_allclose(output, expected, atol=1e-5)

    @pytest.mark.parametrize("attention_bias", [False, True])
    @pytest.mark.parametrize("num_heads", [1, 2, 8])
    def test_attention_to_memory_equals_numpy(self, num_heads, attention_bias):
        layer = make(num_heads=num_heads, attention_bias=attention_bias)
        layer(X)
        randomize(layer)
        allowed = REAL[:, None, :]
        output = to_numpy(layer(X, MEMORY, attention_mask=allowed))
        kernels = weights_by_path(layer)
        expected = multi_head_attention(kernels, num_heads, X, MEMORY, allowed)
        np.testing.assert_allclose(output, expected, atol=1e-5)

    def test_the_query_as_memory_is_self_attention(self):
        layer = make()
        np.testing.assert_allclose(
            to_numpy(layer(X)), to_numpy(layer(X, X)), atol=1e-6
        )


class MultiHeadAttentionTest:
    def test_shapes(self):
        output, weights = call(make(d_k=3, d_v=5), X, MEMORY)
        assert output.shape == (2, 5, 8)
        assert weights.shape == (2, 2, 5, 7)

    @pytest.mark.parametrize("d_k,d_v", [(None, None), (3, 5)])
    def test_four_matrices_and_no_bias_by_default(self, d_k, d_v):
        layer = make(d_k=d_k, d_v=d_v)
        layer(X)
        expected = 2 * (8 * 2 * (d_k or 4)) + 2 * (8 * 2 * (d_v or 4))
        assert layer.count_params() == expected
        assert len(layer.weights) == 4

    def test_config_round_trip(self):
        layer = make(
            d_k=3,
            d_v=5,
            attention_dropout=0.2,
            neighbourhood_size=3,
            initializer="tensor2tensor",
            attention_bias=True,
        )
        check_config_round_trip(layer, X)

    @pytest.mark.parametrize("size", [0, 3])
    def test_in_a_functional_model(self, size, tmp_path):
        layer = make(neighbourhood_size=size)
        mask = np.ones((2, 5, 5), bool)
        check_functional_model(layer, tmp_path, X, attention_mask=mask)

    def test_memory_in_a_functional_model(self, tmp_path):
        check_functional_model(make(d_k=3), tmp_path, X, MEMORY)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_mixed_precision(self, precision):
        check_mixed_precision(make, precision, X, MEMORY)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_rows_of_the_softmax_sum_to_one_in_float32(self, precision):
        layer = make(dtype=precision)
        _, weights = layer(X, MEMORY, return_weights=True)
        assert keras.backend.standardize_dtype(weights.dtype) == "float32"
        sums = to_numpy(weights).sum(-1)
        np.testing.assert_allclose(sums, 1.0, atol=1e-6)

    def test_returned_weights_recompute_the_output(self):
        layer = make()
        output, weights = call(layer, X, MEMORY)
        kernels = weights_by_path(layer)
        values = np.split(MEMORY @ kernels["value"], 2, axis=-1)
        heads = [weights[:, i] @ values[i] for i in range(2)]
        expected = np.concatenate(heads, -1) @ kernels["output"]
        np.testing.assert_allclose(output, expected, atol=1e-5)

    def test_dropout_changes_training_only(self):
        check_dropout(make(attention_dropout=0.5), make(), X)

    def test_indivisible_width_is_an_error_that_names_both(self):
        with pytest.raises(ValueError, match="d_model=8, num_heads=3.* as 2"):
            make(num_heads=3)
        assert make(num_heads=3, d_k=2, d_v=2)(X).shape == (2, 5, 8)

    @pytest.mark.parametrize("inputs", [(X[..., :6],), (X, MEMORY[..., :6])])
    def test_another_width_is_an_error_that_names_both(self, inputs):
        with pytest.raises(ValueError, match="width 6, d_model=8"):
            make()(*inputs)

    @pytest.mark.parametrize("num_heads", [0, -3])
    @pytest.mark.parametrize("d_k", [None, 4])
    def test_fewer_heads_than_one_are_an_error(self, num_heads, d_k):
        message = f"`num_heads`.*1 or more.*num_heads={num_heads}. Use"
        with pytest.raises(ValueError, match=message):
            make(num_heads=num_heads, d_k=d_k, d_v=d_k)


class AttentionMaskTest:
    def test_masked_positions_get_weight_exactly_zero(self):
        _, weights = call(make(), X, MEMORY, attention_mask=REAL[:, None, :])
        assert np.all(weights[1, :, :, 4:] == 0.0)
        assert np.all(weights[1, :, :, :4] > 0.0)
        assert np.all(weights[0] > 0.0)

    def test_future_positions_get_zero_weight(self):
        _, weights = call(make(), X, attention_mask=causal_mask(5))
        past = np.broadcast_to(np.tri(5, dtype=bool), weights.shape)
        np.testing.assert_array_equal(weights > 0, past)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_what_the_mask_hides_changes_no_bit(self, precision):
        layer = make(dtype=precision)
        mask = REAL[:, None, :]
        changed = np.where(REAL[..., None], MEMORY, 100 * MEMORY[::-1] - 50)
        before = call(layer, X, MEMORY, attention_mask=mask)
        after = call(layer, X, changed, attention_mask=mask)
        np.testing.assert_array_equal(before[0], after[0])
        np.testing.assert_array_equal(before[1], after[1])
        unmasked = [call(layer, X, memory)[0] for memory in (MEMORY, changed)]
        assert not np.array_equal(*unmasked)

    @pytest.mark.parametrize("precision", ["float32", *PRECISIONS])
    def test_a_row_without_any_position_attends_to_all_equally(self, precision):
        nowhere = np.zeros((2, 1, 7), bool)
        layer = make(dtype=precision)
        output, weights = call(layer, X, MEMORY, attention_mask=nowhere)
        np.testing.assert_allclose(weights, 1 / 7, rtol=1e-6)
        assert np.all(np.isfinite(output))

    def test_a_mask_of_two_axes_is_one_of_query_and_key(self):
        # With as many heads as queries, mixing up the axes raises no error.
        layer = make(num_heads=4)
        x = X[:, :4]
        expected, _ = call(layer, x, attention_mask=causal_mask(4))
        output, _ = call(layer, x, attention_mask=np.tri(4, dtype=bool))
        np.testing.assert_array_equal(output, expected)


class PartsOfTheMaskTest:
    """The parts of a mask do what the whole `attention_mask` does."""

    def test_causal_hides_the_future(self):
        layer = make()
        np.testing.assert_array_equal(
            to_numpy(layer(X, causal=True)),
            to_numpy(layer(X, attention_mask=causal_mask(5))),
        )

    def test_padding_of_the_memory_is_hidden(self):
        layer = make()
        np.testing.assert_array_equal(
            to_numpy(layer(X, MEMORY, padding_mask=REAL)),
            to_numpy(layer(X, MEMORY, attention_mask=REAL[:, None, :])),
        )

    def test_segments_are_apart(self):
        layer = make()
        segments = np.array([[0, 0, 1, 1, 1]] * 2)
        same = segments[:, :, None] == segments[:, None]
        np.testing.assert_array_equal(
            to_numpy(layer(X, segments=segments)),
            to_numpy(layer(X, attention_mask=same)),
        )

    @pytest.mark.parametrize(
        "masks", [{"causal": True}, {"segments": np.zeros((2, 5), "int32")}]
    )
    def test_masks_of_self_attention_refuse_another_length(self, masks):
        message = "are for self-attention.*query of length 5, memory of length"
        with pytest.raises(ValueError, match=message):
            make()(X, MEMORY, **masks)


class CacheTest:
    @pytest.mark.parametrize("growing", [True, False])
    @pytest.mark.parametrize("attention_bias", [False, True])
    def test_steps_equal_causal_self_attention(self, growing, attention_bias):
        layer = make(d_k=3, d_v=5, attention_bias=attention_bias)
        layer.build(X.shape)
        randomize(layer)
        expected = to_numpy(layer(X, attention_mask=causal_mask(5)))
        num_slots = None if growing else 6  # more than the sequence needs
        cache = layer.init_cache(2, num_slots)
        for i in range(5):
            visible = np.arange(i + 1 if growing else 6) <= i
            output, cache = layer.step(
                X[:, i : i + 1], cache, i, visible[None, None]
            )
            np.testing.assert_allclose(
                to_numpy(output)[:, 0], expected[:, i], atol=1e-6
            )
        assert cache[0].entries.shape == (2, 2, 5 if growing else 6, 3)

    @pytest.mark.parametrize("growing", [True, False])
    def test_beams_see_what_is_visible_to_each(self, growing):
        layer = make()
        layer.build(X.shape)
        cache = layer.init_cache(2, None if growing else 10)
        _, cache = layer.step(
            X, cache, 0, np.eye(5, 5 if growing else 10)[None] > 0
        )
        parents = [3, 3, 0, 1, 4]
        visible = np.concatenate([np.eye(5)[parents], np.eye(5)], axis=1) > 0
        output, _ = layer.step(X[::-1], cache, 1, visible[None])
        for beam, parent in enumerate(parents):
            pair = np.stack([X[:, parent], X[::-1, beam]], axis=1)
            expected = layer(pair, attention_mask=causal_mask(2))
            np.testing.assert_allclose(
                to_numpy(output)[:, beam], to_numpy(expected)[:, 1], atol=1e-6
            )

    def test_projected_memory_gives_the_same_output(self):
        layer = make(d_k=3, d_v=5)
        mask = REAL[:, None, :]
        expected = to_numpy(layer(X, MEMORY, attention_mask=mask))
        keys, values = layer.project_memory(MEMORY)
        assert keys.shape == (2, 2, 7, 3)
        assert values.shape == (2, 2, 7, 5)
        output = to_numpy(layer.attend(X, keys, values, mask))
        np.testing.assert_allclose(output, expected, atol=1e-6)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_the_cache_has_the_computing_dtype(self, precision):
        layer = make(dtype=precision)
        layer.build(X.shape)
        dtype = precision.removeprefix("mixed_")
        x = X[:, :1].astype(layer.compute_dtype)
        visible = np.ones((1, 1, 1), bool)
        cache = layer.init_cache(2)
        output, (keys, values) = layer.step(x, cache, 0, visible)
        for tensor in (output, keys.entries, values.entries):
            assert keras.backend.standardize_dtype(tensor.dtype) == dtype
