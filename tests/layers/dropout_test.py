import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.layers import Dropout
from keras_transformer.layers import dropout_noise
from keras_transformer.layers.dropout import derive_seeds

RATE = 0.3
SEEDS = np.random.default_rng(0).integers(-(2**31), 2**31, 64).astype("int32")


def dropped(x, seeds, rate=RATE, calls=1):
    """Returns the outputs of one layer, called several times in a context."""
    layer = Dropout(rate)
    with dropout_noise(seeds):
        outputs = [layer(x, training=True) for _ in range(calls)]
    return [ops.convert_to_numpy(output) for output in outputs]


def kept_cells(seeds, shape=(64, 24, 32), calls=1):
    return [
        y != 0 for y in dropped(np.ones(shape, "float32"), seeds, calls=calls)
    ]


def largest_correlation(rows):
    correlations = np.corrcoef(rows.reshape(len(rows), -1).astype("float64"))
    return np.abs(correlations[np.triu_indices(len(rows), 1)]).max()


class DropoutTest:
    @pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
    def test_drops_the_rate_and_scales_up_the_rest(self, rate):
        (y,) = dropped(np.ones((64, 24, 32), "float32"), SEEDS, rate)
        assert set(np.unique(y)) == {0, np.float32(1 / (1 - rate))}
        deviation = np.sqrt(rate * (1 - rate) / y.size)
        assert abs((y == 0).mean() - rate) < 4 * deviation

    def test_a_row_drops_the_same_cells_in_any_batch(self):
        (whole,) = kept_cells(SEEDS)
        (part,) = kept_cells(SEEDS[40:50], (10, 24, 32))
        np.testing.assert_array_equal(part, whole[40:50])

    def test_a_longer_row_begins_with_the_same_cells(self):
        (short,) = kept_cells(SEEDS, (64, 10, 32))
        (long,) = kept_cells(SEEDS)
        np.testing.assert_array_equal(short, long[:, :10])

    def test_gradient_passes_where_the_cell_was_kept(self):
        if keras.backend.backend() != "tensorflow":
            pytest.skip("uses TensorFlow's tape")
        import tensorflow as tf

        x = tf.Variable(np.ones((64, 3, 4), "float32"))
        with tf.GradientTape() as tape, dropout_noise(SEEDS):
            y = Dropout(RATE)(x, training=True)
        np.testing.assert_array_equal(tape.gradient(y, x), y)

    def test_no_training_or_no_rate_changes_nothing(self):
        x = np.ones((64, 3, 4), "float32")
        with dropout_noise(SEEDS):
            for y in (Dropout(RATE)(x, training=False), Dropout(0.0)(x)):
                np.testing.assert_array_equal(y, x)

    def test_without_noise_it_is_keras_own(self):
        x = np.ones((64, 24, 32), "float32")
        ours, theirs = Dropout(RATE, seed=3), keras.layers.Dropout(RATE, seed=3)
        np.testing.assert_array_equal(
            ours(x, training=True), theirs(x, training=True)
        )

    def test_a_noise_shape_is_keras_own(self):
        x = np.ones((64, 5, 8), "float32")
        with dropout_noise(SEEDS):
            y = Dropout(RATE, noise_shape=(None, 1, 8))(x, training=True)
        kept = ops.convert_to_numpy(y) != 0
        assert np.all(kept == kept[:, :1]) and 0 < kept.mean() < 1

    def test_a_rate_of_1_drops_everything(self):
        (y,) = dropped(np.ones((64, 3, 4), "float32"), SEEDS, 1.0)
        np.testing.assert_array_equal(y, np.zeros_like(y))

    def test_a_rate_just_below_1_drops_nearly_everything(self):
        (y,) = dropped(np.ones((64, 8), "float32"), SEEDS, 1 - 1e-12)
        assert np.count_nonzero(y) == 0

    def test_an_input_without_features_keeps_its_shape(self):
        (y,) = dropped(np.ones(64, "float32"), SEEDS)
        assert y.shape == (64,) and 0 < (y == 0).mean() < 1

    def test_low_precision_drops_the_same_cells(self):
        (full,) = kept_cells(SEEDS)
        layer = Dropout(RATE, dtype="mixed_bfloat16")
        with dropout_noise(SEEDS):
            y = layer(ops.ones(full.shape, "bfloat16"), training=True)
        assert y.dtype == "bfloat16"
        np.testing.assert_array_equal(ops.convert_to_numpy(y) != 0, full)


class NoiseTest:
    # 64 rows of 768 cells have 2,016 correlations of deviation 1 / sqrt(768).
    LIMIT = 5 / np.sqrt(768)

    def test_rows_are_independent(self):
        (kept,) = kept_cells(SEEDS)
        assert largest_correlation(kept) < self.LIMIT

    def test_neighbouring_seeds_are_independent(self):
        (kept,) = kept_cells(np.arange(64, dtype="int32"))
        assert largest_correlation(kept) < self.LIMIT

    def test_positions_and_features_are_independent(self):
        (kept,) = kept_cells(SEEDS, (64, 24, 32))
        for axis, cells in ((1, 64 * 32), (2, 64 * 24)):
            rows = np.moveaxis(kept, axis, 0)
            assert largest_correlation(rows) < 5 / np.sqrt(cells)

    def test_calls_are_independent(self):
        kept = np.stack(kept_cells(SEEDS, calls=64))
        assert largest_correlation(kept) < 5 / np.sqrt(kept[0].size)
        assert largest_correlation(kept[:, 0]) < self.LIMIT

    def test_same_cells_for_different_seeds_are_independent(self):
        seeds = (
            np.random.default_rng(1).integers(0, 2**31, 4096).astype("int32")
        )
        (kept,) = kept_cells(seeds, (4096, 6, 8))
        cells = kept.reshape(4096, -1).T
        assert largest_correlation(cells) < 5 / np.sqrt(4096)
        means = cells.mean(axis=1)
        assert np.abs(means - (1 - RATE)).max() < 5 * np.sqrt(0.21 / 4096)

    def test_noise_of_further_seeds_is_independent(self):
        seeds = [SEEDS, derive_seeds(SEEDS, 1), derive_seeds(SEEDS, 2)]
        kept = np.stack([kept_cells(s, calls=3) for s in seeds])
        kept = kept.reshape(9, *kept.shape[2:])
        assert largest_correlation(kept) < 5 / np.sqrt(kept[0].size)
        # The same row in all calls with all seeds.
        assert largest_correlation(kept[:, 0]) < self.LIMIT
