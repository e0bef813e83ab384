"""Loading the weights of a run into a model."""

import math

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.model_config import list_weights
from keras_transformer.runs.new_vocabulary import carry_over

EMBEDDING = "model/embedding/"  # prefix of the embedding matrices


def load_model(run, step=None, precision="float32"):
    """Builds the model of a run with the weights of a checkpoint.

    If the run keeps moving averages (`ema_decay`), the model gets those.

    Args:
        run: A `RunDirectory`.
        step: Step of the checkpoint, or "best". Defaults to the newest.
        precision: Precision of the computation: "float32", "bfloat16" or
            "float16". Defaults to "float32".

    Returns:
        A built `Transformer`.

    Raises:
        ValueError: If there is no such precision or checkpoint.
    """
    # Imported here because kt-trainer checks a warm start before it loads the
    # backend, and averaging needs no backend at all.
    from keras_transformer.transformer import POLICIES
    from keras_transformer.transformer import build_transformer

    if precision not in POLICIES:
        raise ValueError(
            f"`precision` must be one of {', '.join(POLICIES)}. Received: "
            f"precision={precision!r}. Choose one of these."
        )
    check_checkpoint(run, step)
    vocab_size, input_vocab_size = run.vocabularies.sizes
    model = build_transformer(
        run.hparams.model, vocab_size, POLICIES[precision], input_vocab_size
    )
    _assign_weights(model, read_weights(run.checkpoints, step), run.path)
    return model


def warm_start(model, other, run):
    """Gives a model the weights of another run's newest checkpoint.

    These are the weights that the other run decodes with: its moving averages
    if it keeps them. The state of the optimizer is not taken over. If the
    vocabularies differ, the embeddings are those of `carry_over`.

    Args:
        model: Built `Transformer` of `run`.
        other: `RunDirectory` that the weights come from.
        run: `RunDirectory` of the new run.

    Raises:
        UserError: If the architectures differ. In this case the model does not
            change.
    """
    check_same_architecture(run.hparams.model, other)
    arrays = read_weights(other.checkpoints)
    for name in arrays:
        if name.startswith(EMBEDDING):
            side = "source_vocabulary" if "input" in name else "vocabulary"
            earlier, ours = getattr(other, side), getattr(run, side)
            if earlier.sha256 != ours.sha256:
                arrays[name] = carry_over(arrays[name], earlier, ours)
    _assign_weights(model, arrays, other.path)


def check_same_architecture(config, other):
    """Checks that a run can start with the weights of another one.

    Args:
        config: `ModelConfig` of the new run.
        other: `RunDirectory` that the weights come from.

    Raises:
        UserError: If the architectures differ.
    """
    theirs = other.hparams.model.architecture
    for name, value in config.architecture.items():
        if theirs.get(name, value) != value:
            raise UserError(
                "`warm_start_from` must be a run with the same architecture. "
                f"Received: {other.path} with {name}={theirs[name]!r}, while "
                f"this run has {value!r}. Use the hparams of that run, or name "
                "another run."
            )


def check_checkpoint(run, step=None):
    """Checks that a checkpoint has the weights of the run's model.

    It reads no array and needs no backend, so it takes milliseconds.

    Args:
        run: A `RunDirectory`.
        step: Step of the checkpoint, or "best". Defaults to the newest.

    Raises:
        ValueError: If a weight is missing, superfluous or of another shape.
    """
    expected = list_weights(run.hparams.model, *run.vocabularies.sizes)
    step = run.checkpoints.find(step)
    headers = run.checkpoints.headers(step)
    shapes = {
        name: header.shape if header.dtype.kind == "f" else "of integers"
        for name, header in headers.items()
        if name.startswith(("model/", "average/"))
    }
    # An optimizer may average only some of the weights.
    for name in shapes:
        if name.startswith("average/"):
            weight = name.replace("average/", "model/", 1)
            expected[name] = expected.get(weight, "absent")
    for name in sorted(expected.keys() | shapes.keys()):
        ours = expected.get(name, "absent")
        theirs = shapes.get(name, "absent")
        if ours != theirs:
            raise ValueError(
                "A checkpoint must fit the model. Received: "
                f"{name[:80]!r} with shape {theirs} in "
                f"{run.checkpoints.path(step)}, while "
                f"the model has {ours}. Use the hparams and the vocabulary of "
                "the training."
            )


def read_weights(checkpoints, step=None):
    """Reads the `decoding_weights` of a checkpoint.

    Args:
        checkpoints: A `Checkpoints`.
        step: Step of the checkpoint, or "best". Defaults to the newest.

    Returns:
        A dictionary of the names `model/...` to NumPy arrays.

    Raises:
        ValueError: If the checkpoint is incomplete or a weight is not finite.
    """
    step = checkpoints.find(step)
    used = decoding_weights(checkpoints.load(step, {"model", "average"}))
    for name, array in used.items():
        # The sum is finite only if all numbers are, and it takes no memory.
        if not math.isfinite(np.sum(array, dtype="float64")):
            raise ValueError(
                "Weights must be finite. Received: infinity or NaN in "
                f"{name!r} of {checkpoints.path(step)}. Use an earlier "
                "checkpoint, or train again with a lower learning_rate."
            )
    return used


def _assign_weights(model, arrays, source):
    from keras_transformer.runs import variables  # imports Keras

    variables.write(variables.model_variables(model), arrays, source)


def decoding_weights(arrays):
    """Returns those weights of a checkpoint that decoding uses.

    These are the moving averages, `average/...`, if the checkpoint holds them.
    The training itself continues from `model/...`.

    Args:
        arrays: Dictionary of name to array, as `Checkpoints.load` returns it.

    Returns:
        A dictionary of the names `model/...` to arrays.
    """
    used = {}
    for name, array in arrays.items():
        kind, _, place = name.partition("/")
        if kind == "model":
            used[name] = arrays.get(f"average/{place}", array)
    return used
