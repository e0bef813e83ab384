import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import randomize
from layer_checks import to_numpy
from small_transformer import INPUTS
from small_transformer import TARGETS
from small_transformer import VARIANTS
from small_transformer import logits_of
from small_transformer import make_transformer


class CacheTest:
    @VARIANTS
    @pytest.mark.parametrize(
        "beam_size", [pytest.param(1, marks=pytest.mark.slow), 3]
    )
    @pytest.mark.parametrize("growing", [True, False])
    def test_steps_equal_the_teacher_forced_logits(
        self, options, beam_size, growing
    ):
        model = make_transformer(max_length=12, **options)
        randomize(model)
        shape = (2, beam_size, 5)
        targets = np.random.default_rng(0).integers(1, 11, shape)
        logits = step_through(model, targets, growing)
        for beam in range(beam_size):
            expected = logits_of(model, INPUTS, targets[:, beam])
            np.testing.assert_allclose(logits[:, beam], expected, atol=1e-5)

    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_steps_in_low_precision_give_float32_logits(self, precision):
        model = make_transformer(dtype=precision)
        randomize(model)
        logits = step_through(model, TARGETS[:, None], growing=True)
        assert logits.dtype == "float32"
        np.testing.assert_allclose(logits[:, 0], logits_of(model), atol=0.1)

    def test_the_id_at_position_0_is_ignored(self):
        model = make_transformer()
        cache = model.init_cache(*model.encode(INPUTS), 1, fixed_length=5)
        first, _ = model.decode_step(np.array([[1], [2]]), 0, cache)
        second, _ = model.decode_step(np.array([[9], [0]]), 0, cache)
        np.testing.assert_array_equal(to_numpy(first), to_numpy(second))

    @pytest.mark.parametrize("fixed_length", [None, 7])
    def test_nothing_is_tiled_for_the_beams(self, fixed_length):
        cache = make_transformer().init_cache(
            *make_transformer().encode(INPUTS), 3, fixed_length
        )
        assert {x.shape[0] for x in keras.tree.flatten(cache)} == {2}


def step_through(model, targets, growing):
    """Returns the logits of each step, with the targets as its inputs."""
    _, beam_size, length = targets.shape
    fixed_length = None if growing else length + 2
    cache = model.init_cache(*model.encode(INPUTS), beam_size, fixed_length)
    steps = []
    for i in range(length):
        ids = ops.convert_to_tensor(targets[:, :, max(0, i - 1)])
        position = ops.convert_to_tensor(i, dtype="int32")
        logits, cache = model.decode_step(ids, position, cache)
        steps.append(to_numpy(logits))
    return np.stack(steps, axis=2)
