"""Translates with an export of ONNX and a beam of 4.

    KERAS_BACKEND=numpy python benchmarks/onnx_beam.py EXPORT/1 SUFFIX NUMBER

Standard input is a JSON list of texts, and the result is one of translations,
which have at most NUMBER tokens more than their texts. The graphs end in
SUFFIX. They compute the steps of `beam_search`, for which NumPy took a twelfth
of the processor's time that eager TensorFlow did.
"""

import json
import sys
import typing

import numpy as np
from keras import ops

from keras_transformer.formats.onnx.session import OnnxSession
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


if __name__ == "__main__":
    directory, suffix, extra_length = sys.argv[1:]
    session = BeamSession(directory, suffix)
    found = session.translate(json.load(sys.stdin), int(extra_length))
    json.dump(found[0], sys.stdout)
