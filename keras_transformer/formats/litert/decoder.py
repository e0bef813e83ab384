"""Translates by the files of an export to LiteRT alone, as a phone does."""

import os

import numpy as np

from keras_transformer.errors import require_package
from keras_transformer.files.quiet import silence
from keras_transformer.formats import exported
from keras_transformer.formats.onnx import tokenizer

FORMAT = "litert"
MODULES = ["ai_edge_litert", "tokenizers"]


def decode(directory, texts):
    """Returns the translations of texts by an export, and their scores."""
    for module in MODULES:
        require_package(module, module, "'.[litert]'")
    from ai_edge_litert.interpreter import Interpreter

    sources, targets = tokenizer.read_tokenizers(directory)
    path = os.path.join(directory, exported.FILES[FORMAT])
    with silence():  # it reports what it computes with
        translate = Interpreter(path).get_signature_runner()
    results = [
        translate(inputs=np.array([encoding.ids], "int32"))
        for encoding in sources.encode_batch(texts)
    ]
    ids = [result["outputs"][0, 0].tolist() for result in results]
    scores = [float(result["scores"][0, 0]) for result in results]
    return targets.decode_batch(ids), scores
