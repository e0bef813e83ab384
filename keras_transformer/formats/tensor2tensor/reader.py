"""Makes runs of Tensor2Tensor's models named `transformer`.

They differ from the paper's model in their positions (`tensor2tensor` in
`positional_encoding`), in a vector that the encoder adds to every input, and in
a vocabulary without an unknown id. The vector is added to the embeddings of the
source. The unknown id gets a row of zeros and a bias that rules it out.

The names of variables are those of versions 1.3 to 1.15, which can read each
other's checkpoints.
"""

import glob
import os
import re

import numpy as np

from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.files.reading import file_error
from keras_transformer.formats.imported_run import unsupported
from keras_transformer.formats.imported_run import write_run
from keras_transformer.formats.tensor2tensor import training_files
from keras_transformer.formats.tensor2tensor.vocabulary import (
    read_tensor2tensor_vocabulary,
)
from keras_transformer.hparam import HParams
from keras_transformer.model_config import list_weights
from keras_transformer.token_ids import UNKNOWN_ID

# A row of zeros with this bias gets a probability of 0 in float32.
UNLIKELY_BIAS = -100.0
# From our names of weights to those of Tensor2Tensor, one after another.
_RENAMED = (
    ("cross_attention", "encdec_attention"),
    ("feed_forward", "ffn"),
    ("/query$", "/multihead_attention/q/kernel"),
    ("/key$", "/multihead_attention/k/kernel"),
    ("/value$", "/multihead_attention/v/kernel"),
    ("/output$", "/multihead_attention/output_transform/kernel"),
    (
        "/relative_(keys|values)$",
        r"/multihead_attention/dot_product_attention_relative"
        r"/relative_positions_\1/embeddings",
    ),
    ("/inner$", "/conv1/kernel"),
    ("/inner_bias$", "/conv1/bias"),
    ("/outer$", "/conv2/kernel"),
    ("/outer_bias$", "/conv2/bias"),
    ("_residual/norm/", "/{norm}/layer_norm/"),
    ("/final_norm/", "/layer_prepostprocess/layer_norm/"),
    ("/gamma$", "/layer_norm_scale"),
    ("/beta$", "/layer_norm_bias"),
    ("^model/", "body/"),
)
_FINAL_NORM = "body/encoder/layer_prepostprocess/layer_norm/layer_norm_scale"
_RELATIVE = "model/encoder/layer_0/self_attention/relative_keys"
# Normalisation (n), dropout (d) and addition (a) before and after a sub-layer.
_SEQUENCES = {"pre": ("n", "da"), "post": ("none", "dan")}
_TARGET_SPACE = "body/target_space_embedding/kernel"
# Since version 1.6, whose files have such a name, all text has the space 0.
_LATER = {"optimizer_adafactor_beta1", "inter_op_parallelism_threads"}
# The scopes of the embedding matrices, by ours and `tied_embeddings`.
_SCOPES = {
    "all": {"embeddings": "shared"},
    "target": {"embeddings": "shared", "input_embeddings": "shared"},
    "none": {
        "embeddings": "target_emb",
        "input_embeddings": "input_emb",
        "softmax_weights": "softmax",
    },
}


def import_tensor2tensor(
    source,
    output_dir,
    origin=None,
    problem="translate_files",
    target_space=None,
):
    """Writes the weights and the vocabulary of a model as a run.

    The `source` is a directory with a checkpoint, its vocabulary file
    `vocab.*.subwords` and the `hparams.json` or the `flags.txt` of its trainer.
    `target_space` is the row of `target_space_embedding` that the model was
    trained with. By default, Adam's moments tell it, and it is 0 for a model of
    version 1.6 or later without them. It needs TensorFlow. The other arguments,
    the result and the errors are those of `import_marian`.
    """
    checkpoint = training_files.Checkpoint(source)
    vocabulary = read_tensor2tensor_vocabulary(_find_vocabulary(source))
    flags = training_files.read_flags(source)
    values = training_files.read_hparams(source, flags)
    hparams = _make_hparams(checkpoint, values, flags)
    if target_space is None:
        target_space = _find_target_space(checkpoint, values, flags)
    arrays = _read_arrays(
        checkpoint, hparams, vocabulary.vocab_size, target_space
    )
    record = {
        "problem": problem,
        "imported": {
            "origin": origin or os.path.abspath(source),
            "languages": training_files.find_languages(flags)
            or ["source", "target"],
            **{n: flags[n] for n in ("problem", "hparams_set") if n in flags},
        },
    }
    vocabularies = Vocabularies(vocabulary, vocabulary)
    step = training_files.read_step(checkpoint.prefix)
    return write_run(output_dir, record, hparams, vocabularies, arrays, step)


