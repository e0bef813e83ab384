"""Measures this checkout and appends a line of JSON to a history.

    python benchmarks/history.py benchmarks/history.jsonl

`make benchmark` calls it; docs/speed.md says how to read what it writes. All
work is made-up text and `transformer_tiny`. A figure is an amount per second.
It is also given per matrix product, since products of two matrices of 2,048
rows and columns in float32 are timed before and after each measurement. So a
slower or busier machine changes it less than a change of the code does.
"""

import datetime
import functools
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZE = 2048  # of the matrices
NUM_PRODUCTS = 5
NUM_STARTS = 3
SET = "--hparams_set=transformer_tiny"
# The amount that measure.py reports in each of its modes.
AMOUNTS = {
    "train": "target_tokens_per_second",
    "input": "pairs_per_second",
    "decode": "target_tokens_per_second",
}


def main(path):
    loads, begin = [os.getloadavg()[0]], time.monotonic()
    commit = find_commit()
    versions, figures, products = {}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        make_models(folder)
        for name, work in list_work(folder).items():
            seconds = [time_product()]
            per_second, found = work()
            seconds.append(time_product())
            product = statistics.mean(seconds)
            products += seconds
            versions |= found
            figures[name] = {
                "per_second": round(per_second, 3),
                "per_product": float(f"{per_second * product:.4g}"),
            }
    loads.append(os.getloadavg()[0])
    now = datetime.datetime.now(datetime.UTC)
    record = {
        "date": now.strftime("%Y-%m-%d %H:%M"),
        "commit": commit,
        "machine": describe_machine(),
        "load": [round(load, 2) for load in loads],
        "seconds": round(time.monotonic() - begin),
        "product_seconds": round(statistics.median(products), 4),
        "versions": {"python": platform.python_version(), **versions},
        "figures": figures,
    }
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    print(json.dumps(record, indent=2))


def make_models(folder):
    """Makes the text, an untrained run and its model for CTranslate2."""
    for name, number in (("train", 20_000), ("text", 200), ("line", 1)):
        script = [ROOT / "benchmarks/large_corpus.py", str(number), name]
        subprocess.run([sys.executable, *script], check=True, cwd=folder)
    files = [
        f"--{split}={folder}/{name}.source,{folder}/{name}.target"
        for split, name in (("train", "train"), ("dev", "text"))
    ]
    problem, data = "--problem=translate_files", f"--data_dir={folder}/data"
    call("datagen", problem, data, *files, "--vocab_size=8000")
    run = f"--output_dir={folder}/run"
    call("trainer", problem, data, run, SET, "--train_steps=1")
    export = f"--export_dir={folder}/export"
    call("exporter", run, export, "--format=ctranslate2")


def list_work(folder):
    """Returns functions that measure, by the names of their figures."""
    train = [
        SET,
        *(f"--train_{x}={folder}/train.{x}" for x in ("source", "target")),
        f"--vocabulary={folder}/data/translate_files/vocab.model",
    ]
    text, line = (
        f"--decode_from_file={folder}/{x}.source" for x in ("text", "line")
    )
    run, export = (f"--output_dir={folder}/{x}" for x in ("run", "export"))
    work = {
        "training, tokens": [run_benchmark, "train", *train],
        "making batches, pairs": [run_benchmark, "input", *train],
    }
    for engine, model in (("Keras", run), ("CTranslate2", export)):
        for name, beam_size in (("greedy", 1), ("beam 4", 4)):
            work[f"{engine}, {name}, tokens"] = [
                run_benchmark,
                "decode",
                model,
                text,
                # Random weights rarely write the end, so all reach this limit.
                f"--decode_hparams=beam_size={beam_size},extra_length=10",
            ]
    work |= {
        "--help, starts": [time_starts, "--help"],
        "first translation, Keras, starts": [
            time_starts,
            run,
            line,
            "--engine=keras",
        ],
        "first translation, CTranslate2, starts": [time_starts, export, line],
    }
    return {name: functools.partial(*parts) for name, parts in work.items()}


def run_benchmark(mode, *flags):
    """Returns an amount per second by measure.py, and the versions."""
    script = str(ROOT / "benchmarks/measure.py")
    output = start(script, f"--mode={mode}", "--num_passes=3", *flags)
    figures = json.loads(output)
    return figures[AMOUNTS[mode]], figures["versions"]


def time_starts(*flags):
    """Returns how often per second kt-decoder could start and end."""
    call("decoder", *flags)  # reads files from the disk
    seconds = []
    for _ in range(NUM_STARTS):
        begin = time.perf_counter()
        call("decoder", *flags)
        seconds.append(time.perf_counter() - begin)
    return 1 / statistics.median(seconds), {}


def time_product():
    """Returns the seconds of a matrix product, the median of several."""
    matrix = np.random.default_rng(0).standard_normal((SIZE, SIZE), "float32")
    matrix @ matrix
    seconds = []
    for _ in range(NUM_PRODUCTS):
        begin = time.perf_counter()
        matrix @ matrix
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def describe_machine():
    """Returns the name and the cores of the processor."""
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        text = pathlib.Path("/proc/cpuinfo").read_text("utf-8")
        names = re.findall(r"^model name\s*: (.+)$", text, re.MULTILINE)
        name = names[0] if names else name
    return f"{name}, {os.cpu_count()} cores"


def find_commit():
    """Returns the commit, marked if files beside the history have changed."""
    commit = call_git("describe", "--always", "--exclude=*")
    others = ["--", ":!benchmarks/history.jsonl"]
    is_changed = call_git("status", "--porcelain", *others)
    return f"{commit}-dirty" if is_changed else commit


def call_git(*arguments):
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip()


def call(command, *flags):
    """Runs a command of the package; returns its standard output."""
    return start("-m", f"keras_transformer.bin.{command}", *flags)


def start(*arguments):
    """Runs Python and returns its standard output."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    return done.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
