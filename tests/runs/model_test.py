import keras
import numpy as np
import pytest

from keras_transformer.layers.transformer import Transformer
from keras_transformer.runs.model import average_variables
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import optimizer_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.model import write_variables

SIZES = {"num_layers": 1, "d_model": 8, "num_heads": 2, "d_ff": 16}


def make_model():
    model = Transformer(vocab_size=11, **SIZES)
    model.build()
    return model


class ModelVariablesTest:
    def test_every_weight_has_its_own_name(self):
        model = make_model()
        named = model_variables(model)
        assert len(named) == len(model.weights)

    def test_names_are_the_same_in_a_second_model(self):
        first = model_variables(make_model())
        second = model_variables(make_model())
        assert list(first) == list(second)

    def test_weights_are_named_after_their_place(self):
        named = model_variables(make_model())
        kernel = named["model/encoder/layer_0/self_attention/query"]
        assert tuple(kernel.shape) == (8, 8)

    def test_random_state_is_not_among_them(self):
        named = model_variables(make_model())
        assert all(name.startswith("model/") for name in named)


def build(optimizer, model):
    optimizer.build(model.trainable_variables)
    return optimizer


class OptimizerVariablesTest:
    def test_moments_and_counter_are_named(self):
        adam = build(keras.optimizers.Adam(1e-3, name="adam"), make_model())
        named = optimizer_variables(adam)
        assert len(named) == len(adam.variables)
        assert "optimizer/iteration" in named

    @pytest.mark.parametrize(
        "make",
        [
            keras.optimizers.Adafactor,
            lambda: keras.optimizers.LossScaleOptimizer(
                keras.optimizers.Adam()
            ),
        ],
        ids=["adafactor", "loss_scale"],
    )
    def test_variables_with_the_same_path_get_different_names(self, make):
        optimizer = build(make(), make_model())
        named = optimizer_variables(optimizer)
        paths = {variable.path.split("/")[-1] for variable in named.values()}
        assert len(named) == len(optimizer.variables) > len(paths)
        again = build(make(), make_model())
        assert list(optimizer_variables(again)) == list(named)


class AveragedVariablesTest:
    @pytest.mark.parametrize("is_wrapped", [False, True])
    def test_averages_follow_the_weights_of_the_same_name(self, is_wrapped):
        model = make_model()
        adam = keras.optimizers.Adam(use_ema=True, ema_momentum=0.75)
        optimizer = adam
        if is_wrapped:
            optimizer = keras.optimizers.LossScaleOptimizer(adam)
        build(optimizer, model)
        weights = model.trainable_variables
        first = read_variables(model_variables(model))
        adam.apply([np.ones(w.shape, "float32") for w in weights], weights)
        second = read_variables(model_variables(model))
        adam.apply([np.ones(w.shape, "float32") for w in weights], weights)
        third = read_variables(model_variables(model))
        named = average_variables(model, optimizer)
        assert len(named) == len(weights)
        for name, array in read_variables(named).items():
            place = name.replace("average/", "model/")
            expected = 0.75 * second[place] + 0.25 * third[place]
            np.testing.assert_allclose(array, expected, atol=1e-6)
            assert (first[place] != third[place]).any()

    def test_are_not_named_twice(self):
        model = make_model()
        adam = build(keras.optimizers.Adam(use_ema=True), model)
        averaged = average_variables(model, adam)
        others = optimizer_variables(adam)
        assert len(averaged) + len(others) == len(adam.variables)
        ids = [{id(v) for v in named.values()} for named in (averaged, others)]
        assert not ids[0] & ids[1]

    def test_optimizer_without_averages_has_none(self):
        model = make_model()
        adam = build(keras.optimizers.Adam(), model)
        assert average_variables(model, adam) == {}


class ReadTest:
    def test_later_updates_do_not_change_the_copy(self):
        named = model_variables(make_model())
        arrays = read_variables(named)
        before = {name: array.copy() for name, array in arrays.items()}
        for variable in named.values():
            variable.assign_add(np.ones(variable.shape, "float32"))
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, before[name])


class WriteTest:
    def test_read_then_write_restores_the_values(self):
        model = make_model()
        named = model_variables(model)
        arrays = read_variables(named)
        for variable in named.values():
            variable.assign(np.zeros(variable.shape, variable.dtype))
        write_variables(named, arrays, "here")
        for name, array in read_variables(named).items():
            np.testing.assert_array_equal(array, arrays[name])

    def test_wrong_shape_is_an_error_and_changes_nothing(self):
        named = model_variables(make_model())
        arrays = read_variables(named)
        last = list(named)[-1]
        broken = {name: np.ones_like(array) for name, array in arrays.items()}
        broken[last] = np.ones(99)
        with pytest.raises(ValueError, match=rf"{last}' is of shape \(99,\)"):
            write_variables(named, broken, "here")
        for name, array in read_variables(named).items():
            np.testing.assert_array_equal(array, arrays[name])

    def test_random_state_of_an_older_version_is_ignored(self):
        named = model_variables(make_model())
        older = {**read_variables(named), "random/0": np.ones(2, "uint32")}
        write_variables(named, older, "here")

    def test_absent_array_is_an_error(self):
        named = model_variables(make_model())
        with pytest.raises(ValueError, match="use here, where .* is absent"):
            write_variables(named, {}, "here")
