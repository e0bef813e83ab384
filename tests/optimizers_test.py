"""The optimizers against NumPy and against those of Keras."""

import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import random_array
from layer_checks import to_numpy

from keras_transformer.hparam import HParams
from keras_transformer.layers import SharedEmbedding
from keras_transformer.optimizers import Adafactor
from keras_transformer.optimizers import find_peak
from keras_transformer.optimizers import find_timed_rate
from keras_transformer.optimizers import make_optimizer
from keras_transformer.optimizers import make_schedule
from keras_transformer.runs.model import build_transformer

KERNEL = np.linspace(-1, 2, 12, dtype="float32").reshape(3, 4)
BIAS = np.full(4, 0.5, "float32")
NAMES = ("kernel", "bias")


def make(**changes):
    """Returns an optimizer, and the kernel and bias that it updates."""
    kernel = keras.Variable(KERNEL, name="kernel")
    bias = keras.Variable(BIAS, name="bias")
    optimizer = make_optimizer(HParams(d_model=16, warmup_steps=4, **changes))
    optimizer.build([kernel, bias])
    return optimizer, kernel, bias


def gradients(num_steps, seed=0):
    random = np.random.default_rng(seed)
    return [
        [random.normal(size=shape).astype("float32") for shape in ((3, 4), 4)]
        for _ in range(num_steps)
    ]


def state(optimizer):
    return {
        variable.path.split("/", 1)[1]: to_numpy(variable)
        for variable in optimizer.variables
    }


def rate(step):
    return 16**-0.5 * min(step**-0.5, step * 4**-1.5)


class MakeScheduleTest:
    def test_default_is_the_schedule_of_the_paper(self):
        assert make_schedule(HParams()).peak == (512 * 4000) ** -0.5

    @pytest.mark.parametrize("optimizer", ["adam", "adafactor"])
    @pytest.mark.parametrize("warmup_steps", [10, 4000])
    def test_a_given_peak_is_reached_whatever_the_warm_up(
        self, optimizer, warmup_steps
    ):
        hparams = HParams(
            peak_learning_rate=3e-4,
            warmup_steps=warmup_steps,
            learning_rate=2.0,
            optimizer=optimizer,
        )
        schedule = make_schedule(hparams)
        rates = [
            float(to_numpy(schedule(updates)))
            for updates in (warmup_steps - 1, 4 * warmup_steps - 1)
        ]
        np.testing.assert_allclose(rates, [3e-4, 1.5e-4], rtol=1e-5)

    def test_the_schedule_of_adafactor_ignores_the_width(self):
        assert find_peak(HParams(optimizer="adafactor")) == 4000**-0.5

    @pytest.mark.parametrize("optimizer", ["adam", "adafactor"])
    @pytest.mark.parametrize("first_step", [0, 1])
    def test_a_cosine_falls_from_the_same_peak_to_0(
        self, optimizer, first_step
    ):
        hparams = HParams(warmup_steps=10, decay_steps=110, optimizer=optimizer)
        schedule = make_schedule(hparams, first_step)
        steps = np.arange(first_step, 111 + first_step)
        rates = [float(to_numpy(schedule(step - first_step))) for step in steps]
        length = 100 + first_step
        cosine = (1 + np.cos(np.pi * (steps - 10) / length)) / 2
        expected = find_peak(hparams) * np.where(steps < 10, steps / 10, cosine)
        np.testing.assert_allclose(rates, expected, rtol=1e-4, atol=1e-8)

    @pytest.mark.parametrize("decay_steps", [2, 3, 110])
    @pytest.mark.parametrize("warmup_steps", [1, 100])
    def test_no_update_of_a_cosine_has_the_rate_0(
        self, warmup_steps, decay_steps
    ):
        decay_steps += warmup_steps - 1
        hparams = HParams(warmup_steps=warmup_steps, decay_steps=decay_steps)
        schedule = make_schedule(hparams)
        rates = [float(to_numpy(schedule(n))) for n in range(decay_steps)]
        assert min(rates) > 0
        assert np.argmax(rates) == warmup_steps - 1
        np.testing.assert_allclose(max(rates), find_peak(hparams), rtol=1e-6)


