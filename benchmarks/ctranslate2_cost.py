"""Compares CTranslate2Engine with plain ctranslate2.Translator.

    python benchmarks/ctranslate2_cost.py EXPORT_INT8/1 test.en

Both get the same lines as text and give the same text back, on the same
threads, in equally large batches of lines of similar lengths. They take turns.
The plain translator runs twice: with the search settings that this package
uses, which is the same work, and with those that CTranslate2 has by default,
which stop the search earlier.

Each row is a beam size, with the median of the rounds in sentences per second.
The percentage is the part of a plain translator's speed that this package
reaches, the median of the ratios of each round.
"""

import os
import statistics
import sys
import time

import ctranslate2
from measurements.workload import read_sentences

from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine
from keras_transformer.formats.ctranslate2.search import PATIENCE

NUM_ROUNDS = 9


class Plain:
    """The fewest lines that translate text with CTranslate2 alone."""

    def __init__(self, path, ours):
        threads = ours.engine.num_threads
        self.engine = ctranslate2.Translator(
            path,
            inter_threads=threads,
            intra_threads=len(os.sched_getaffinity(0)) // threads,
        )
        self.subwords = ours.codec.vocabulary
        self.options = ours.options
        self.batch_rows = ours.engine.batch_rows

    def __call__(self, lines, **settings):
        encoded = self.subwords.encode(lines)
        longest = max(map(len, encoded))
        # It sorts the lines of a call by length, and adds their ends itself.
        results = self.engine.translate_batch(
            [self.subwords.pieces(ids[:-1]) for ids in encoded],
            max_batch_size=self.batch_rows,
            length_penalty=self.options.alpha,
            max_decoding_length=longest + self.options.extra_length,
            min_decoding_length=0,
            **settings,
        )
        return [
            "".join(result.hypotheses[0]).replace("▁", " ").strip()
            for result in results
        ]


def measured_seconds(translators, lines):
    """Returns the seconds of each translator in each round, in lists.

    They take turns, and the order is reversed in every second round.
    """
    seconds = {name: [] for name in translators}
    for number in range(NUM_ROUNDS + 1):
        for name in list(translators)[:: -1 if number % 2 else 1]:
            begin = time.perf_counter()
            translators[name](lines)
            if number:  # the first round warms up
                seconds[name].append(time.perf_counter() - begin)
    return seconds


def main(path, text_path):
    lines = read_sentences(text_path)
    ours = Translator(CTranslate2Engine(path))
    plain = Plain(path, ours)
    print("| beam | this package | plain, same search | plain, by default |")
    print("| --- | --- | --- | --- |")
    for beam_size in (1, 4):
        same = {"beam_size": beam_size}
        if beam_size > 1:
            same["return_scores"] = True
            same["patience"] = PATIENCE
            same["num_hypotheses"] = round(PATIENCE * beam_size)
        seconds = measured_seconds(
            {
                "ours": lambda lines: ours(lines, beam_size=beam_size),
                "same": lambda lines: plain(lines, **same),
                "default": lambda lines: plain(lines, beam_size=beam_size),
            },
            lines,
        )
        cells = [
            f"{len(lines) / statistics.median(each):.0f}"
            for each in seconds.values()
        ]
        for column, name in enumerate(("same", "default"), 1):
            ratio = statistics.median(
                theirs / own
                for theirs, own in zip(seconds[name], seconds["ours"])
            )
            cells[column] += f" ({ratio:.0%})"
        print(f"| {beam_size} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
