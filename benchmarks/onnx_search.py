"""Compares translations of an ONNX export with those of its run.

    KERAS_BACKEND=numpy python benchmarks/onnx_search.py RUN EXPORT/1 [NUMBER]

It translates 200 or NUMBER sources of the test split by the graphs of the
export, in float32 and in 8 bits, greedily and with a beam of 4, and prints the
equal translations and BLEU of both. Other programs search an export greedily.
Here `beam_search` of this package takes its graphs for its steps. ONNX Runtime
computes one sentence at a time, with its beams as a batch.
"""

import functools
import sys
import typing

import numpy as np
from keras import ops

from keras_transformer.decoding.certificate import GREEDY
from keras_transformer.decoding.certificate import compare
from keras_transformer.decoding.certificate import translate_ids
from keras_transformer.decoding.loading import load
from keras_transformer.formats.onnx.session import OnnxSession
from keras_transformer.formats.onnx.writer import QUANTIZED
from keras_transformer.runs.data_record import find_problem
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.beam_search import beam_search
from keras_transformer.search.beams import gather_beams
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import NEVER_WRITTEN

BEAM_SIZE, ALPHA = 4, 0.6


class Past(typing.NamedTuple):
    """The cache of the decoder."""

    arrays: dict  # by the names of its inputs, (1, beam, heads, length, width)

    def reorder(self, beams):
        return Past(gather_beams(self.arrays, beams))


class BeamSession(OnnxSession):
    """Searches with several hypotheses."""

    def search(self, ids, extra_length):
        """Returns the ids of the best translation, and its score."""
        features = {
            name: np.repeat(array, BEAM_SIZE, axis=0)
            for name, array in self.encode(ids).items()
        }
        names = [name for name in features if name.startswith("past")]

        def step(last_ids, position, past):
            for name, array in past.arrays.items():
                features[name] = np.array(array[0])
            last_ids = np.array(last_ids, "int64").reshape(BEAM_SIZE, 1)
            logits = self.decode_step(features, last_ids)
            past = Past({n: ops.array(features[n][None]) for n in names})
            return ops.array(logits[None]), past

        found = beam_search(
            step,
            Past({n: ops.array(features[n][None]) for n in names}),
            BEAM_SIZE,
            np.array([len(ids) + extra_length]),
            ALPHA,
            num_hypotheses=1,
            forbidden=NEVER_WRITTEN,
        )
        written = np.array(found.sequences)[0, 0].tolist()
        return written[: written.index(END_ID)], float(found.scores[0, 0])


def main(run_path, export_path, number="200"):
    run = RunDirectory(run_path)
    texts, references = (
        side[: int(number)] for side in find_problem(run).text_split("test")
    )
    limit = {"extra_length": run.hparams.decoding.extra_length}
    translator = load(run_path)
    searches = {
        "greedy": (OnnxSession, GREEDY),
        "beam 4": (BeamSession, {"beam_size": BEAM_SIZE, "alpha": ALPHA}),
    }
    for name, (session, options) in searches.items():
        ours = functools.partial(translate_ids, translator, **options, **limit)
        for suffix in ("", QUANTIZED):
            theirs = session(export_path, suffix).translate
            theirs = functools.partial(theirs, **limit)
            found = compare(ours, theirs, texts, references)
            print(f"{name}, {'8 bits' if suffix else 'float32'}: {found}")


if __name__ == "__main__":
    main(*sys.argv[1:])
