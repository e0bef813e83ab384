"""Makes the text that `gpu.sh` measures on, and the page of its figures.

python benchmarks/gpu_report.py text TEXT_DIR
python benchmarks/gpu_report.py auto TEXT_DIR HPARAMS_SET
python benchmarks/gpu_report.py page REPORT_DIR
"""

import itertools
import json
import os
import string
import subprocess
import sys
import tempfile

import numpy as np

from keras_transformer.data.vocabulary.subwords import train_subwords

VOCAB_SIZE = 8000
NUM_WORDS = 20_000
NUM_LINES = {"train": 40_000, "dev": 100}
LINE_LENGTHS = range(8, 20)  # words, 1.3 subwords each
MODULES = "keras_transformer.bin"


def make_text(directory):
    """Writes parallel text of made-up words, a vocabulary and a `data_dir`.

    The speed of training depends on the lengths of the sentences alone.
    """
    rng = np.random.default_rng(0)
    letters = np.array(list(string.ascii_lowercase))
    words = [
        "".join(rng.choice(letters, size))
        for size in rng.integers(2, 9, NUM_WORDS)
    ]
    # The frequency of a word is inverse to its rank (Zipf's law).
    shares = 1 / np.arange(1, NUM_WORDS + 1)
    shares /= shares.sum()
    texts, options = [], []
    for split, side in itertools.product(NUM_LINES, ("source", "target")):
        lengths = rng.choice(LINE_LENGTHS, NUM_LINES[split])
        drawn = iter(rng.choice(words, lengths.sum(), p=shares))
        lines = [" ".join(next(drawn) for _ in range(n)) for n in lengths]
        path = os.path.join(directory, f"{split}.{side}")
        with open(path, "w") as file:
            file.writelines(f"{line}\n" for line in lines)
        texts += lines
        options.append(f"--{split}_{side}={path}")
    model = os.path.join(directory, "vocabulary.model")
    train_subwords(texts, VOCAB_SIZE, model)
    _run(
        "datagen",
        f"--data_dir={directory}/data",
        *options,
        f"--vocabulary={model}",
    )


def try_automatic_batch(text_dir, hparams_set):
    """Trains two updates with `--batch_tokens=auto`; prints what it chose."""
    with tempfile.TemporaryDirectory() as run:
        log = _run(
            *(
                "trainer",
                f"--data_dir={text_dir}/data",
                f"--output_dir={run}/run",
            ),
            *(f"--hparams_set={hparams_set}", "--train_steps=2"),
            *("--batch_tokens=auto", "--effective_batch_tokens=25000"),
            "--eval_frequency=2",
        )
    line = next(x for x in log.splitlines() if "batch_tokens" in x)
    print(json.dumps({"log": line}))


def print_page(report_dir):
    """Prints tables in Markdown of all figures that were measured."""
    with open(os.path.join(report_dir, "figures.jsonl")) as file:
        rows = [json.loads(line) for line in file]
    devices = {row["figures"].get("device") for row in rows} - {None}
    names = " and ".join(sorted(devices)) or "a processor"
    print(f"Measured on {names}.\n")
    print(
        "| training | target tokens/s | range | MFU |\n"
        "| --- | --- | --- | --- |"
    )
    for row in rows:
        if speed := row["figures"].get("target_tokens_per_second"):
            if row["row"].startswith("train"):
                figures = row["figures"]
                spread = figures["target_tokens_per_second_range"]
                mfu = figures["model_flops_utilization"]
                print(
                    f"| {row['row'][6:]} | {speed:,.0f} | "
                    f"{spread[0]:,.0f} to {spread[1]:,.0f} | "
                    f"{f'{mfu:.1%}' if mfu else 'unknown'} |"
                )
    print("\n| decoding | sentences/s | range |\n| --- | --- | --- |")
    for row in rows:
        if speed := row["figures"].get("sentences_per_second"):
            spread = row["figures"]["sentences_per_second_range"]
            print(
                f"| {row['row'][7:]} | {speed:,.1f} | "
                f"{spread[0]:,.1f} to {spread[1]:,.1f} |"
            )
    print()
    for row in rows:
        if not row["row"].startswith(("train ", "decode ")):
            print(f"- {row['row']}: {row['figures'].get('log', 'passed')}")


def _run(command, *options):
    """Runs a command on parallel files, and returns what it logs."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            f"{MODULES}.{command}",
            "--problem=translate_files",
        ]
        + list(options),
        check=True,
        text=True,
        stderr=subprocess.PIPE,
    ).stderr


if __name__ == "__main__":
    _, action, *arguments = sys.argv
    {"text": make_text, "auto": try_automatic_batch, "page": print_page}[
        action
    ](*arguments)
