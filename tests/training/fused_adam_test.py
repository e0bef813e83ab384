import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("uses a kernel of TensorFlow", allow_module_level=True)

from keras_transformer.hparam import HParams
from keras_transformer.optimizers import make_optimizer
from keras_transformer.training.backends.tensorflow_backend import FusedAdam

START = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
GRADIENTS = np.random.default_rng(1).normal(size=(5, 3, 4)).astype("float32")


def after_updates(optimizer):
    weight = keras.Variable(START)
    optimizer.build([weight])
    for gradient in GRADIENTS:
        optimizer.apply([keras.ops.convert_to_tensor(gradient)], [weight])
    state = [variable.numpy() for variable in optimizer.variables]
    return [weight.numpy(), *state]


class FusedAdamTest:
    @pytest.mark.parametrize(
        "changes", [{}, {"gradient_clip_norm": 0.5}, {"ema_decay": 0.9}]
    )
    def test_weights_and_moments_equal_those_of_keras(self, changes):
        composed = make_optimizer(HParams(warmup_steps=3, **changes))
        fused = FusedAdam.from_adam(composed)
        assert isinstance(fused, FusedAdam)
        for actual, expected in zip(
            after_updates(fused), after_updates(composed), strict=True
        ):
            np.testing.assert_allclose(actual, expected, atol=1e-6)

    @pytest.mark.parametrize("name", ["adamw", "adafactor"])
    def test_other_optimizers_are_not_replaced(self, name):
        optimizer = make_optimizer(HParams(optimizer=name))
        assert FusedAdam.from_adam(optimizer) is optimizer
