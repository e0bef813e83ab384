"""Makes runs of Tensor2Tensor's models named `transformer`.

They differ from the paper's model in their positions (`tensor2tensor` in
`positional_encoding`), in a vector that the encoder adds to every input, and in
a vocabulary without an unknown id. The vector is added to the embeddings of the
source. The unknown id gets a row of zeros and a bias that rules it out.

The variables have the names of versions 1.3 to 1.15, which can read each
other's checkpoints.
"""

import glob
import os
import re

import numpy as np

from keras_transformer import registry
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.files import array_files
from keras_transformer.files.reading import file_error
from keras_transformer.formats.imported_run import write_run
from keras_transformer.formats.tensor2tensor import training_files
from keras_transformer.formats.tensor2tensor.vocabulary import (
    read_tensor2tensor_vocabulary,
)
from keras_transformer.hparam import HParams
from keras_transformer.model_config import list_weights
from keras_transformer.token_ids import UNKNOWN_ID

_REMEDY = (
    "Only checkpoints of the model transformer, of version 1.3 or later, can "
    "be imported."
)
# A row of zeros with this bias gets a probability of 0 in float32.
UNLIKELY_BIAS = -100.0
# From our names of weights to Tensor2Tensor's, one after another.
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
    ("(_residual/norm|/final_norm)/", "/layer_prepostprocess/layer_norm/"),
    ("/gamma$", "/layer_norm_scale"),
    ("/beta$", "/layer_norm_bias"),
    ("^model/", "body/"),
)
_EMBEDDING = "model/embedding/"
_TARGET_SPACE = "body/target_space_embedding/kernel"
# Since version 1.6, all text has the space 0; its files have such a name.
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
    version 1.6 or later without them. If `problem` is None, the model's is used
    if it is known here. This needs TensorFlow. The other arguments, the result
    and the errors are as in `import_marian`.
    """
    checkpoint = training_files.Checkpoint(source)
    vocabulary = read_tensor2tensor_vocabulary(_find_vocabulary(source))
    flags = training_files.read_flags(source)
    values = training_files.read_hparams(source, flags, checkpoint)
    hparams = _make_hparams(checkpoint, values, flags)
    arrays = _read_arrays(checkpoint, hparams, vocabulary.vocab_size)
    if _TARGET_SPACE in checkpoint.shapes:
        is_later = bool(_LATER & {*values, *flags})
        d_model = hparams.d_model
        vector = _read_space(checkpoint, d_model, target_space, is_later)
        scale = d_model**0.5 if hparams.scale_embeddings else 1.0
        arrays[f"{_EMBEDDING}input_embeddings"] += vector / scale
    if problem is None:
        name = flags.get("problem", "")
        is_known = registry.base_name(name) in registry.problems.names()
        problem = name if is_known else "translate_files"
    record = {
        "problem": problem,
        "imported": {
            "origin": origin or os.path.abspath(source),
            "languages": training_files.find_languages(flags),
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
    names = ", ".join(sorted(map(os.path.basename, paths)))
    fault = (
        f"which could be any of {names}" if paths else "which does not exist"
    )
    path = os.path.join(source, "vocab.*.subwords")
    remedy = "Copy only the vocabulary of the model there."
    raise file_error(path, fault, remedy)


def _make_hparams(checkpoint, values, flags):
    layer = "body/encoder/layer_0"
    attention = f"{layer}/self_attention/multihead_attention"
    (d_model, keys_width), (_, values_width), (_, d_ff) = (
        _get_shape(checkpoint, f"{name}/kernel")
        for name in (f"{attention}/q", f"{attention}/v", f"{layer}/ffn/conv1")
    )
    num_heads = training_files.find_num_heads(values, flags)
    if not num_heads or keys_width % num_heads or values_width % num_heads:
        heads = num_heads or "an unknown number of"
        fault = f"whose d_model={d_model} does not suit {heads} heads"
        files = f"{training_files.HPARAMS_FILE} or {training_files.FLAGS_FILE}"
        raise checkpoint.error(fault, f"Copy the {files} of the model.")
    names = training_files.FIELDS
    fields = {names[name]: values[name] for name in names if name in values}
    mode = values.get("multiply_embedding_mode", "sqrt_depth")
    limit = checkpoint.max_relative_position
    return HParams(
        num_layers=checkpoint.count_layers("encoder"),
        num_decoder_layers=checkpoint.count_layers("decoder"),
        d_model=d_model,
        d_ff=d_ff,
        num_heads=num_heads,
        # 0 stands for the default.
        d_k=0 if keys_width == d_model else keys_width // num_heads,
        d_v=0 if values_width == d_model else values_width // num_heads,
        norm=checkpoint.norm,
        positional_encoding="none" if limit else "tensor2tensor",
        max_relative_position=limit,
        tied_embeddings=_find_tied_embeddings(checkpoint.shapes),
        scale_embeddings=mode == "sqrt_depth",
        output_bias=True,
        extra_length=100,
        **fields,
    )


def _find_tied_embeddings(shapes):
    symbols = (name for name in shapes if name.startswith("symbol_modality"))
    if {name.split("/")[1] for name in symbols} != {"shared"}:
        return "none"
    # The vector of the encoder is added only to the source's embeddings.
    return "target" if _TARGET_SPACE in shapes else "all"


def _get_shape(checkpoint, name):
    """Returns the shape of a matrix."""
    shape = checkpoint.shapes.get(name, "absent")
    if len(shape) != 2 or 0 in shape:
        raise checkpoint.error(f"where {name!r} is {shape!s:.60}", _REMEDY)
    return shape


def _read_arrays(checkpoint, hparams, vocab_size):
    """Reads the weights by our names, after their names and shapes."""
    expected = list_weights(hparams.model, vocab_size, vocab_size)
    body = {
        name: _rename(name, checkpoint)
        for name in expected
        if not name.startswith(_EMBEDDING)
    }
    stored = {
        name: shape
        for name, shape in checkpoint.shapes.items()
        if name.startswith("body/") and name != _TARGET_SPACE
    }
    required = {theirs: expected[name] for name, theirs in body.items()}
    array_files.check_shapes(required, stored, checkpoint.prefix, _REMEDY)
    arrays = {name: checkpoint.read(theirs) for name, theirs in body.items()}
    for ours, scope in _SCOPES[hparams.tied_embeddings].items():
        name = _EMBEDDING + ours
        arrays[name] = _read_embeddings(checkpoint, scope, expected[name])
    bias = np.zeros(vocab_size, "float32")
    bias[UNKNOWN_ID] = UNLIKELY_BIAS
    return {**arrays, f"{_EMBEDDING}output_bias": bias}


def _rename(name, checkpoint):
    for ours, theirs in _RENAMED:
        name = re.sub(ours, theirs, name)
    # The scope of the normalisation after a sub-layer depends on the version.
    other = name.replace("/layer_prepostprocess/", "/layer_postprocess/")
    return other if other in checkpoint.shapes else name


def _read_embeddings(checkpoint, scope, expected):
    """Reads a matrix that is divided into parts, and adds the unknown id."""
    pattern = rf"symbol_modality_\w+/{scope}/weights_\d+"
    names = [name for name in checkpoint.shapes if re.fullmatch(pattern, name)]
    names.sort(key=lambda name: int(name.rpartition("_")[2]))
    num_rows = sum(_get_shape(checkpoint, name)[0] for name in names)
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


def _read_space(checkpoint, d_model, number, is_later):
    """Reads the vector that the encoder adds to every position."""
    if number is None:
        # Training changes only the row of the problem, so only its gradients
        # are not zero.
        squares = checkpoint.read_slot(_TARGET_SPACE)
        if squares is not None and squares.any():
            number = int(np.sum(squares, axis=1).argmax())
        elif is_later:
            number = 0
        else:
            raise checkpoint.error(
                f"where nothing tells the row of {_TARGET_SPACE} that was "
                "trained",
                "Copy all files of the model, or name the row: --target_space=0"
                " for translation since version 1.5.2, before that for example "
                "8 for German.",
            )
    shape = _get_shape(checkpoint, _TARGET_SPACE)
    if shape[1] != d_model or number not in range(shape[0]):
        fault = f"where {_TARGET_SPACE} is {shape} and has no row {number}"
        raise checkpoint.error(fault)
    return checkpoint.read(_TARGET_SPACE)[number]
