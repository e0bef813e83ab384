"""Writes a run as one page that translates in a browser, without a network."""

import dataclasses
import functools
import json
import os
import re
import tempfile
import zlib

import numpy as np

from keras_transformer.errors import UserError
from keras_transformer.files import directories
from keras_transformer.files.reading import begins_with
from keras_transformer.formats import exported
from keras_transformer.formats.ctranslate2 import conversion
from keras_transformer.formats.onnx.tokenizer import find_symbols
from keras_transformer.runs.data_record import list_language_codes
from keras_transformer.runs.model_card import LANGUAGES
from keras_transformer.runs.model_card import make_model_card
from keras_transformer.runs.weights import check_checkpoint
from keras_transformer.runs.weights import read_weights
from keras_transformer.visualization.page import write_page

FORMAT = "html"
PAGE_FILE = "index.html"
# The start of page.html, which tells our pages from others.
_BEGINNING = "<!DOCTYPE html>\n<!-- Written by keras_transformer"
# The fields of a model that the page computes; see `check_understood`. Unlike
# CTranslate2, it can add positions to relative ones.
UNDERSTOOD = {
    **conversion.UNDERSTOOD,
    "positional_encoding": ("sinusoidal", "tensor2tensor", "learned", "none"),
}
_ADVICE = "Export it with --format=saved_model or --format=ctranslate2."


def export_html(run, export_dir, options, step=None, certify=None):
    """Writes a checkpoint as a page that needs no other file; returns its path.

    The page is `index.html` in `export_dir`, or `export_dir` itself if that
    ends in ".html". It holds the weights in 8 bits, the vocabularies, the
    search and the model card, and opens from a disk or any server. It
    decodes with the `DecodeOptions`. Other files in the directory stay. The
    step is an integer or "best" and defaults to the newest. Raises a
    `UserError` if the page cannot compute the model. `certify` takes the path
    of the page before it has its place, and returns a text for the card.
    """
    _check_model(run, options)
    path = find_page(export_dir)
    step = run.checkpoints.find(step)
    check_checkpoint(run, step)
    codes = list_language_codes(run)
    names = [LANGUAGES.get(code, code) for code in codes]
    export = {"format": FORMAT, "decode": options}
    write = functools.partial(
        write_page,
        template="formats/html/page/page.html",
        codes=codes,
        title=f"{names[0]} to {names[1]}" if len(names) == 2 else "Translation",
        beam_size=options.beam_size,
        model=encode_bytes(_pack(run, step, options)),
    )
    if certify:
        with tempfile.TemporaryDirectory() as folder:
            draft = os.path.join(folder, PAGE_FILE)
            write(draft, card="")
            export["certificate"] = certify(draft)
    card = make_model_card(run, step, export)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write(path, card=card.partition("\n---\n")[2].strip())  # no header
    return path


def _check_model(run, options):
    exported.check_understood(
        run.hparams.model, UNDERSTOOD, "in a page", _ADVICE
    )
    exported.check_translates(run, "A page", _ADVICE)
    for vocabulary in run.vocabularies:
        model = vocabulary.parse_model()
        joins_letters = model.denormalizer_spec.precompiled_charsmap
        if vocabulary.is_imported or joins_letters:
            raise UserError(
                "A page needs a vocabulary of kt-datagen that does not divide "
                f"Hangul into letters. Received: {run.path}, whose vocabulary "
                "does, or is of given symbols, of Marian or of Tensor2Tensor. "
                f"{_ADVICE}"
            )
    exported.check_search(options, "in a page")


def find_page(export_dir):
    """Returns the path of the page, after checking that it may be written."""
    path = os.path.abspath(export_dir)
    if not path.endswith(".html"):
        path = os.path.join(path, PAGE_FILE)
    directories.check_directory(os.path.dirname(path), "`export_dir`")
    if os.path.lexists(path) and not begins_with(path, _BEGINNING):
        raise UserError(
            "`export_dir` must not hold another page. Received: "
            f"export_dir={export_dir!r}, but {path} is not one that "
            "kt-exporter wrote. Name another directory."
        )
    return path


def encode_bytes(content):
    """Writes bytes as printable ASCII, 16 bytes in 20 characters.

    Two of 91 characters stand for 13 bits. A tilde is written instead of "<",
    which has a meaning in HTML. Base64 would take 22 characters.

    >>> encode_bytes(b"abc")
    ')b+f'
    """
    bits = np.unpackbits(np.frombuffer(content, "uint8"), bitorder="little")
    bits = np.pad(bits, (0, -len(bits) % 13)).reshape(-1, 13)
    pairs = np.stack(np.divmod(bits @ (1 << np.arange(13)), 91), axis=1)
    text = (pairs + ord("#")).astype("uint8").tobytes().decode("ascii")
    return text.replace("<", "~")


def _pack(run, step, options):
    """Returns weights and vocabularies as `open` of worker.js reads them."""
    config = dataclasses.asdict(run.hparams.model)
    config["d_k"], config["d_v"] = run.hparams.model.head_widths
    config["num_decoder_layers"] = run.hparams.model.decoder_depth
    described, parts = [], []
    for name, array in read_weights(run.checkpoints, step).items():
        name, array = name.removeprefix("model/"), array.astype("<f4")
        # In the page, each row of a matrix belongs to one output, as it does in
        # tables of embeddings already.
        is_table = re.search("embedding|positions|relative", name) is not None
        transposed = array.ndim == 2 and not is_table
        if array.ndim == 2:
            array, scales = exported.quantize(array)
            parts.append(scales.tobytes())
        array = array.T if transposed else array
        parts.append(array.tobytes())
        described.append(
            {"name": name, "shape": array.shape, "transposed": transposed}
        )
    # The target's vocabulary comes first.
    vocabularies = dict.fromkeys((run.vocabulary, run.source_vocabulary))
    models = [vocabulary.parse_model() for vocabulary in vocabularies]
    tables = [each.normalizer_spec.precompiled_charsmap for each in models]
    # The names under which the page looks for some weights.
    tied = ("none", "target", "all").index(config["tied_embeddings"])
    uses = ("embedding/softmax_weights", "embedding/input_embeddings")[:tied]
    shared = dict.fromkeys(uses, "embedding/embeddings")
    shared["embedding/softmax_weights_bias"] = "embedding/output_bias"
    header = {
        "config": config,
        "options": dataclasses.asdict(options),
        "weights": described,
        "shared": shared,
        "vocabularies": [
            _describe_vocabulary(vocabulary, model)
            for vocabulary, model in zip(vocabularies, models)
        ],
    }
    text = json.dumps(header).encode()
    content = b"".join([len(text).to_bytes(4, "little"), text, *parts, *tables])
    # These settings make the smallest result. It has no header, as browsers
    # expect of deflate-raw.
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    packed = deflate.compress(content) + deflate.flush()
    # The length comes first, because `encode_bytes` may add a byte at the end,
    # which browsers refuse.
    return len(packed).to_bytes(4, "little") + packed


def _describe_vocabulary(vocabulary, model):
    """Returns what tokenizer.js reads, except the table of replacements."""
    kind = model.trainer_spec.model_type
    return {
        "pieces": [piece.piece for piece in model.pieces],
        "types": [piece.type for piece in model.pieces],
        "scores": [piece.score for piece in model.pieces],
        "symbols": find_symbols(model),
        "kind": model.trainer_spec.ModelType.Name(kind),
        "hasCapitals": vocabulary.has_capitals,
        "normalizer": len(model.normalizer_spec.precompiled_charsmap),
    }
