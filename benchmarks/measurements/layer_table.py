"""The layers of the paper's Table 1, measured over lengths and widths."""

import json
import os
import pathlib
import subprocess
import sys
import time
import typing

LENGTHS = (16, 64, 256, 512, 1024, 2048, 4096)
WIDTHS = (128, 256, 512, 1024)
CELL_SCRIPT = pathlib.Path(__file__).with_name("layer_cell.py")
NO_TIME = "no time left"  # the note of a cell that did not finish in time


class Layer(typing.NamedTuple):
    """A row of Table 1: a layer's title and what the paper says about it."""

    title: str
    complexity: str  # operations of a layer
    sequential: str  # operations that must follow one another
    path_length: str  # longest path between two positions


LAYERS = {
    "self_attention": Layer("self-attention", "O(n²·d)", "O(1)", "O(1)"),
    "restricted_self_attention": Layer(
        "self-attention (restricted)", "O(r·n·d)", "O(1)", "O(n/r)"
    ),
    "bare_self_attention": Layer(
        "self-attention without projections", "O(n²·d)", "O(1)", "O(1)"
    ),
    "bare_restricted_self_attention": Layer(
        "self-attention (restricted) without projections",
        *("O(r·n·d)", "O(1)", "O(n/r)"),
    ),
    "lstm": Layer("recurrent (LSTM)", "O(n·d²)", "O(n)", "O(n)"),
    "gru": Layer("recurrent (GRU)", "O(n·d²)", "O(n)", "O(n)"),
    "convolution": Layer("convolutional", "O(k·n·d²)", "O(1)", "O(log_k(n))"),
    "separable_convolution": Layer(
        "separable convolutional", "O(k·n·d + n·d²)", "O(1)", "O(log_k(n))"
    ),
}


class Cell(typing.NamedTuple):
    """A layer at one length and width, with its figures.

    The figures come from `layer_cell.measure`. They are absent if `note`
    says why the cell was not measured.
    """

    name: str  # key of LAYERS
    length: int  # n
    width: int  # d
    figures: dict
    note: str = ""


def measure_layers(
    lengths,
    widths,
    neighbourhood_size,
    backend,
    seconds,
    show=lambda cell: None,
):
    """Measures every layer at every length and width, while there is time.

    Short sequences come first, so a lack of time affects only the longest. A
    cell that is still running after `seconds` is stopped. It and all later ones
    get a note instead of figures. `show` is called with each `Cell`.
    """
    end = time.monotonic() + seconds
    cells = []
    for length in sorted(lengths):
        for width in sorted(widths):
            for name in LAYERS:
                arguments = {"name": name, "length": length, "width": width}
                figures, note = _measure(
                    {**arguments, "neighbourhood_size": neighbourhood_size},
                    backend,
                    end - time.monotonic(),
                )
                cells.append(Cell(**arguments, figures=figures, note=note))
                show(cells[-1])
    return cells


def _measure(arguments, backend, seconds):
    """Returns the figures of a cell, and the reason if there are none."""
    if seconds <= 0:
        return {}, NO_TIME
    command = [sys.executable, CELL_SCRIPT, json.dumps(arguments)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, "KERAS_BACKEND": backend},
        )
    except subprocess.TimeoutExpired:
        return {}, NO_TIME
    if done.returncode < 0:
        # For example for lack of memory, which the process does not report.
        return {}, f"ended by signal {-done.returncode}"
    if done.returncode:
        last_line = done.stderr.strip().rpartition("\n")[2]
        return {}, last_line or f"ended with status {done.returncode}"
    return json.loads(done.stdout.strip().rpartition("\n")[2]), ""