def _find_vocabulary(source):
    paths = glob.glob(os.path.join(glob.escape(source), "vocab.*"))
    if len(paths) == 1:
        return paths[0]
    fault = "which does not exist"
    if paths:
        names = ", ".join(sorted(map(os.path.basename, paths)))
        fault = f"which could be any of {names}"
    path = os.path.join(source, "vocab.*.subwords")
    remedy = "Copy only the vocabulary of the model there."
    raise file_error(path, fault, remedy)


def _make_hparams(checkpoint, values, flags):
    layer = "body/encoder/layer_0"
    attention = "self_attention/multihead_attention"
    query, value, inner = (
        _get_shape(checkpoint, f"{layer}/{name}/kernel", 2)
        for name in (f"{attention}/q", f"{attention}/v", "ffn/conv1")
    )
    d_model = query[0]
    num_heads = training_files.find_num_heads(values, flags)
    if not num_heads or query[1] % num_heads or value[1] % num_heads:
        heads = num_heads or "an unknown number of"
        fault = f"whose d_model={d_model} does not suit {heads} heads"
        files = f"{training_files.HPARAMS_FILE} or {training_files.FLAGS_FILE}"
        raise checkpoint.error(fault, f"Copy the {files} of the model.")
    num_layers, num_decoder_layers = map(
        checkpoint.count_layers, ("encoder", "decoder")
    )
    mode = values.get("multiply_embedding_mode", "sqrt_depth")
    positions, max_relative_position = "tensor2tensor", 0
    table = checkpoint.shapes.get(_rename(_RELATIVE, checkpoint))
    if table:
        max_relative_position = table[0] // 2
        positions = "none"
    rates = {n: values[n] for n in training_files.RATES if n in values}
    return HParams(
        num_layers=num_layers,
        num_decoder_layers=num_decoder_layers,
        d_model=d_model,
        d_ff=inner[1],
        num_heads=num_heads,
        # 0 stands for the default.
        d_k=0 if query[1] == d_model else query[1] // num_heads,
        d_v=0 if value[1] == d_model else value[1] // num_heads,
        norm=_find_norm(checkpoint, values),
        norm_epsilon=values.get("norm_epsilon", 1e-6),
        positional_encoding=positions,
        max_relative_position=max_relative_position,
        tied_embeddings=_find_tied_embeddings(checkpoint.shapes),
        scale_embeddings=mode == "sqrt_depth",
        output_bias=True,
        extra_length=100,
        **{training_files.RATES[name]: rate for name, rate in rates.items()},
    )


def _find_norm(checkpoint, values):
    norm = "pre" if _FINAL_NORM in checkpoint.shapes else "post"
    before, after = _SEQUENCES[norm]
    sequences = (
        values.get("layer_preprocess_sequence", before),
        values.get("layer_postprocess_sequence", after),
    )
    if sequences != (before, after):
        raise unsupported(
            checkpoint.prefix,
            f"whose layers pre- and postprocess with {sequences}, not with "
            f"{before, after}",
        )
    return norm


def _find_tied_embeddings(shapes):
    symbols = (name for name in shapes if name.startswith("symbol_modality"))
    if {name.split("/")[1] for name in symbols} != {"shared"}:
        return "none"
    # The vector of the encoder is added only to the source's embeddings.
    return "target" if _TARGET_SPACE in shapes else "all"


def _get_shape(checkpoint, name, rank):
    shape = checkpoint.shapes.get(name)
    if shape is None or len(shape) != rank or 0 in shape:
        raise checkpoint.error(
            f"where {name} is {'absent' if shape is None else shape!s:.60}",
            "Only checkpoints of the model transformer, of version 1.3 or "
            "later, can be imported.",
        )
    return shape


