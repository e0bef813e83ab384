"""Compares a beam search over an ONNX export with that of its run.

    python benchmarks/onnx_beam.py RUN EXPORT_ONNX/1

Other programs search an export greedily. Here `beam_search` of this package
takes the graphs of the export for its steps, in float32 and in 8 bits. It
translates 200 sources of the test split with a beam of 4. ONNX Runtime computes
one sentence at a time, with its beams as a batch.
"""

import functools
import sys
import typing

import numpy as np
from keras import ops

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

NUM_SENTENCES = 200
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


def main(run_path, export_path):
    run = RunDirectory(run_path)
    texts = find_problem(run).text_split("test")[0][:NUM_SENTENCES]
    limit = {"extra_length": run.hparams.decoding.extra_length}
    ours = functools.partial(
        translate_ids,
        load(run_path),
        beam_size=BEAM_SIZE,
        alpha=ALPHA,
        **limit,
    )
    for suffix in ("", QUANTIZED):
        session = BeamSession(export_path, suffix)
        theirs = functools.partial(session.translate, **limit)
        print(f"{suffix or '_float32'}: {compare(ours, theirs, texts)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
