"""Writes the newest checkpoint of a run as a demo of the package, in 8 bits.

`make demo-model` trains the run and calls this. It prints the SHA-256 that
`keras_transformer/formats/demo.py` must state.

    python benchmarks/demo_model.py RUN en-es
"""

import hashlib
import io
import json
import pathlib
import shutil
import sys
import tempfile
import zipfile

import numpy as np

from keras_transformer.formats import demo
from keras_transformer.runs.model_card import make_model_card
from keras_transformer.runs.run_directory import RunDirectory

FOLDER = pathlib.Path(demo.__file__).with_name("demo_models")
CARD = {"licence": "cc-by-2.0", "datasets": ["Tatoeba"]}
LIMITS = """
## What it cannot do

This model comes with `keras_transformer` so that the first command translates
something. It has learned from 112,049 short sentences of Tatoeba alone, whose
licence is CC BY 2.0 FR (https://tatoeba.org), and so has this model. It
translates everyday sentences of up to about 15 words. It does not know terms,
names or news, it is bad at long sentences, and it invents what it does not
know. Do not use it for anything that matters.
"""
_FILES = ("run.json", "hparams.json", "vocab.model", "metrics.csv", "scores")


def main(path, name):
    step = RunDirectory(path).checkpoints.steps[-1]
    entries = {}
    with tempfile.TemporaryDirectory() as aside:
        shutil.copytree(path, aside, dirs_exist_ok=True)
        run = describe(RunDirectory(aside), name.split("-"))
        weights = io.BytesIO()
        arrays = run.checkpoints.load(step, {"model"})
        np.savez(weights, **round_weights(arrays))
        entries[f"checkpoints/ckpt-{step}.npz"] = weights.getvalue()
        entries["README.md"] = (make_model_card(run) + LIMITS).encode()
        for file in filter(
            pathlib.Path.is_file, pathlib.Path(aside).rglob("*")
        ):
            inner = file.relative_to(aside)
            if inner.parts[0] in _FILES:
                entries[inner.as_posix()] = file.read_bytes()
    content = pack(entries)
    (FOLDER / f"{name}.zip").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    print(f"{len(content) / 1e6:.2f} MB, SHA-256 {digest}")


def describe(run, languages):
    """Records the licence and the languages, and no place on this machine."""
    data = {**run.record["data"], "languages": languages}
    record = {**run.record, **CARD, "data": data, "data_dir": None}
    record = json.dumps(record, indent=2) + "\n"
    pathlib.Path(run.file("run.json")).write_text(record)
    return RunDirectory(run.path)


def round_weights(arrays):
    """Returns matrices as int8, and a float32 scale for each of their rows."""
    rounded = {}
    for name, array in arrays.items():
        if array.ndim == 2:
            largest = np.abs(array).max(axis=1, keepdims=True)
            scale = np.maximum(largest / 127, 1e-30).astype("float32")
            rounded[name + demo.SCALE] = scale
            array = np.rint(array / scale).astype("int8")
        rounded[name] = array
    return rounded


def pack(entries):
    """Returns a zip file without times: equal entries make equal bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, entry in sorted(entries.items()):
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            archive.writestr(info, entry, zipfile.ZIP_DEFLATED)
    return content.getvalue()


if __name__ == "__main__":
    main(*sys.argv[1:])
