"""The weights of a run: in a checkpoint, and in a model."""

# What the weights of a model are made for.
DIMENSIONS = ("num_layers", "d_model", "d_ff", "num_heads", "d_k", "d_v")
DIMENSIONS += ("norm", "positional_encoding", "neighbourhood")


def load_model(run, step=None, precision="float32"):
    """Builds a run's model with the weights of a checkpoint.

    These are the moving averages, where the run keeps them (`ema_decay`).

    Args:
        run: a `RunDirectory`.
        step: of the checkpoint, or "best"; by default the newest.
        precision: "float32", "bfloat16" or "float16", of what is computed.

    Returns:
        a `Transformer`.
    """
    from keras_transformer.transformer import POLICIES
    from keras_transformer.transformer import build_transformer

    vocab_size = run.vocabulary.vocab_size
    model = build_transformer(run.hparams, vocab_size, POLICIES[precision])
    _assign_weights(model, run, step)
    return model


def warm_start(model, other, run, step=None):
    """Gives a model the weights of another run.

    Those that the other run decodes with: of its moving averages, where it
    keeps them, and of an averaged run its average. The optimizer begins anew.

    Args:
        model: the built `Transformer` of `run`.
        other: the `RunDirectory` to take the weights from.
        run: the `RunDirectory` that is about to begin.
        step: of the other run's checkpoint, or "best"; by default the newest.

    Raises:
        ValueError: if the vocabularies or the shapes of the weights differ.
            Then the model is as it was.
    """
    check_warm_start(run.vocabulary, run.hparams, other)
    _assign_weights(model, other, step)


def check_warm_start(vocabulary, hparams, other):
    """Checks that a run can begin with the weights of another one.

    Args:
        vocabulary: `Subwords` of the run that is about to begin.
        hparams: its `HParams`.
        other: the `RunDirectory` to take the weights from.

    Raises:
        ValueError: if the vocabularies or the dimensions differ.
    """
    for name in DIMENSIONS:
        ours, theirs = getattr(hparams, name), getattr(other.hparams, name)
        if ours != theirs:
            raise ValueError(
                "`warm_start_from` must be a run with the same dimensions. "
                f"Received: {other.path} with {name}={theirs!r}, while this "
                f"run has {ours!r}. Use its hparams, or another run."
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
    from keras_transformer.runs import variables

    named = variables.model_variables(model)
    variables.write(named, weights(run.checkpoints.load(step)), run.path)


def weights(arrays):
    """Returns the weights in a checkpoint that a model is used with.

    Args:
        arrays: dictionary of name to array.

    Returns:
        dictionary of the names `model/...` to arrays: where the checkpoint
        holds a moving average, `average/...`, that in place of the weights
        which the training goes on from.
    """
    found = {}
    for name, array in arrays.items():
        kind, _, place = name.partition("/")
        if kind == "model":
            found[name] = arrays.get(f"average/{place}", array)
    return found
