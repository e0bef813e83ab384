"""Loading the weights of a run into a model."""

# The hyper-parameters that determine the weights and their use.
DIMENSIONS = ("num_layers", "d_model", "d_ff", "num_heads", "d_k", "d_v")
DIMENSIONS += ("norm", "positional_encoding", "neighbourhood")


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
    """
    # Imported here because kt-trainer checks a warm start before it loads the
    # backend, and averaging needs no backend at all.
    from keras_transformer.transformer import POLICIES
    from keras_transformer.transformer import build_transformer

    vocab_size = run.vocabulary.vocab_size
    model = build_transformer(run.hparams, vocab_size, POLICIES[precision])
    _assign_weights(model, run, step)
    return model


def warm_start(model, other, run, step=None):
    """Gives a model the weights of another run.

    These are the weights that the other run decodes with: its moving averages
    if it keeps them. The state of the optimizer is not taken over.

    Args:
        model: Built `Transformer` of `run`.
        other: `RunDirectory` that the weights come from.
        run: `RunDirectory` of the new run.
        step: Step of the other run's checkpoint, or "best". Defaults to the
            newest.

    Raises:
        ValueError: If the vocabularies or the shapes of the weights differ. In
            this case the model does not change.
    """
    check_warm_start(run.vocabulary, run.hparams, other)
    _assign_weights(model, other, step)


def check_warm_start(vocabulary, hparams, other):
    """Checks that a run can start with the weights of another one.

    Args:
        vocabulary: `Subwords` of the new run.
        hparams: `HParams` of the new run.
        other: `RunDirectory` that the weights come from.

    Raises:
        ValueError: If the vocabularies or the dimensions differ.
    """
    for name in DIMENSIONS:
        ours, theirs = getattr(hparams, name), getattr(other.hparams, name)
        if ours != theirs:
            raise ValueError(
                "`warm_start_from` must be a run with the same dimensions. "
                f"Received: {other.path} with {name}={theirs!r}, while this "
                f"run has {ours!r}. Use the hparams of that run, or name "
                "another run."
            )
    ours, theirs = vocabulary.sha256, other.vocabulary.sha256
    if ours != theirs:
        raise ValueError(
            "`warm_start_from` must be a run with the same vocabulary. "
            f"Received: {other.path} with vocabulary_sha256={theirs}, while "
            f"this run has {ours}. Train on the data of that run, or without "
            "--warm_start_from."
        )


def _assign_weights(model, run, step):
    from keras_transformer.runs import variables  # imports Keras

    named = variables.model_variables(model)
    variables.write(named, weights(run.checkpoints.load(step)), run.path)


def weights(arrays):
    """Returns the weights of a checkpoint that decoding uses.

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
