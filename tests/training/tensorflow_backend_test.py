import dataclasses
import functools

import keras
import numpy as np
import pytest
from backend_updates import HPARAMS
from backend_updates import VOCAB_SIZE
from backend_updates import build_backend
from backend_updates import check_rates
from backend_updates import make_batch
from backend_updates import state_of
from backend_updates import train
from backend_updates import update_once

if keras.backend.backend() != "tensorflow":
    pytest.skip("tests the backend of TensorFlow", allow_module_level=True)

import tensorflow as tf

from keras_transformer.losses import smoothed_cross_entropy
from keras_transformer.optimizers import make_schedule
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.model import write_variables
from keras_transformer.training.backends import largest_batch
from keras_transformer.training.backends.backend import OutOfMemory
from keras_transformer.training.backends.largest_batch import (
    largest_batch_tokens,
)
from keras_transformer.training.backends.make_backend import make_backend

DEEP_SHALLOW = dataclasses.replace(HPARAMS, num_layers=2, num_decoder_layers=1)
PLAIN = dataclasses.replace(HPARAMS, dropout=0.0, attention_dropout=0.0)


@functools.cache
def built(hparams, precision, xla):
    """Returns a backend and its initial state."""
    backend = build_backend(hparams, precision=precision, xla=xla)
    return backend, read_variables(state_of(backend))


def make(hparams=HPARAMS, precision="float32", xla="auto"):
    """Returns a backend in its initial state, with its compiled functions."""
    backend, start = built(hparams, precision, xla)
    write_variables(state_of(backend), start, "a test")
    return backend


def weights_of(backend):
    return read_variables(model_variables(backend.model))


def loss_of(model, batch, label_smoothing):
    """Returns the mean loss of a batch of one part, without dropout."""
    inputs, targets = batch["inputs"][0, 0], batch["targets"][0, 0]
    logits = model({"inputs": inputs, "targets": targets})
    losses = smoothed_cross_entropy(targets, logits, label_smoothing)
    return tf.reduce_sum(losses * (targets != 0)) / batch["num_tokens"]


@pytest.fixture(scope="module")
def plain():
    return train(make())