def _read_arrays(checkpoint, hparams, vocab_size, target_space):
    """Reads the weights by our names, after their names and shapes."""
    expected = list_weights(hparams.model, vocab_size, vocab_size)
    body = {
        name: _rename(name, checkpoint)
        for name in expected
        if not name.startswith("model/embedding/")
    }
    for name, theirs in body.items():
        shape = _get_shape(checkpoint, theirs, len(expected[name]))
        if shape != expected[name]:
            fault = f"where {theirs} is {shape} instead of {expected[name]}"
            raise checkpoint.error(fault)
    unknown = {name for name in checkpoint.shapes if name.startswith("body/")}
    unknown -= {*body.values(), _TARGET_SPACE}
    if unknown:
        fault = f"which also has {min(unknown)}"
        raise unsupported(checkpoint.prefix, fault)
    embeddings = {}
    for ours, scope in _SCOPES[hparams.tied_embeddings].items():
        name = f"model/embedding/{ours}"
        embeddings[name] = _read_embeddings(checkpoint, scope, expected[name])
    if _TARGET_SPACE in checkpoint.shapes:
        scale = hparams.d_model**0.5 if hparams.scale_embeddings else 1.0
        vector = _read_space(checkpoint, target_space, hparams.d_model)
        embeddings["model/embedding/input_embeddings"] += vector / scale
    bias = np.zeros(vocab_size, "float32")
    bias[UNKNOWN_ID] = UNLIKELY_BIAS
    arrays = {name: checkpoint.read(theirs) for name, theirs in body.items()}
    return {**embeddings, "model/embedding/output_bias": bias, **arrays}


def _rename(name, checkpoint):
    for ours, theirs in _RENAMED:
        name = re.sub(ours, theirs, name)
    # The scope of the normalisation depends on the version.
    for scope in ("layer_prepostprocess", "layer_postprocess"):
        if name.format(norm=scope) in checkpoint.shapes:
            return name.format(norm=scope)
    return name.format(norm="layer_prepostprocess")


def _read_embeddings(checkpoint, scope, expected):
    """Reads a matrix that is divided into parts, and adds the unknown id."""
    pattern = rf"symbol_modality_\w+/{scope}/weights_(\d+)"
    matches = (re.fullmatch(pattern, name) for name in checkpoint.shapes)
    matches = sorted(filter(None, matches), key=lambda match: int(match[1]))
    names = [match[0] for match in matches]
    num_rows = sum(_get_shape(checkpoint, name, 2)[0] for name in names)
    widths = {checkpoint.shapes[name][1] for name in names}
    # The model lacks the unknown id.
    if (num_rows + 1, widths) != (expected[0], {expected[1]}):
        fault = (
            f"where symbol_modality_*/{scope} has {num_rows:,} rows, but the "
            f"vocabulary has {expected[0] - 1:,}"
        )
        raise checkpoint.error(fault, "Use the vocabulary file of the model.")
    matrix = np.concatenate([checkpoint.read(name) for name in names])
    return np.insert(matrix, UNKNOWN_ID, 0.0, axis=0)


def _find_target_space(checkpoint, values, flags):
    """Returns the row that the encoder adds to every position, or None."""
    # Training changes only the row of the problem, so only its gradients are
    # not zero.
    squares = checkpoint.read_slot(_TARGET_SPACE)
    if squares is not None and squares.any():
        return int(np.sum(squares, axis=1).argmax())
    return 0 if _LATER & {*values, *flags} else None


def _read_space(checkpoint, number, d_model):
    shape = _get_shape(checkpoint, _TARGET_SPACE, 2)
    if shape[1] != d_model or number not in (None, *range(shape[0])):
        fault = f"where {_TARGET_SPACE} is {shape} and has no row {number}"
        raise checkpoint.error(fault)
    if number is None:
        raise checkpoint.error(
            f"where nothing tells the row of {_TARGET_SPACE} that was trained",
            "Copy all files of the model, or name the row: --target_space=0 "
            "for translation since version 1.5.2, before that for example 8 "
            "for German.",
        )
    return checkpoint.read(_TARGET_SPACE)[number]
