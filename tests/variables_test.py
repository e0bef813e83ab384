import keras
import numpy as np
import pytest

from keras_transformer import variables
from keras_transformer.transformer import Transformer

SIZES = {"num_layers": 1, "d_model": 8, "num_heads": 2, "d_ff": 16}


def make_model():
    model = Transformer(vocab_size=11, **SIZES)
    model.build()
    return model


class ModelVariablesTest:
    def test_every_variable_has_a_name_of_its_own(self):
        model = make_model()
        named = variables.model_variables(model)
        assert len(named) == len(model.variables)

    def test_names_are_the_same_in_a_second_model(self):
        first = variables.model_variables(make_model())
        second = variables.model_variables(make_model())
        assert list(first) == list(second)

    def test_weights_go_by_their_place(self):
        named = variables.model_variables(make_model())
        kernel = named["model/encoder/layer_0/self_attention/query"]
        assert tuple(kernel.shape) == (8, 8)

    def test_random_state_is_among_them(self):
        named = variables.model_variables(make_model())
        seeds = [name for name in named if name.startswith("random/")]
        assert len(seeds) > 5


class OptimizerVariablesTest:
    def test_moments_and_counter_are_named(self):
        model = make_model()
        optimizer = keras.optimizers.Adam(1e-3, name="adam")
        optimizer.build(model.trainable_variables)
        named = variables.optimizer_variables(optimizer)
        assert len(named) == len(optimizer.variables)
        assert "optimizer/iteration" in named


class WriteTest:
    def test_read_then_write_restores_the_values(self):
        model = make_model()
        named = variables.model_variables(model)
        held = variables.read(named)
        for variable in named.values():
            variable.assign(np.zeros(variable.shape, variable.dtype))
        variables.write(named, held, "here")
        for name, array in variables.read(named).items():
            np.testing.assert_array_equal(array, held[name])

    def test_wrong_shape_is_refused_and_nothing_changed(self):
        named = variables.model_variables(make_model())
        held = variables.read(named)
        last = list(named)[-1]
        broken = {name: np.ones_like(array) for name, array in held.items()}
        broken[last] = np.ones(99)
        with pytest.raises(ValueError, match=rf"{last} with shape \(99,\)"):
            variables.write(named, broken, "here")
        for name, array in variables.read(named).items():
            np.testing.assert_array_equal(array, held[name])

    def test_absent_array_is_refused(self):
        named = variables.model_variables(make_model())
        with pytest.raises(ValueError, match="with shape absent in here"):
            variables.write(named, {}, "here")
