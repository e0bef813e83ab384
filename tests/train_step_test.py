import keras
import numpy as np
import pytest

from keras_transformer.hparam import HParams
from keras_transformer.losses import smoothed_cross_entropy
from keras_transformer.train_step import make_eval_step
from keras_transformer.train_step import make_optimizer
from keras_transformer.train_step import make_train_step
from keras_transformer.transformer import build_transformer

HPARAMS = HParams(
    num_layers=1, d_model=8, d_ff=16, num_heads=2, dropout=0.0, warmup_steps=4
)
INPUTS = np.array([[3, 4, 1], [5, 1, 0]], "int32")
TARGETS = np.array([[6, 7, 8, 1], [9, 1, 0, 0]], "int32")


def make():
    keras.utils.set_random_seed(0)
    model = build_transformer(HPARAMS, vocab_size=11)
    optimizer = make_optimizer(model, HPARAMS)
    return model, optimizer, make_train_step(model, optimizer, 0.1)


def weights_after(*batches):
    model, _, train_step = make()
    for batch in batches:
        train_step(*batch)
    return [w.numpy() for w in model.trainable_variables]


def pad(ids, rows, columns):
    return np.pad(ids, [(0, rows), (0, columns)])


@pytest.fixture(scope="module")
def plain():
    return weights_after((INPUTS, TARGETS))


class TrainStepTest:
    def test_empty_rows_and_more_padding_change_no_update(self, plain):
        padded = weights_after((pad(INPUTS, 2, 3), pad(TARGETS, 2, 1)))
        for expected, found in zip(plain, padded):
            np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_first_update_moves_each_weight_by_the_learning_rate(self, plain):
        model, optimizer, _ = make()
        rate = float(optimizer.learning_rate)
        assert rate == pytest.approx(8**-0.5 * 4**-1.5)
        moved = [
            np.abs(after - before.numpy())
            for after, before in zip(plain, model.trainable_variables)
        ]
        # Adam divides the first gradient by its own size.
        assert max(change.max() for change in moved) < 1.01 * rate
        assert np.median(np.concatenate([m.ravel() for m in moved])) > 0

    def test_sums_are_those_of_the_real_tokens(self):
        model, _, train_step = make()
        logits = model({"inputs": INPUTS, "targets": TARGETS})
        losses = smoothed_cross_entropy(TARGETS, logits, 0.1).numpy()
        loss_sum, num_tokens = train_step(INPUTS, TARGETS)
        assert float(num_tokens) == 6
        expected = losses[TARGETS != 0].sum()
        assert float(loss_sum) == pytest.approx(expected, rel=1e-5)

    def test_each_call_counts_one_update(self):
        _, optimizer, train_step = make()
        for _ in range(3):
            train_step(INPUTS, TARGETS)
        assert int(optimizer.iterations) == 3

    def test_other_shapes_cause_no_second_trace(self):
        _, _, train_step = make()
        train_step(INPUTS, TARGETS)
        train_step(pad(INPUTS, 1, 1), pad(TARGETS, 1, 4))
        assert train_step.experimental_get_tracing_count() == 1


class EvalStepTest:
    def test_loss_is_not_smoothed_and_nothing_is_learned(self):
        model, _, _ = make()
        before = [w.numpy() for w in model.weights]
        logits = model({"inputs": INPUTS, "targets": TARGETS})
        losses = smoothed_cross_entropy(TARGETS, logits).numpy()
        negative_log, right, num_tokens = make_eval_step(model)(INPUTS, TARGETS)
        expected = losses[TARGETS != 0].sum()
        assert float(negative_log) == pytest.approx(expected, rel=1e-5)
        assert 0 <= float(right) <= float(num_tokens) == 6
        for old, new in zip(before, model.weights):
            np.testing.assert_array_equal(old, new.numpy())