class UpdateTest:
    @pytest.mark.parametrize(
        "num_rounds", [pytest.param(2, marks=pytest.mark.slow), 4]
    )
    def test_accumulation_changes_no_update(self, plain, num_rounds):
        # With 7 rows in 4 rounds, the last round has an empty row.
        figures = train(make(), num_rounds)
        np.testing.assert_allclose(figures, plain, rtol=1e-5)

    def test_round_without_any_row_changes_no_update(self):
        results = [
            update_once(make(), make_batch(0, rounds, num_rows=3))
            for rounds in (1, 4)
        ]
        for name in ("loss_sum", "gradient_norm"):
            one, four = (float(result[name]) for result in results)
            assert four == pytest.approx(one, rel=1e-5)

    def test_batch_of_empty_rows_has_a_loss_of_0(self):
        backend = make()
        before = weights_of(backend)
        batch = make_batch()
        for name in ("inputs", "targets", "seeds"):
            batch[name] = np.zeros_like(batch[name])
        result = update_once(backend, {**batch, "num_tokens": np.float32(1)})
        assert float(result["loss_sum"]) == float(result["gradient_norm"]) == 0
        for name, value in weights_of(backend).items():
            np.testing.assert_array_equal(value, before[name])

    def test_the_model_learns(self, plain):
        losses = plain[:, 0]
        assert losses[-10:].mean() < 0.8 * losses[:10].mean()

    @pytest.mark.slow
    def test_a_decoder_of_another_depth_learns_too(self):
        losses = train(make(DEEP_SHALLOW))[:, 0]
        assert losses[-10:].mean() < 0.8 * losses[:10].mean()

    @pytest.mark.parametrize(
        "precision",
        ["bfloat16", pytest.param("float16", marks=pytest.mark.slow)],
    )
    def test_half_precision_learns_too(self, plain, precision):
        figures = train(make(precision=precision))
        np.testing.assert_allclose(figures[:, 0], plain[:, 0], rtol=0.03)
        # The norm does not include the scale of the loss in float16.
        np.testing.assert_allclose(figures[:10, 1], plain[:10, 1], rtol=0.05)

    def test_weights_stay_in_float32(self):
        backend = make(precision="bfloat16")
        assert backend.model.dtype_policy.compute_dtype == "bfloat16"
        for weight in (*backend.model.weights, *backend.optimizer.variables):
            assert weight.dtype != "bfloat16"

    def test_overflow_in_float16_changes_no_weight(self):
        backend = make(precision="float16")
        backend.optimizer.dynamic_scale.assign(2.0**100)
        before = weights_of(backend)
        train(backend, stop=1)
        for name, value in weights_of(backend).items():
            np.testing.assert_array_equal(value, before[name])
        assert float(backend.optimizer.dynamic_scale) == 2.0**99

    def test_the_rate_waits_for_a_skipped_update(self):
        backend = make(precision="float16")
        rates = []
        for scale in (2.0**100, 1.0, 1.0):  # only the first one overflows
            backend.optimizer.dynamic_scale.assign(scale)
            figures = update_once(backend, make_batch())
            rates.append(float(figures["learning_rate"]))
        schedule = make_schedule(backend.hparams)
        np.testing.assert_allclose(rates, [schedule(n) for n in (0, 0, 1)])

    @pytest.mark.slow
    def test_xla_changes_no_update(self, plain):
        figures = train(make(xla="on"), stop=3)
        np.testing.assert_allclose(figures, plain[:3], rtol=1e-4)

    def test_more_padding_changes_no_update(self):
        batch = make_batch()
        wide = dict(batch)
        for name, columns in (("inputs", 3), ("targets", 1)):
            widths = [(0, 0), (0, 0), (0, 2), (0, columns)]
            wide[name] = np.pad(batch[name], widths)
        wide["seeds"] = np.pad(batch["seeds"], [(0, 0), (0, 0), (0, 2)])
        weights = []
        for padded in (batch, wide):
            backend = make(PLAIN)
            update_once(backend, padded)
            weights.append(weights_of(backend))
        for name, value in weights[0].items():
            np.testing.assert_allclose(weights[1][name], value, atol=1e-6)

    def test_first_update_moves_weights_by_the_learning_rate(self):
        backend = make()
        before = weights_of(backend)
        rate = float(backend.optimizer.learning_rate)
        assert rate == pytest.approx(0.1 * 16**-0.5 * 10**-1.5)
        train(backend, stop=1)
        moved = np.concatenate(
            [
                np.abs(value - before[name]).ravel()
                for name, value in weights_of(backend).items()
            ]
        )
        # Adam divides the first gradient by its own size.
        assert rate < 1.01 * moved.max() < 1.02 * rate

    def test_update_of_several_rounds_is_counted_once(self):
        backend = make()
        train(backend, num_rounds=4, stop=3)
        assert int(backend.optimizer.iterations) == 3

    def test_other_shapes_cause_no_second_trace(self):
        backend = make()
        for rows, length in ((7, 8), (4, 8), (5, 11)):
            batch = make_batch(num_rounds=2, num_rows=rows, length=length)
            update_once(backend, batch, stop=rows == 5)
        for function in (*backend._updates.values(), backend._gradients):
            assert function.experimental_get_tracing_count() == 1

    def test_number_of_rounds_may_change_between_updates(self, plain):
        backend = make()
        figures = [
            train(backend, num_rounds, step, step + 1)
            for step, num_rounds in enumerate((1, 4, 2, 1, 4))
        ]
        figures = np.concatenate(figures)  # (num_updates, 2)
        np.testing.assert_allclose(figures, plain[:5], rtol=1e-5)

    def test_request_to_stop_is_returned(self):
        backend = make()
        results = [
            update_once(backend, make_batch(), stop) for stop in (False, True)
        ]
        assert [float(result["stop"]) for result in results] == [0, 1]

    @pytest.mark.parametrize(
        "precision",
        ["float32", pytest.param("float16", marks=pytest.mark.slow)],
    )
    def test_a_rate_by_the_clock_is_that_of_its_update(self, precision):
        hparams = dataclasses.replace(PLAIN, train_minutes=1.0)
        check_rates(make(hparams, precision), make_batch())


