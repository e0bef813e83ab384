"""Names for a model's and an optimizer's variables, the same in every run."""

import numpy as np
from keras import ops

SEED = "seed_generator_state"


def model_variables(model):
    """Names the weights and the random state of a model.

    Weights go by their place in the model, such as
    `model/encoder/layer_0/self_attention/query`. Keras numbers the random
    generators of dropout by the process's history; here they are numbered by
    their place.

    Args:
        model: a built `Transformer`.

    Returns:
        dictionary of name to Keras variable.
    """
    seeds = [v for v in model.variables if v.name == SEED]
    named = {f"random/{i}": seed for i, seed in enumerate(seeds)}
    for variable in model.variables:
        if variable.name != SEED:
            _, place = variable.path.split("/", 1)
            named[f"model/{place}"] = variable
    return named


def optimizer_variables(optimizer):
    """Names the moments and the step counter of a built Keras optimizer."""
    named = {}
    for variable in optimizer.variables:
        _, place = variable.path.split("/", 1)
        named[f"optimizer/{place}"] = variable
    return named


def read(named):
    """Copies variables into a dictionary of NumPy arrays."""
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
