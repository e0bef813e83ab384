"""The weights of a run as arrays, read from its checkpoints without Keras."""

import zlib

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.files import array_files
from keras_transformer.model_config import ADAPTER_SUFFIXES
from keras_transformer.model_config import list_adapters
from keras_transformer.model_config import list_weights
from keras_transformer.token_ids import UNKNOWN_ID

# With low-rank adaptation (LoRA), a checkpoint holds the adapters, the state of
# their optimizer and LORA_ALPHA. The weights that never change are stored once
# beside it. `checkpoints` reads both as one, and decoding gets merged weights.
LORA_ALPHA = "lora/alpha"
LORA_BASE = "lora/base"  # a checksum of the weights that the adapters belong to
# The adapters alone, in the run's directory, for users who have the base.
ADAPTER_FILE = "adapter.npz"


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
    if LORA_ALPHA in arrays:
        pairs = _prefer_averages(arrays)
        merge_adapters(used, pairs, arrays[LORA_ALPHA])
    array_files.check_finite(
        used,
        checkpoints.path(step),
        "Use an earlier checkpoint, or train again with a lower learning_rate.",
    )
    return used


def select_decoding_weights(arrays):
    """Returns those weights of a checkpoint that decoding uses, as `model/...`.

    These are the moving averages, `average/...`, if the checkpoint holds them.
    The training itself continues from `model/...`. Adapters are left out.
    """
    used = _prefer_averages(arrays)
    return {n: used[n] for n in used if not is_adapter(n)}


def _prefer_averages(arrays):
    return {
        name: arrays.get(name.replace("model/", "average/", 1), array)
        for name, array in arrays.items()
        if name.startswith("model/")
    }


def is_adapter(name):
    """Returns whether an array of a checkpoint is part of an adapter.

    >>> is_adapter("model/encoder/layer_0/feed_forward/inner_lora_a")
    True
    """
    return name.endswith(ADAPTER_SUFFIXES)


def merge_adapters(weights, adapters, alpha):
    """Adds to each weight `alpha / rank * A B`, if there is an adapter for it.

    Both are dictionaries of arrays by name. Changes `weights`.
    """
    for name in weights:
        pair = [adapters.get(name + suffix) for suffix in ADAPTER_SUFFIXES]
        if pair[0] is not None:
            a, b = pair
            weights[name] = weights[name] + float(alpha) / a.shape[1] * (a @ b)


def write_adapter(run):
    """Writes the adapters of a run's newest checkpoint to `ADAPTER_FILE`.

    They are what `read_weights` would merge, without the weights themselves.
    """
    arrays = run.checkpoints.load(kinds={"model", "average", "lora"})
    used = _prefer_averages(arrays)
    content = {n: used[n] for n in used if is_adapter(n)}
    content[LORA_ALPHA] = arrays[LORA_ALPHA]
    base = select_decoding_weights(arrays)
    content[LORA_BASE] = compute_checksum(base)
    array_files.write_arrays(run.file(ADAPTER_FILE), content)


def compute_checksum(weights):
    """Returns the CRC-32 of the weights of a model without adapters."""
    checksum = 0
    for name in sorted(weights):
        checksum = zlib.crc32(np.ascontiguousarray(weights[name]), checksum)
    return np.int64(checksum)


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
