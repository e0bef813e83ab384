"""Translates greedily with an export, by ONNX Runtime and its tokenizers."""

import os

import numpy as np

from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import read_record
from keras_transformer.formats.marian.config import CONFIG_FILE
from keras_transformer.formats.onnx import tokenizer
from keras_transformer.formats.onnx import writer
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import NEVER_WRITTEN
from keras_transformer.token_ids import PAD_ID

_CONFIG = {"d_model": WHOLE, "decoder_attention_heads": WHOLE}


class OnnxSession:
    """Translates by the files of an export alone.

    Args:
        directory: A version that `export_onnx` wrote.
        suffix: `writer.QUANTIZED` for the graphs in 8 bits. Defaults to "",
            those in float32.
    """

    def __init__(self, directory, suffix=""):
        # Imported here because most exports do not need it.
        import onnxruntime

        self._encoder, self._decoder = (
            onnxruntime.InferenceSession(
                os.path.join(directory, writer.FOLDER, f"{name}{suffix}.onnx")
            )
            for name in (writer.ENCODER, writer.DECODER)
        )
        config = read_record(os.path.join(directory, CONFIG_FILE), _CONFIG)
        num_heads = config["decoder_attention_heads"]
        width = config["d_model"] // num_heads
        self._cache = {
            each.name: np.zeros((1, num_heads, 0, width), "float32")
            for each in self._decoder.get_inputs()
            if each.name.startswith("past")
        }
        self.source, self.target = tokenizer.read_tokenizers(directory)

    def translate(self, texts, extra_length):
        """Returns translations and the logarithms of their probabilities.

        They have at most `extra_length` tokens more than the texts.
        """
        rows = [encoding.ids for encoding in self.source.encode_batch(texts)]
        found = [self.search(ids, extra_length) for ids in rows]
        translations = self.target.decode_batch([ids for ids, _ in found])
        return translations, [score for _, score in found]

    def search(self, ids, extra_length):
        """Returns the ids of a greedy translation, and its score."""
        features = self.encode(ids)
        written, score = [PAD_ID], 0.0
        while written[-1] != END_ID:
            logits = self.decode_step(features, np.array([written[-1:]]))[0]
            # In float32, a sum over the vocabulary would lose digits.
            total = np.logaddexp.reduce(logits.astype("float64"))
            logits[list(NEVER_WRITTEN)] = -np.inf
            # The last place is for the end.
            is_last = len(written) == len(ids) + extra_length
            written.append(END_ID if is_last else int(logits.argmax()))
            score += float(logits[written[-1]] - total)
        return written[1:-1], score

    def encode(self, ids):
        """Returns the inputs of `decode_step` at the beginning."""
        # A place of padding changes nothing, unless a graph ignores the mask.
        mask = np.array([[1] * len(ids) + [0]])
        inputs = {"input_ids": np.array([[*ids, PAD_ID]])}
        (encoded,) = self._encoder.run(None, {**inputs, "attention_mask": mask})
        return {
            "encoder_attention_mask": mask,
            "encoder_hidden_states": encoded,
            **self._cache,
        }

    def decode_step(self, features, last_ids):
        """Returns logits `(batch, vocab_size)`, and adds to the cache.

        The `last_ids` are `(batch, 1)`; the first ones are ignored.
        """
        (name, *_) = self._cache
        inputs = {
            **features,
            "input_ids": last_ids,
            "use_cache_branch": np.array([features[name].shape[2] > 0]),
        }
        names = [each.name for each in self._decoder.get_outputs()]
        outputs = dict(zip(names, self._decoder.run(None, inputs)))
        for name in self._cache:
            new = name.replace("past_key_values", "present")
            features[name] = outputs[new]
        return outputs["logits"][:, -1]