class FindTimedRateTest:
    @pytest.mark.parametrize("step", [1, 3, 12])
    @pytest.mark.parametrize("seconds", [0, 15, 45, 60, 90])
    def test_is_the_lower_of_the_warm_up_and_a_cosine(self, step, seconds):
        hparams = HParams(warmup_steps=10, train_minutes=1.0)
        cosine = (1 + np.cos(np.pi * min(seconds / 60, 1))) / 2
        expected = find_peak(hparams) * min(step / 10, cosine)
        rate = find_timed_rate(hparams, step, seconds)
        np.testing.assert_allclose(rate, expected, atol=1e-12)
        assert rate > 0 or seconds >= 60


class MakeOptimizerTest:
    @pytest.mark.parametrize("name", ["adam", "adamw", "adafactor"])
    def test_loss_of_a_small_problem_falls(self, name):
        optimizer, kernel, bias = make(optimizer=name)
        goals = KERNEL[::-1], -BIAS
        losses = []
        for _ in range(200):
            errors = [
                to_numpy(value) - goal
                for value, goal in zip((kernel, bias), goals)
            ]
            losses.append(sum(np.sum(error**2) for error in errors))
            optimizer.apply(errors)
        assert losses[-1] < 0.1 * losses[0]

    def test_adam_equals_numpy(self):
        optimizer, kernel, _ = make()
        expected = KERNEL.astype("float64")
        first = second = 0
        for step, grads in enumerate(gradients(3), 1):
            optimizer.apply(grads)
            first = 0.9 * first + 0.1 * grads[0]
            second = 0.98 * second + 0.02 * grads[0] ** 2
            first_mean = first / (1 - 0.9**step)
            root = np.sqrt(second / (1 - 0.98**step))
            expected -= rate(step) * first_mean / (root + 1e-9)
            np.testing.assert_allclose(to_numpy(kernel), expected, rtol=1e-4)

    def test_gradient_is_clipped_to_the_norm(self):
        optimizer, _, _ = make(gradient_clip_norm=0.5)
        (grads,) = gradients(1)
        norm = np.sqrt(sum(np.sum(g**2) for g in grads))
        assert norm > 1
        optimizer.apply(grads)
        # The first moment starts at zero and moves by a tenth of the gradient.
        clipped = [10 * state(optimizer)[f"{n}_momentum"] for n in NAMES]
        for moment, gradient in zip(clipped, grads):
            np.testing.assert_allclose(moment, 0.5 / norm * gradient, rtol=1e-4)

    def test_gradient_below_the_norm_stays(self):
        plain, clipped = make()[0], make(gradient_clip_norm=100.0)[0]
        for optimizer in (plain, clipped):
            optimizer.apply(gradients(1)[0])
        for name, value in state(plain).items():
            np.testing.assert_allclose(state(clipped)[name], value, rtol=1e-6)

    def test_average_of_weights_equals_the_recursion(self):
        optimizer, kernel, _ = make(ema_decay=0.8)
        average = None
        for grads in gradients(5):
            optimizer.apply(grads)
            new = to_numpy(kernel)
            average = new if average is None else 0.8 * average + 0.2 * new
        kept = state(optimizer)["kernel_average"]
        np.testing.assert_allclose(kept, average, rtol=1e-5)

    def test_average_of_weights_changes_no_update(self):
        kernels = []
        for decay in (0.0, 0.8):
            optimizer, kernel, _ = make(ema_decay=decay)
            for grads in gradients(3):
                optimizer.apply(grads)
            kernels.append(to_numpy(kernel))
        np.testing.assert_array_equal(*kernels)

    @pytest.mark.parametrize("name", ["adamw", "adafactor"])
    def test_only_matrices_decay(self, name):
        hparams = HParams(
            num_layers=1,
            d_model=8,
            d_ff=16,
            num_heads=2,
            positional_encoding="learned",
            warmup_steps=1,
            optimizer=name,
            weight_decay=0.1,
        )
        weights = build_transformer(
            hparams.model, vocab_size=11
        ).trainable_variables
        for weight in weights:
            weight.assign(np.ones(weight.shape))
        optimizer = make_optimizer(hparams)
        optimizer.build(weights)
        optimizer.apply([np.zeros(w.shape, "float32") for w in weights])
        kept = 1 - 0.1 * make_schedule(hparams).peak
        for weight in weights:
            expected = 1 if len(weight.shape) == 1 else kept
            np.testing.assert_allclose(to_numpy(weight), expected, rtol=1e-6)

    @pytest.mark.parametrize("name", ["adam", "adamw", "adafactor"])
    def test_variables_have_distinct_names_for_a_checkpoint(self, name):
        hparams = HParams(
            num_layers=2, d_model=8, num_heads=2, optimizer=name, ema_decay=0.9
        )
        model = build_transformer(hparams.model, vocab_size=11)
        optimizer = make_optimizer(hparams)
        optimizer.build(model.trainable_variables)
        assert len(state(optimizer)) == len(optimizer.variables)


