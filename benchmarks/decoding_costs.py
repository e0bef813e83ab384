"""Measures what decoding costs and draws docs/decoding_costs.png.

    python benchmarks/decoding_costs.py RUN test.en docs/decoding_costs.png

Three measurements use the run's model: sentences per second in batches of
similar and of mixed lengths, milliseconds per sentence for growing beams, and
milliseconds per sentence for growing lengths. For the last one, sentences are
joined into sources of about the wanted length, and the length of their
translations is forced.
"""

import dataclasses
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from measurements.decode import time_decoding
from measurements.workload import read_sentences

from keras_transformer.decoding.engines import batching
from keras_transformer.runs.model import load_model
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions

BEAMS = (1, 4, 8, 21)
LENGTHS = (16, 32, 64, 128, 256)
FEW = 3  # every third sentence is enough for a growing beam
NUM_LONG = 64  # sources of each length
NUM_PASSES = 3


def sources_of_length(sources, length, number):
    """Joins sentences into sources of the given length."""
    joined, current = [], []
    for ids in sources * length:
        if len(joined) == number:
            return joined
        current += ids[:-1]
        if len(current) >= length - 1:
            joined.append([*current[: length - 1], ids[-1]])
            current = []
    return joined


def main(run_dir, text_path, picture_path):
    batching.give_each_a_core()
    run = RunDirectory(run_dir)
    model = load_model(run)
    options = DecodeOptions.from_hparams(run.hparams)
    sources = run.vocabulary.encode(read_sentences(text_path))

    def measure(sources, what, **changes):
        settings = {
            name: changes.pop(name)
            for name in ("target_length", "by_length")
            if name in changes
        }
        figures = time_decoding(
            model,
            sources,
            dataclasses.replace(options, **changes),
            num_passes=NUM_PASSES,
            **settings,
        )
        low, high = figures["sentences_per_second_range"]
        speed = figures["sentences_per_second"]
        print(json.dumps({"what": what, **figures}), flush=True)
        return tuple(1000 / x for x in (speed, high, low))

    for by_length in (True, False, True, False):
        measure(sources, f"by_length={by_length}", by_length=by_length)
    few = sources[::FEW]
    by_beam = [
        measure(few, f"beam_size={beam}", beam_size=beam) for beam in BEAMS
    ]
    by_length = [
        measure(
            sources_of_length(sources, length, NUM_LONG),
            f"length={length}",
            target_length=length,
        )
        for length in LENGTHS
    ]
    draw(by_beam, by_length, picture_path)


def draw(by_beam, by_length, path):
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    panels = zip(
        axes,
        (BEAMS, LENGTHS),
        (by_beam, by_length),
        ("beam size, free length", "tokens, beam size 4"),
    )
    for axis, xs, costs, label in panels:
        medians = [median for median, _, _ in costs]
        errors = [
            [median - low for median, low, _ in costs],
            [high - median for median, _, high in costs],
        ]
        axis.errorbar(xs, medians, errors, marker="o", capsize=3)
        for x, cost in zip(xs, medians):
            axis.annotate(
                f"{cost:.1f}",
                (x, cost),
                textcoords="offset points",
                xytext=(-6, 6),
                ha="right",
            )
        axis.set_xticks(xs)
        axis.set_xlabel(label)
        axis.margins(x=0.12)
        axis.set_ylim(0, 1.15 * max(medians))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("milliseconds per sentence")
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main(*sys.argv[1:])
