"""The learning-rate schedule against equation 3 of the paper."""

import keras
import numpy as np
import pytest
from layer_checks import to_numpy

from keras_transformer.schedules import InverseSquareRootSchedule


def paper(step, d_model=512, warmup_steps=4000):
    """Computes equation 3, whose steps count from 1."""
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


class InverseSquareRootScheduleTest:
    @pytest.mark.parametrize("warmup_steps", [1, 10, 4000])
    def test_equals_equation_3(self, warmup_steps):
        schedule = InverseSquareRootSchedule(512, warmup_steps)
        for step in (1, 2, 9, 10, 11, 3999, 4000, 4001, 100000):
            expected = paper(step, warmup_steps=warmup_steps)
            rate = float(to_numpy(schedule(step - 1)))
            np.testing.assert_allclose(rate, expected, rtol=1e-5)

    def test_a_schedule_without_a_warm_up_is_refused(self):
        with pytest.raises(ValueError, match="warmup_steps=0. Use 1"):
            InverseSquareRootSchedule(64, warmup_steps=0)

    def test_the_peak_is_where_the_warm_up_ends(self):
        schedule = InverseSquareRootSchedule(64, warmup_steps=20)
        rates = [float(to_numpy(schedule(step - 1))) for step in range(1, 101)]
        assert np.argmax(rates) + 1 == 20
        np.testing.assert_allclose(max(rates), schedule.peak, rtol=1e-6)
        np.testing.assert_allclose(schedule.peak, paper(20, 64, 20))

    def test_rises_linearly_and_falls_with_the_root(self):
        schedule = InverseSquareRootSchedule(512)
        rates = [float(to_numpy(schedule(s - 1))) for s in (1000, 2000)]
        np.testing.assert_allclose(2 * rates[0], rates[1], rtol=1e-5)
        rates = [float(to_numpy(schedule(s - 1))) for s in (5000, 20000)]
        np.testing.assert_allclose(rates[0], 2 * rates[1], rtol=1e-5)

    def test_factor_multiplies_all(self):
        schedule = InverseSquareRootSchedule(512, factor=2.0)
        for step in (1, 4000, 9999):
            rate = float(to_numpy(schedule(step - 1)))
            np.testing.assert_allclose(rate, 2 * paper(step), rtol=1e-5)

    def test_the_first_update_uses_step_1(self):
        """Keras starts at iteration 0, where equation 3 would give 0."""
        schedule = InverseSquareRootSchedule(4, warmup_steps=2)
        optimizer = keras.optimizers.SGD(schedule)
        variable = keras.Variable(np.zeros(1, "float32"))
        optimizer.build([variable])
        for step in (1, 2, 3):
            before = to_numpy(variable)
            optimizer.apply([keras.ops.ones(1)], [variable])
            change = before - to_numpy(variable)
            np.testing.assert_allclose(change, paper(step, 4, 2), rtol=1e-5)

    def test_round_trip_inside_an_optimizer(self):
        schedule = InverseSquareRootSchedule(64, warmup_steps=20, factor=3.0)
        config = keras.optimizers.serialize(keras.optimizers.Adam(schedule))
        copy = keras.optimizers.deserialize(config)._learning_rate
        assert isinstance(copy, InverseSquareRootSchedule)
        assert copy.get_config() == schedule.get_config()
