"""Names for a model's and an optimizer's variables, the same in every run."""

import numpy as np
from keras import ops

SEED = "seed_generator_state"


def model_variables(model):
    """Names the weights of a model.

    They go by their place in the model, such as
    `model/encoder/layer_0/self_attention/query`. The random state that Keras
    gives to a dropout layer is left out: training does not use it (see
    `layers.dropout`).

    Args:
        model: a built `Transformer`.

    Returns:
        dictionary of name to Keras variable.
    """
    return {
        f"model/{_place(variable)}": variable
        for variable in model.variables
        if variable.name != SEED
    }


def averaged_variables(model, optimizer):
    """Names the moving averages (EMA) that an optimizer keeps of the weights.

    Args:
        model: the built `Transformer`.
        optimizer: the Keras optimizer that was built on its trainable weights.

    Returns:
        dictionary of name to Keras variable, `average/...` for the weight
        `model/...`; empty if the optimizer keeps no average.
    """
    places = map(_place, model.trainable_variables)
    averages = _averages(optimizer)
    return {f"average/{place}": v for place, v in zip(places, averages)}


def optimizer_variables(optimizer):
    """Names the moments and the counters of a built Keras optimizer.

    Moving averages of the weights are left out, see `averaged_variables`. Of
    variables that Keras calls the same, such as all of Adafactor's for one kind
    of weight, those after the first get their number: `optimizer/query:2`.
    """
    averages = {id(variable) for variable in _averages(optimizer)}
    named = {}
    counts = {}
    for variable in optimizer.variables:
        if id(variable) not in averages:
            name = f"optimizer/{_place(variable)}"
            counts[name] = counts.get(name, 0) + 1
            number = f":{counts[name]}" if counts[name] > 1 else ""
            named[name + number] = variable
    return named


def read(named):
    """Copies variables into a dictionary of NumPy arrays.

    The arrays are a snapshot: they stay as they are when the variables change.
    """
    return {
        name: ops.convert_to_numpy(variable) for name, variable in named.items()
    }


def write(named, arrays, source):
    """Assigns arrays to the variables of the same names.

    Args:
        named: dictionary of name to Keras variable.
        arrays: dictionary of name to array; may hold further names.
        source: where the arrays come from, for error messages.

    Raises:
        ValueError: if a variable's array is absent or has another shape. Then
            no variable was changed.
    """
    for name, variable in named.items():
        shape = arrays[name].shape if name in arrays else "absent"
        if shape != tuple(variable.shape):
            raise ValueError(
                "A checkpoint must fit the model. Received: "
                f"{name} with shape {shape} in {source}, where the model has "
                f"{tuple(variable.shape)}. Use the hparams and the vocabulary "
                "it was trained with."
            )
    for name, variable in named.items():
        variable.assign(np.asarray(arrays[name]))


def _place(variable):
    # Without the name of the model or the optimizer, where it has one: Keras
    # makes the empty places of Adafactor without it.
    return variable.path.split("/", 1)[-1]


def _averages(optimizer):
    # Keras gives no public way to the averages. With float16 the optimizer is
    # wrapped into one that scales the loss.
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    return inner._model_variables_moving_average if inner.use_ema else []