class FiguresTest:
    def test_loss_is_the_sum_over_real_tokens(self):
        backend, batch = make(PLAIN), make_batch()
        expected = loss_of(backend.model, batch, 0.1) * batch["num_tokens"]
        total = float(update_once(backend, batch)["loss_sum"])
        assert total == pytest.approx(float(expected), rel=1e-5)

    def test_norm_equals_that_of_the_explicit_gradient(self):
        backend, batch = make(PLAIN), make_batch()
        weights = [w.value for w in backend.model.trainable_variables]
        with tf.GradientTape() as tape:
            loss = loss_of(backend.model, batch, 0.1)
        expected = float(tf.linalg.global_norm(tape.gradient(loss, weights)))
        norm = float(update_once(backend, batch)["gradient_norm"])
        assert norm == pytest.approx(expected, rel=1e-5)

    def test_norm_is_the_slope_along_the_gradient(self):
        backend, batch = make(PLAIN), make_batch()
        weights = backend.model.trainable_variables
        start = [weight.numpy() for weight in weights]
        norm = float(update_once(backend, batch)["gradient_norm"])
        # The first moment of Adam starts at zero and moves by a tenth.
        gradients = [10 * m.numpy() for m in backend.optimizer._momentums]
        losses = []
        for step in (0.01, -0.01):
            for weight, value, gradient in zip(weights, start, gradients):
                weight.assign(value + step / norm * gradient)
            losses.append(float(loss_of(backend.model, batch, 0.1)))
        slope = (losses[0] - losses[1]) / 0.02
        assert slope == pytest.approx(norm, rel=0.01)

    def test_reported_norm_is_that_before_clipping(self):
        norm = float(update_once(make(), make_batch())["gradient_norm"])
        half = norm / 2
        backend = make(dataclasses.replace(HPARAMS, gradient_clip_norm=half))
        reported = float(update_once(backend, make_batch())["gradient_norm"])
        assert reported == pytest.approx(norm, rel=1e-6)
        moments = [10 * m.value for m in backend.optimizer._momentums]
        clipped = float(tf.linalg.global_norm(moments))
        assert clipped == pytest.approx(half, rel=1e-4)

    def test_peak_memory_is_known(self):
        backend = make()
        assert 2**20 < backend.peak_bytes() < backend.memory_bytes()


class EvaluationTest:
    def test_loss_is_not_smoothed_and_no_weight_changes(self):
        backend, batch = make(), make_batch()
        before = weights_of(backend)
        expected = loss_of(backend.model, batch, 0.0) * batch["num_tokens"]
        ids = batch["inputs"][0, 0]
        negative_log, num_right, num_tokens = (
            float(value) for value in backend.evaluate(ids, ids)
        )
        assert negative_log == pytest.approx(float(expected), rel=1e-5)
        assert 0 <= num_right <= num_tokens == batch["num_tokens"]
        for name, value in weights_of(backend).items():
            np.testing.assert_array_equal(value, before[name])


class LimitsTest:
    def test_more_devices_than_exist_are_an_error(self):
        with pytest.raises(ValueError, match="worker_gpu=9.*sees 1: .*CPU:0"):
            make_backend(HPARAMS, num_devices=9)

    def test_error_of_missing_memory_names_the_flags(self):
        batch = make_batch()
        batch["inputs"] = np.ones((1, 1, 1, 500_000), "int32")
        for name in ("targets", "seeds"):
            batch[name] = batch[name][:, :, :1]
        with pytest.raises(OutOfMemory, match="batch_tokens=64.*effective"):
            update_once(make(), batch)

    def test_largest_batch_is_at_most_the_useful_one(self):
        hparams = dataclasses.replace(HPARAMS, max_length=100)
        batch_tokens = largest_batch_tokens(
            hparams, (VOCAB_SIZE, VOCAB_SIZE), "float32", max_tokens=5000
        )
        assert 100 <= batch_tokens <= 5000

    @pytest.mark.slow
    def test_a_measured_batch_has_the_chunks_of_a_run(self, monkeypatch):
        backends = []

        def record(*arguments):
            backends.append(make_backend(*arguments))
            return backends[-1]

        monkeypatch.setattr(largest_batch, "make_backend", record)
        hparams = dataclasses.replace(HPARAMS, batch_tokens=25_000)
        hparams = dataclasses.replace(hparams, effective_batch_tokens=25_000)
        largest_batch_tokens(hparams, (VOCAB_SIZE,), "float32", 25_000)
        assert [one.positions_at_once for one in backends] == [
            1024,
            3072,
        ]
