"""Checkpoints that are damaged, missing, hostile, or of another model."""

import io
import zipfile

import numpy as np
from damage import copies
from damage import flips
from damage import grows
from damage import has
from damage import links
from damage import makes
from damage import removes
from damage import saves
from damage import truncates
from damage import writes
from rows import row

NEWEST = "{run}/checkpoints/ckpt-3000.npz"
FIRST = "{run}/checkpoints/ckpt-1500.npz"
# With one sentence, because the model is loaded for the first one.
# A model that was converted before needs no checkpoint, so Keras reads it here.
DECODE = "kt-decoder --output_dir={run} --engine=keras"
AVERAGE = "kt-avg-checkpoints --output_dir={run} --num_last_checkpoints=2 "
AVERAGE += "--noevaluate"
EXPORT = "kt-exporter --output_dir={run} --format=ctranslate2"
RESUME = "kt-trainer --output_dir={run} --data_dir={data} --train_steps=16000"
QUERY = "model/encoder/layer_0/self_attention/query"
EMBEDDING = "model/embedding/embeddings"
SLOW = {"stdin": b"a", "cpu_seconds": 60}


def npz(**members):
    """Returns the bytes of a zip file with members of any content."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name + ".npy"), content)
    return file.getvalue()


def header(shape, dtype="<f4"):
    """Returns the header of an array without its content."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


PICKLED = header((1,), "|O") + b"\x80\x03csys\nexit\nq\0)\x81q\1."
ZEROS = bytes(2**22)
ROWS = [
    row(DECODE, removes("{run}/checkpoints"), says="checkpoint"),
    row(DECODE, removes(FIRST), removes(NEWEST), says="checkpoint"),
    row(DECODE + " --checkpoint_step=2000", says="step 2000"),
    row(DECODE + " --checkpoint_step=1500", removes(FIRST), says="step 1500"),
    *(
        row(command, *damages, says="heckpoint", **options)
        for command, options in (
            (DECODE, SLOW),
            (AVERAGE, {}),
            (EXPORT, {}),
        )
        for damages in (
            [writes(NEWEST, b"")],
            [writes(NEWEST, b"a\n" * 99)],
            [writes(NEWEST, b"PK\x05\x06" + bytes(18))],
            [writes(NEWEST, b"PK\x03\x04" + bytes(99))],
            [writes(NEWEST, b"\x80\x03csys\nexit\nq\0)\x81q\1.")],
            [writes(NEWEST, npz(a=PICKLED))],
            [writes(NEWEST, npz(a=b"\x93NUMPY\x09\x09"))],
            [writes(NEWEST, npz(**{QUERY: header((10**12,))}))],
            [writes(NEWEST, npz(**{EMBEDDING: header((2**62, 2**62))}))],
            [writes(NEWEST, npz(**{QUERY: header((-1, 16))}))],
            [writes(NEWEST, npz(**{QUERY: header((2**20,)) + ZEROS}))],
            [makes(NEWEST)],
            [truncates(NEWEST, 0.1)],
            [truncates(NEWEST, 0.9)],
            [truncates(NEWEST, 0.9999)],
            [flips(NEWEST, 0.02)],
            [flips(NEWEST, 0.1)],
            [grows(NEWEST, 2**33)],
            [saves(NEWEST, QUERY, None)],
            [saves(NEWEST, QUERY, np.zeros((8, 8), "float32"))],
            [saves(NEWEST, QUERY, np.full((16, 16), np.nan, "float32"))],
            [saves(NEWEST, QUERY, np.array([["a"] * 16] * 16))],
            [saves(NEWEST, EMBEDDING, np.zeros((300, 16), "float32"))],
            [copies(NEWEST, "{run}/run.json")],
        )
    ),
    row(EXPORT + " --checkpoint_step=1500", removes(FIRST), says="step 1500"),
    row(AVERAGE, removes(FIRST), says="num_last_checkpoints"),
    row(AVERAGE, removes(FIRST), removes(NEWEST), says="checkpoint"),
    row(AVERAGE, truncates(FIRST, 0.5), says="ckpt-1500.npz"),
    row(AVERAGE, saves(FIRST, QUERY, np.zeros((8, 8), "float32"))),
    row(AVERAGE, saves(FIRST, QUERY, None), says="ckpt-"),
    row(
        RESUME, truncates(NEWEST, 0.5), has("{data}"), says="ckpt-3000", **SLOW
    ),
    row(RESUME, saves(NEWEST, "progress/step", None), says="ckpt-3000", **SLOW),
    row(RESUME, saves(NEWEST, "progress/step", np.array(7)), says="step is 7"),
    row(RESUME, saves(NEWEST, "progress/seconds", np.array(-1.0))),
    row(
        RESUME,
        saves(NEWEST, "progress/positions", np.array(-9)),
        says="but is -9",
    ),
    row(AVERAGE, saves(NEWEST, QUERY, np.ones((16, 16), "int32"))),
    row(
        "kt-decoder --output_dir={run}",
        saves(NEWEST, QUERY, np.ones((16, 16), "int32")),
        says="integers",
        stdin=b"a",
    ),
    row(AVERAGE, links(NEWEST, NEWEST), says="ckpt-3000"),
    row(AVERAGE, links("{run}/checkpoints", "checkpoints")),
    row(
        RESUME,
        saves(NEWEST, "progress/epoch", np.array(-1)),
        says="ckpt-3000",
        **SLOW,
    ),
    row(
        RESUME,
        saves(NEWEST, "optimizer/iteration", None),
        says="optimizer/iteration",
        **SLOW,
    ),
    row(RESUME, saves(NEWEST, EMBEDDING, None), says="embedding", **SLOW),
    row(
        "kt-attention --output_dir={run} --text=a --html=a.html",
        truncates(NEWEST, 0.5),
        says="ckpt-3000",
        **SLOW,
    ),
]
