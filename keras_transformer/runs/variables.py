"""Stable names for the variables of a model and its optimizer."""

import numpy as np
from keras import ops

from keras_transformer.files.array_files import check_shapes

SEED = "seed_generator_state"


def model_variables(model):
    """Returns the weights of a model by name.

    A name is the place in the model, such as
    `model/encoder/layer_0/self_attention/query`. Keras' seeds for dropout
    layers are omitted, since training does not use them (see `layers.dropout`).
    """
    return {
        f"model/{_get_place(variable)}": variable
        for variable in model.variables
        if variable.name != SEED
    }


def average_variables(model, optimizer):
    """Returns the moving averages (EMA) of weights, if the optimizer keeps any.

    The average of the weight `model/...` is called `average/...`.
    """
    places = map(_get_place, model.trainable_variables)
    # In the order of the weights that the optimizer was built on.
    averages = _get_averages(optimizer)
    return {f"average/{place}": v for place, v in zip(places, averages)}


def optimizer_variables(optimizer):
    """Returns the moments and the counters of a built Keras optimizer by name.

    The moving averages are not among them. Keras gives some variables the same
    path, for example those of Adafactor for all weights called `query`. Their
    names get a number from the second one on: `optimizer/query:2`.
    """
    # By identity, because `==` compares the values of Keras variables.
    averages = {id(variable) for variable in _get_averages(optimizer)}
    named = {}
    counts = {}
    for variable in optimizer.variables:
        if id(variable) not in averages:
            name = f"optimizer/{_get_place(variable)}"
            counts[name] = counts.get(name, 0) + 1
            number = f":{counts[name]}" if counts[name] > 1 else ""
            named[name + number] = variable
    return named


def read(named):
    """Copies named variables into a dictionary of NumPy arrays."""
    return {
        name: ops.convert_to_numpy(variable) for name, variable in named.items()
    }


def write(named, arrays, source):
    """Assigns arrays to the variables of the same names.

    Further arrays are ignored. If one is missing or has another shape, a
    `UserError` about the path `source` is raised and no variable changes.
    """
    # All are checked first, so that an error leaves the model as it was.
    check_shapes(
        {name: tuple(variable.shape) for name, variable in named.items()},
        {name: arrays[name].shape for name in named if name in arrays},
        source,
        "Use the hparams and the vocabulary that the run was trained with.",
    )
    for name, variable in named.items():
        variable.assign(np.asarray(arrays[name]))


def _get_place(variable):
    # The first part of a path is the name of the model or the optimizer. Keras
    # creates some empty variables of Adafactor without it.
    return variable.path.split("/", 1)[-1]


def _get_averages(optimizer):
    # Keras has no public access to the averages. With float16 the optimizer is
    # wrapped in one that scales the loss.
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return inner._model_variables_moving_average if inner.use_ema else []