class AdafactorTest:
    def test_equals_that_of_keras(self):
        shapes = [(3, 4), (5,), (2, 3, 4)]
        random = np.random.default_rng(1)
        starts = [random.normal(size=s).astype("float32") for s in shapes]
        ours, theirs = Adafactor(0.1), keras.optimizers.Adafactor(0.1)
        copies = [[keras.Variable(s) for s in starts] for _ in range(2)]
        for _ in range(4):
            grads = [random.normal(size=s).astype("float32") for s in shapes]
            for optimizer, weights in zip((ours, theirs), copies):
                optimizer.apply(grads, weights)
        for our, their in zip(*copies):
            np.testing.assert_allclose(
                to_numpy(our), to_numpy(their), rtol=1e-4, atol=1e-6
            )

    def test_state_of_a_matrix_is_a_row_and_a_column(self):
        optimizer, _, _ = make(optimizer="adafactor")
        shapes = {name: value.shape for name, value in state(optimizer).items()}
        assert shapes == {
            "iteration": (),
            "kernel_rows": (3,),
            "kernel_columns": (4,),
            "bias_velocity": (4,),
        }

    def test_row_and_column_without_gradient_stay_finite(self):
        optimizer, kernel, bias = make(optimizer="adafactor")
        gradient = np.ones((3, 4), "float32")
        gradient[1] = gradient[:, 2] = 0
        optimizer.apply([gradient, np.zeros(4, "float32")])
        moved = to_numpy(kernel) != KERNEL
        np.testing.assert_array_equal(moved, gradient != 0)
        np.testing.assert_array_equal(to_numpy(bias), BIAS)

    def test_round_trip_keeps_everything(self):
        optimizer = Adafactor(0.5, -0.7, 1e-20, 1e-2, 2.0, weight_decay=0.1)
        config = keras.optimizers.serialize(optimizer)
        copy = keras.optimizers.deserialize(config)
        assert isinstance(copy, Adafactor)
        assert copy.get_config() == optimizer.get_config()

    @pytest.mark.skipif(
        keras.backend.backend() != "tensorflow",
        reason="Gradients are sparse on TensorFlow only.",
    )
    def test_sparse_gradient_updates_like_the_dense_one(self):
        import tensorflow as tf

        rows = np.arange(12, dtype="float32").reshape(4, 3) - 5.5
        ids = np.array([2, 0, 2, 4])  # one of them twice
        dense = np.zeros((5, 3), "float32")
        np.add.at(dense, ids, rows)
        start = random_array(5, 3)
        tables = [keras.Variable(start) for _ in range(2)]
        for table, gradient in zip(
            tables, (tf.IndexedSlices(rows, ids, (5, 3)), dense)
        ):
            Adafactor(0.1).apply([gradient], [table])
        sparse, expected = map(to_numpy, tables)
        np.testing.assert_allclose(sparse, expected, rtol=1e-6)
        assert np.abs(expected - start)[ids].min() > 0.01

    @pytest.mark.parametrize(
        "layer", [SharedEmbedding(11, 8), keras.layers.Embedding(11, 8)]
    )
    def test_embeddings_train_in_keras(self, layer):
        model = keras.Sequential([layer])
        is_on_jax = keras.backend.backend() == "jax"
        model.compile(Adafactor(0.1), loss="mse", jit_compile=is_on_jax)
        ids, goals = np.array([[1, 2, 2]]), random_array(1, 3, 8)
        losses = model.fit(ids, goals, epochs=20, verbose=0).history["loss"]
        assert losses[-1] < 0.95 * losses[0]

    @pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
    def test_weights_may_have_another_dtype(self, dtype):
        table, expected = (
            keras.Variable(KERNEL, dtype=name) for name in (dtype, "float32")
        )
        ((gradient, _),) = gradients(1)
        for weights in (table, expected):
            Adafactor(0.1).apply([ops.cast(gradient, weights.dtype)], [weights])
        np.testing.assert_allclose(
            to_numpy(table), to_numpy(expected), atol=0.02
        )
