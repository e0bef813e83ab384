"""Translators and runs that need no training, for the tests of decoding."""

import typing

import keras
import numpy as np
from keras import ops

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.steps.affixes import TargetTag
from keras_transformer.decoding.translation_model import Reranker
from keras_transformer.decoding.translator import Translator
from keras_transformer.hparam import HParams
from keras_transformer.parsing.linearization import collect_symbols
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.token_ids import END_ID

HPARAMS = HParams(
    num_layers=1, d_model=16, d_ff=32, num_heads=2, extra_length=4
)
TEXTS = [
    "a dog runs over the street",
    "two women",
    "",
    "the man reads a very long book about dogs and women on the street",
    "  ",
    "a book",
    "dogs run",
]
KANA = ["ひらがな だけ の ぶん", "みじかい ぶん", "ながい ことば"]


class InputsCache(typing.NamedTuple):
    """A cache that is the same for all beams and lengths."""

    inputs: typing.Any

    def reorder(self, beams):
        return self


class CopyingModel:
    """Copies its input, the end included."""

    d_model = 512

    def __init__(self, vocab_size):
        self.vocab_size = vocab_size
        self.bias = keras.Variable(np.zeros(vocab_size), dtype="float32")
        self.variables = [self.bias]
        self.compute_dtype = "float32"
        self.shapes = []

    def list_models(self):
        return [self]

    def encode(self, inputs):
        self.shapes.append(tuple(inputs.shape))
        return inputs, inputs != 0

    def init_cache(self, encoded, mask, beam_size, fixed_length=None):
        return InputsCache(encoded)

    def decode_step(self, ids, position, cache, num_ids=None):
        inputs = cache.inputs
        here = ops.equal(ops.arange(ops.shape(inputs)[1]), position)
        copied = ops.sum(ops.where(here[None], inputs, 0), axis=1)
        copied = ops.repeat(copied[:, None], ids.shape[1], axis=1)
        return 9.0 * ops.one_hot(copied, self.vocab_size) + self.bias, cache


class HesitantModel(CopyingModel):
    """Slightly prefers the end to token 5 at every position."""

    def decode_step(self, ids, position, cache, num_ids=None):
        logits = np.zeros((1, 1, self.vocab_size), "float32")
        logits[..., [END_ID, 5]] = 20.0, 19.9
        return logits + 0.0 * ops.cast(ids, "float32")[:, :, None], cache


def make_vocabulary(path):
    return train_subwords(TEXTS * 20, 310, str(path))


def make_kana_vocabulary(path):
    return train_subwords(KANA * 20, 285, str(path))


def make_tree_vocabulary(path, linearization="normalised"):
    tree = parse_tree("(S (NP (DT a) (NN dog)) (VP (VBZ runs)) (. .))")
    symbols = collect_symbols([tree], linearization)
    return train_subwords(TEXTS * 20, 320, str(path), symbols)


def make_translator(vocabulary, hparams=HPARAMS, source_vocabulary=None):
    """Makes a translator whose random model has clear preferences."""
    keras.utils.set_random_seed(5)
    sizes = Vocabularies(source_vocabulary or vocabulary, vocabulary).sizes
    model = build_transformer(
        hparams.model, sizes[0], input_vocab_size=sizes[1]
    )
    # Larger embeddings give probabilities that differ. That of the end is
    # larger still, because the model would hardly ever end otherwise.
    scales = np.full((vocabulary.vocab_size, 1), 4.0, "float32")
    scales[END_ID] = 12.0
    softmax_weights = model.embedding.softmax_weights
    softmax_weights.assign(scales * softmax_weights)
    return Translator(
        KerasEngine(
            model, vocabulary, hparams, source_vocabulary=source_vocabulary
        )
    )


def tag_translator(translator, tag):
    """Returns a translator that puts a tag before each text."""
    steps = [TargetTag(tag, translator.codec)]
    return Translator(translator.engine, steps)


def rerank_translator(translator, reverse, weight=1.0):
    """Returns a translator whose hypotheses a reverse one reorders."""
    reranker = Reranker(reverse, weight)
    return Translator(translator.engine, translator.steps, reranker)


def make_run(path, vocabulary, hparams=HPARAMS, source_vocabulary=None):
    """Writes a run that holds the model of `make_translator` as step 7."""
    vocabularies = Vocabularies(source_vocabulary or vocabulary, vocabulary)
    run = RunDirectory.create(
        str(path),
        {"problem": "mine", **vocabularies.hashes},
        hparams,
        *vocabularies.model_bytes,
    )
    model = make_translator(vocabulary, hparams, source_vocabulary).engine.model
    run.checkpoints.save(7, read_variables(model_variables(model)))
    return run


def ids_of(translator, sources, **options):
    """Returns the ids of the best translations."""
    hypotheses = translator.translate_ids(sources, **options)
    return [best.ids for best, *_ in hypotheses]
