"""A run with random weights and its export to CTranslate2."""

import keras
import numpy as np

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.hparam import HParams
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID

WORDS = "a dog runs over the street two women read book about dogs and".split()


def make_translator(directory, norm="post", silent=0.0):
    """Writes a run with random weights, exports it and loads our translator.

    Args:
        directory: Path of the run.
        norm: "post" or "pre". Defaults to "post".
        silent: How likely padding and the unknown id are. Defaults to 0, which
            leaves their weights alone.
    """
    path = str(directory / "vocab.model")
    vocabulary = train_subwords([" ".join(WORDS)] * 9, 290, path)
    hparams = HParams(
        num_layers=1,
        d_model=16,
        d_ff=24,
        num_heads=2,
        norm=norm,
        extra_length=6,
    )
    record = {"problem": "copy", "hparams_set": "mine"}
    run = RunDirectory.create(
        str(directory), record, hparams, vocabulary.model_bytes
    )
    keras.utils.set_random_seed(1)
    model = build_transformer(hparams.model, vocabulary.vocab_size)
    generator = np.random.default_rng(1)
    arrays = read_variables(model_variables(model))
    for name, array in arrays.items():
        noise = generator.normal(size=array.shape) * 0.5
        arrays[name] = (array + noise).astype("float32")
    # Otherwise the empty translation would be the best of a random model.
    embeddings = arrays["model/embedding/embeddings"]
    embeddings[END_ID] = 0.0
    if silent:
        # Copies of likely words, slightly likelier than these.
        embeddings[[0, 2]] = silent * embeddings[[270, 280]]
    run.checkpoints.save(1, arrays)
    translator = Translator.load(run.path, engine="keras")
    translator.exported = export_ctranslate2(
        run, run.file("export"), DecodeOptions.from_hparams(hparams)
    )
    return translator
