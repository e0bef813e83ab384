"""Measures how fast CTranslate2 translates at its best settings.

    python benchmarks/ctranslate2_peer.py --run=run --text=test.source \
        --beam=4 --device=cuda --precision=float16

Every translation has 24 tokens, as with `measure.py --mode=decode
--target_length=24`. The fastest of three sizes of batches counts. One line of
JSON has the sentences per second.
"""

import argparse
import json
import os

import ctranslate2
from measurements import machine
from measurements import workload

from keras_transformer.formats.ctranslate2.conversion import find_or_convert
from keras_transformer.runs.run_directory import RunDirectory

LENGTH = 24


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("run", "text", "device", "precision"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--beam", type=int, required=True)
    flags = parser.parse_args()
    run = RunDirectory(flags.run)
    model = find_or_convert(run, run.checkpoints.find(None))
    translator = ctranslate2.Translator(
        *(model, flags.device),
        compute_type=flags.precision,
        inter_threads=2,
    )
    with open(os.path.join(model, "shared_vocabulary.json")) as file:
        pieces = json.load(file)
    lines = workload.read_sentences(flags.text)
    sentences = [
        # The converted model adds the end of the sentence itself.
        [pieces[id_] for id_ in ids[:-1]]
        for ids in run.vocabulary.encode(lines)
    ]
    results = {}
    for batch_tokens in (2048, 8192, 32768):

        def translate(num_times, batch_tokens=batch_tokens):
            for _ in range(num_times):
                translator.translate_batch(
                    sentences,
                    beam_size=flags.beam,
                    min_decoding_length=LENGTH - 1,
                    max_decoding_length=LENGTH - 1,
                    max_batch_size=batch_tokens,
                    batch_type="tokens",
                )

        passes = machine.time_passes(translate, num_passes=3)
        speed, speed_range = passes.rate(len(sentences))
        results[speed] = {
            "sentences_per_second": round(speed, 2),
            "sentences_per_second_range": [round(x, 2) for x in speed_range],
            "batch_tokens": batch_tokens,
        }
    print(json.dumps(results[max(results)]))


if __name__ == "__main__":
    main()
