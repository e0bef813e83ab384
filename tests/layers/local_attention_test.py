import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import check_mixed_precision
from layer_checks import gradient
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import to_numpy

from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers.dropout import dropout_noise
from keras_transformer.masks import causal_mask

TENSORFLOW = keras.backend.backend() == "tensorflow"
X = random_array(2, 5, 8)
MEMORY = random_array(2, 7, 8, seed=1)
LENGTH = 100  # four blocks of the least length, the last one not full
LONG = random_array(3, LENGTH, 8)
REAL = np.arange(LENGTH) < np.array([[100], [71], [1]])
SEGMENTS = np.cumsum(np.arange(LENGTH) % 23 == 22)[None].repeat(3, axis=0)


def make(size, **options):
    options = {"d_model": 8, "num_heads": 2, **options}
    layer = MultiHeadAttention(neighbourhood_size=size, **options)
    layer.build((None, None, 8))
    randomize(layer)
    return layer


def weights_of(layer, *inputs, **options):
    return to_numpy(layer(*inputs, return_weights=True, **options)[1])


class NeighbourhoodTest:
    @pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
    def test_weights_outside_are_exactly_zero(self, size):
        weights = weights_of(make(size), X)
        for i in range(5):
            for j in range(5):
                is_near = -(size // 2) <= j - i <= (size - 1) // 2
                assert np.all((weights[:, :, i, j] > 0) == is_near)

    @pytest.mark.parametrize("size", [1, 4, 7])
    def test_equals_attention_to_each_window_alone(self, size):
        layer = make(size)
        output = to_numpy(layer(X))
        for i in range(5):
            first = i - size // 2
            window = X[:, max(0, first) : first + size]
            expected = to_numpy(layer(X[:, i : i + 1], window))
            np.testing.assert_allclose(
                output[:, i : i + 1], expected, atol=1e-5
            )

    def test_a_neighbourhood_of_everything_changes_nothing(self):
        np.testing.assert_allclose(
            to_numpy(make(10)(X)), to_numpy(make(0)(X)), atol=1e-6
        )

    def test_an_attention_mask_still_holds(self):
        weights = weights_of(make(3), X, attention_mask=causal_mask(5))
        band = np.tri(5) - np.tri(5, k=-2)
        np.testing.assert_array_equal(
            weights > 0, np.broadcast_to(band > 0, weights.shape)
        )
        np.testing.assert_allclose(
            to_numpy(make(3)(X, attention_mask=causal_mask(5))),
            to_numpy(make(3)(X, causal=True)),
            atol=1e-6,
        )

    def test_attention_to_memory_is_not_restricted(self):
        assert np.all(weights_of(make(1), X, MEMORY) > 0)

    def test_a_negative_size_is_an_error(self):
        with pytest.raises(ValueError, match="neighbourhood_size=-1"):
            make(-1)


class BlocksTest:
    """Compares with the masked attention of all pairs of positions."""

    @pytest.mark.parametrize("size", [1, 64, 91])
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize(
        "masks", [{}, {"padding_mask": REAL, "segments": SEGMENTS}]
    )
    def test_output_and_gradient_equal_the_masked_ones(
        self, size, causal, masks
    ):
        layer = make(size, d_k=3, d_v=5)
        used = masks.get("padding_mask", np.ones_like(REAL))
        check_same(layer, LONG, used, {"causal": causal, **masks})

    @pytest.mark.parametrize("name", ["padding_mask", "segments"])
    def test_a_mask_may_have_one_value_for_all_positions(self, name):
        used = np.ones_like(REAL)
        check_same(make(40), LONG, used, {name: used[:, :1]})

    @pytest.mark.parametrize("length", [1, 31, 32, 65])
    def test_any_length_will_do(self, length):
        used = np.ones((3, length), bool)
        check_same(make(40), LONG[:, :length], used, {})

    @pytest.mark.skipif(not TENSORFLOW, reason="Shapes of JAX are known.")
    @pytest.mark.parametrize("options", [{}, {"max_relative_position": 2}])
    def test_a_graph_of_any_length_takes_no_positions(self, options):
        import tensorflow as tf

        layer = make(40, **options)
        spec = tf.TensorSpec((1, None, 8))
        attend = tf.function(layer, input_signature=[spec])
        assert attend(LONG[:1, :0]).shape == (1, 0, 8)
        np.testing.assert_allclose(attend(LONG[:1]), layer(LONG[:1]), atol=1e-6)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_mixed_precision(self, precision):
        def make_mixed(**options):
            return make(5, **options)

        check_mixed_precision(make_mixed, precision, LONG)

    def test_hidden_positions_change_no_bit(self):
        layer = make(64)
        changed = np.where(REAL[..., None], LONG, 100 * LONG[::-1] - 50)
        outputs = [
            to_numpy(layer(x, padding_mask=REAL))[REAL] for x in (LONG, changed)
        ]
        np.testing.assert_array_equal(*outputs)

    def test_a_sequence_of_nothing_but_padding_stays_finite(self):
        output = make(64)(LONG, padding_mask=np.zeros_like(REAL))
        assert np.all(np.isfinite(to_numpy(output)))

    def test_dropout_drops_its_share_of_the_weights_in_training(self):
        layer = make(9, attention_dropout=0.5)
        still = to_numpy(layer(LONG))
        np.testing.assert_allclose(still, to_numpy(make(9)(LONG)), atol=1e-6)
        outputs = []
        for rows in (slice(0, 3), slice(1, 3)):
            with dropout_noise(np.arange(3, dtype="int32")[rows]):
                outputs.append(to_numpy(layer(LONG[rows], training=True)))
        assert np.abs(outputs[0] - still).max() > 1e-3
        # Noise belongs to the row, whichever rows share its batch.
        np.testing.assert_allclose(outputs[0][1:], outputs[1], atol=1e-6)

    def test_the_mean_over_dropouts_is_the_output_without(self):
        layer = make(9, attention_dropout=0.2)
        repeated = np.repeat(LONG[:1], 400, axis=0)
        with dropout_noise(np.arange(400, dtype="int32")):
            mean = to_numpy(layer(repeated, training=True)).mean(axis=0)
        np.testing.assert_allclose(mean, to_numpy(layer(LONG[:1]))[0], atol=0.5)

    @pytest.mark.skipif(not TENSORFLOW, reason="tf.function")
    @pytest.mark.parametrize(
        "xla", [False, pytest.param(True, marks=pytest.mark.slow)]
    )
    def test_lengths_may_be_open_in_a_compiled_function(self, xla):
        import tensorflow as tf

        layer = make(40)

        @tf.function(
            input_signature=[
                tf.TensorSpec([None, None, 8]),
                tf.TensorSpec([None, None], tf.bool),
            ],
            jit_compile=xla,
        )
        def compiled(x, real):
            return layer(x, padding_mask=real)

        for length in (3, 40, 100):
            x, real = LONG[:, :length], REAL[:, :length]
            np.testing.assert_allclose(
                to_numpy(compiled(x, real))[real],
                to_numpy(layer(x, padding_mask=real))[real],
                atol=1e-5,
            )

    @pytest.mark.skipif(TENSORFLOW, reason="jax.jit")
    def test_runs_under_jit(self):
        import jax

        layer = make(40)
        np.testing.assert_allclose(
            to_numpy(jax.jit(layer)(LONG)), to_numpy(layer(LONG)), atol=1e-5
        )


class MemoryTest:
    @pytest.mark.parametrize(
        "causal", [pytest.param(False, marks=pytest.mark.slow), True]
    )
    def test_the_largest_tensor_grows_with_the_length_alone(self, causal):
        def largest(size, length):
            layer = make(size)

            def loss(x, real):
                output = layer(x, padding_mask=real, causal=causal)
                return ops.sum(ops.square(output))

            return max(tensor_sizes(loss, length))

        assert largest(64, 2048) == 2 * largest(64, 1024)
        assert largest(0, 2048) == 4 * largest(0, 1024)


def check_same(layer, x, used, options):
    """Compares output and gradient where positions are used."""
    weight = random_array(*x.shape, seed=1) * used[..., None]

    def blocks(x):
        return layer(x, **options)

    def masked(x):
        return layer(x, **options, return_weights=True)[0]

    np.testing.assert_allclose(
        to_numpy(blocks(x))[used], to_numpy(masked(x))[used], atol=1e-5
    )
    slopes = [
        gradient(lambda x, f=f: ops.sum(f(x) * weight), x)
        for f in (blocks, masked)
    ]
    np.testing.assert_allclose(*slopes, atol=1e-5)


def tensor_sizes(loss, length):
    """Yields the number of elements of every tensor of a gradient."""
    x, real = np.ones((1, length, 8), "float32"), np.ones((1, length), bool)
    if not TENSORFLOW:
        import jax

        jaxpr = jax.make_jaxpr(jax.grad(loss))(x, real)
        yield from (
            variable.aval.size
            for equation in jaxpr.eqns
            for variable in equation.outvars
        )
        return
    import tensorflow as tf

    @tf.function
    def slopes(x, real):
        return tf.gradients(loss(x, real), x)

    graph = slopes.get_concrete_function(tf.constant(x), real).graph
    for operation in graph.get_operations():
        for output in operation.outputs:
            yield output.shape.num_elements() or 0
