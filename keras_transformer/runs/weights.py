"""Loading the weights of a run into a model."""

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.files import array_files
from keras_transformer.model_config import list_adapters
from keras_transformer.model_config import list_weights
from keras_transformer.runs import adapters
from keras_transformer.token_ids import UNKNOWN_ID

EMBEDDING = "model/embedding/"  # prefix of the embedding matrices


def load_model(run, step=None, precision="float32"):
    """Builds the `Transformer` of a run with the weights of a checkpoint.

    If the run keeps moving averages (`ema_decay`), the model gets those. The
    step is an integer or "best" and defaults to the newest. The precision of
    the computation is "float32", "bfloat16" or "float16".
    """
    # Imported here because kt-trainer checks a warm start before it loads the
    # backend, and averaging needs no backend at all.
    from keras_transformer.runs.building import POLICIES
    from keras_transformer.runs.building import build_transformer

    if precision not in POLICIES:
        raise UserError(
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


def warm_start(model, other, run, step=None):
    """Gives a model the weights of another run's checkpoint.

    These are the weights that the other run decodes with: its moving averages
    if it keeps them. The state of the optimizer is not copied. If the
    vocabularies differ, `carry_over` computes the embeddings. If the
    architectures differ, the model does not change. The step defaults to the
    newest.
    """
    check_same_architecture(run.hparams.model, other)
    arrays = read_weights(other.checkpoints, step)
    for name in arrays:
        if name.startswith(EMBEDDING):
            side = "source_vocabulary" if "input" in name else "vocabulary"
            earlier, ours = getattr(other, side), getattr(run, side)
            if earlier.sha256 != ours.sha256:
                arrays[name] = carry_over(arrays[name], earlier, ours)
    _assign_weights(model, arrays, other.path)


def check_same_architecture(config, other):
    """Checks that a run can start with the weights of another one."""
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
    """
    expected = list_weights(run.hparams.model, *run.vocabularies.sizes)
    if run.hparams.lora_rank:
        expected |= list_adapters(expected, run.hparams.lora_rank)
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
    array_files.check_shapes(
        expected,
        shapes,
        run.checkpoints.path(step),
        "Use the hparams and the vocabulary that the run was trained with.",
    )


def read_weights(checkpoints, step=None):
    """Reads the weights of a checkpoint that decoding uses.

    Adapters are merged into them. Raises a `UserError` if the checkpoint is
    incomplete or a weight is not finite.
    """
    step = checkpoints.find(step)
    arrays = checkpoints.load(step, {"model", "average", "lora"})
    used = select_decoding_weights(arrays)
    if adapters.ALPHA in arrays:
        pairs = _prefer_averages(arrays)
        adapters.merge_adapters(used, pairs, arrays[adapters.ALPHA])
    array_files.check_finite(
        used,
        checkpoints.path(step),
        "Use an earlier checkpoint, or train again with a lower learning_rate.",
    )
    return used


def write_adapter(run):
    """Writes the adapters of a run's newest checkpoint to `ADAPTER_FILE`.

    They are what `read_weights` would merge, without the weights themselves.
    """
    arrays = run.checkpoints.load(kinds={"model", "average", "lora"})
    used = _prefer_averages(arrays)
    content = {n: used[n] for n in used if adapters.is_adapter(n)}
    content[adapters.ALPHA] = arrays[adapters.ALPHA]
    base = select_decoding_weights(arrays)
    content[adapters.BASE] = adapters.compute_checksum(base)
    array_files.write_arrays(run.file(adapters.ADAPTER_FILE), content)


def _assign_weights(model, arrays, source):
    from keras_transformer.runs import variables  # imports Keras

    named = variables.model_variables(model)
    # Adapters are new and keep their initial values.
    named = {n: named[n] for n in named if not adapters.is_adapter(n)}
    variables.write(named, arrays, source)


def select_decoding_weights(arrays):
    """Returns those weights of a checkpoint that decoding uses, as `model/...`.

    These are the moving averages, `average/...`, if the checkpoint holds them.
    The training itself continues from `model/...`. Adapters are left out.
    """
    used = _prefer_averages(arrays)
    return {n: used[n] for n in used if not adapters.is_adapter(n)}


def _prefer_averages(arrays):
    return {
        name: arrays.get(name.replace("model/", "average/", 1), array)
        for name, array in arrays.items()
        if name.startswith("model/")
    }


def carry_over(embeddings, earlier, vocabulary):
    """Computes the embeddings of a vocabulary from those of an earlier one.

    A piece that both vocabularies have keeps its embedding. Any other piece is
    spelled by the longest pieces of the earlier vocabulary, or in bytes, and
    gets the mean of their embeddings. The shapes are `(earlier.vocab_size,
    d_model)` and `(vocabulary.vocab_size, d_model)`.
    """
    ids = {piece: id_ for id_, piece in enumerate(earlier.all_pieces())}
    return np.stack(
        [
            embeddings[_spell(piece, ids)].mean(axis=0)
            for piece in vocabulary.all_pieces()
        ]
    )


def count_shared_pieces(earlier, vocabulary):
    """Returns how many pieces of a vocabulary an earlier one also has."""
    return len({*earlier.all_pieces()} & {*vocabulary.all_pieces()})


def _spell(piece, ids):
    """Returns ids of an earlier vocabulary that spell a piece together.

    >>> _spell("abcd", {"a": 3, "abc": 4, "d": 5})
    [4, 5]
    """
    spelling = []
    while piece:
        prefixes = (piece[:size] for size in range(len(piece), 0, -1))
        prefix = next((prefix for prefix in prefixes if prefix in ids), None)
        if prefix:
            spelling.append(ids[prefix])
        else:
            # A character that the earlier vocabulary lacks is spelled in bytes.
            prefix = piece[0]
            names = (f"<0x{byte:02X}>" for byte in piece[0].encode())
            # A vocabulary of given symbols has no bytes.
            spelling += [ids.get(name, UNKNOWN_ID) for name in names]
        piece = piece.removeprefix(prefix)
    return spelling
