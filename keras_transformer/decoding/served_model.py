"""Opens an exported model for a server."""

import functools
import os

import numpy as np

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.data.text.tags import make_tag_word
from keras_transformer.decoding.engines.batching import run_in_parallel
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.preparation import Call
from keras_transformer.decoding.preparation import Window
from keras_transformer.decoding.steps.affixes import FinalEmoji
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.translation import Extras
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.formats import exported
from keras_transformer.formats.saved_model.engine import EXPORT_PATH
from keras_transformer.formats.saved_model.engine import SavedModelEngine
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.forms import Options
from keras_transformer.serving.loaded_model import LoadedModel
from keras_transformer.serving.signature import Signature
from keras_transformer.serving.signature import Tensor
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

_WARMUP_TOKENS = 8


def open_model(path):
    """Opens a version; pass this function to `Server`.

    The directory holds any SavedModel, or a CTranslate2 model of kt-exporter.
    All classes of models have the interface of `LoadedModel`.
    """
    exported.refuse_foreign(path)
    if exported.find_export_format(path) == "ctranslate2":
        return CTranslate2Model(path)
    record_path = os.path.join(path, EXPORT_PATH)
    if os.path.isfile(record_path):
        record, _ = exported.read_export(record_path)
        # The graph alone keeps a parser to trees.
        if record.get("of_text") and not record.get("linearization"):
            return SavedModel(path)
    return LoadedModel(path)


class ServedTranslator:
    """Translates for the signature `serving_default` as kt-decoder does.

    `features` are the names of the `Options` that it takes.
    """

    def __init__(self, plan, engine):
        # A server returns the symbols of a parsing model, not its trees.
        self.translator = Translator(engine, [FinalEmoji()])
        self._quality = plan.read_quality()
        supported = self.translator.capabilities.supports
        if self.translator.linearization:
            supported = ()
        available = {
            "alignments": "word_links" in supported,
            "glossary": "glossary" in supported,
            "quality": self._quality is not None,
        }
        self.features = {name for name in available if available[name]}

    def translate(self, text, options):
        """Returns arrays by name; the `Options` ask for some of them.

        The results of the signature are followed by "warnings", by "quality" if
        the model has an estimate, and by "alignments".
        """
        texts = self.decode(text)
        sources = self.encode(self.translator.prepare(texts), "text")
        glossary = self._read_glossary(options, texts)
        extras = Extras(
            warns=True,
            repairs=True,
            links_words=options.alignments,
            quality=self._quality,
        )
        found = self.translator.translate_window(
            Window(texts), glossary=glossary, extras=extras
        )
        rows = [translation.hypotheses for translation in found]
        shape = len(rows), self.translator.options.num_hypotheses
        translations = np.full(shape, b"", object)
        for row, hypotheses in enumerate(rows):
            encoded = [one.text.encode() for one in hypotheses]
            translations[row, : len(encoded)] = encoded
        written = [best for source, (best, *_) in zip(sources, rows) if source]
        warnings = (list(one.warnings) for one in found)
        outputs = {
            "translations": translations,
            "scores": self.list_scores(sources, rows),
            "warnings": np.fromiter(warnings, object),
            # For the metrics; it has no rows.
            "num_tokens": {
                "source": sum(map(len, sources)),
                "target": sum(self.translator.count_written(written)),
            },
        }
        if self._quality:
            qualities = (one.quality and round(one.quality, 4) for one in found)
            outputs["quality"] = np.fromiter(qualities, object)
        if options.alignments:
            pairs = (one.links.find_pairs() for one in found)
            outputs["alignments"] = np.fromiter(pairs, object)
        return outputs

    def _read_glossary(self, options, texts):
        """Returns the `Glossary` of a request, checked, or None."""
        if not options.glossary:
            return None
        glossary = Glossary(dict(options.glossary))
        call = Call(self.translator.options, glossary=glossary)
        try:
            self.translator.check_call(call)
        except UserError as error:
            raise InvalidRequest(str(error)) from error
        most = max((len(glossary.find(text)) for text in texts), default=0)
        if most > exported.MAX_TERMS:
            raise InvalidRequest(
                f"A text may have {exported.MAX_TERMS} terms of a glossary."
                f" Received: one with {most}. Split it, or leave terms out."
            )
        return glossary

    def list_scores(self, sources, rows):
        """Returns scores of shape `(batch, num_hypotheses)`."""
        # A score of -inf marks a hypothesis that does not exist.
        shape = len(rows), self.translator.options.num_hypotheses
        scores = np.full(shape, -np.inf, "float32")
        for row, (source, hypotheses) in enumerate(zip(sources, rows)):
            scores[row, : len(hypotheses)] = [one.score for one in hypotheses]
            if not source:  # a blank text
                scores[row] = 0.0
        return scores

    def find_tag(self, language):
        """Returns what the model wants before a text to translate it.

        It is "" if the vocabulary has no tag for the language.
        """
        codec = self.translator.codec
        word = make_tag_word(language, codec.language_codes)
        # One token for the tag, and one for the end.
        return f"{word} " if codec.count_tokens([word]) == [2] else ""

    def decode(self, array):
        """Returns the texts in an array of bytes."""
        try:
            return [text.decode() for text in array]
        except UnicodeDecodeError as error:
            raise InvalidRequest(exported.NOT_UTF8) from error

    def encode(self, texts, name, of_targets=False):
        """Returns the ids of the texts of an input; a blank one has none."""
        try:
            return self.translator.codec.encode(texts, of_targets=of_targets)
        except UserError as error:
            most = self.translator.max_tokens
            message = exported.describe_long_sentence(name, most)
            raise InvalidRequest(message) from error


class SavedModel(LoadedModel):
    """Loads a SavedModel of kt-exporter that translates text for a server."""

    def __init__(self, path):
        super().__init__(path)
        engine = SavedModelEngine(path, self.functions)
        self._default = ServedTranslator(plan_model(path), engine)
        self.features = self._default.features
        self.find_tag = self._default.find_tag

    def call(self, name, arrays, options=Options()):
        """Runs a signature and returns its results, arrays by name.

        The results of `serving_default` are as in `CTranslate2Model`.
        """
        if name == "serving_default":
            return self._default.translate(**arrays, options=options)
        return super().call(name, arrays)


class CTranslate2Model(ServedTranslator):
    """Loads a CTranslate2 model of kt-exporter for a server.

    It has the signatures, results and errors of a SavedModel of the same run,
    apart from the differences that `docs/serving.md` lists, such as the missing
    signature `with_terms`. It needs no TensorFlow.
    """

    def __init__(self, path):
        plan = plan_model(path)
        super().__init__(plan, plan.open_engine())
        if plan.linearization and plan.options.constrained:
            # Without a full stop: `Versions` puts it in parentheses.
            raise UserError(
                "CTranslate2 cannot constrain its search to trees, which a "
                "server needs; use --format=saved_model, or "
                "--decode_hparams=constrained=false"
            )
        codec = self.translator.codec
        self._sources = codec.source_vocabulary
        self.signatures = _make_signatures(plan.options.num_hypotheses)
        if self._sources.sha256 != codec.vocabulary.sha256:
            self.signatures["target_lengths"] = self.signatures["lengths"]
        self.max_tokens = self.translator.max_tokens
        self.num_parallel = self.translator.engine.num_threads
        self._functions = {
            "ids": self._translate_ids,
            "score": self._score,
            "lengths": self._count_tokens,
            "target_lengths": lambda text: self._count_tokens(text, True),
        }
        # Before the version is available, so that no client waits for it.
        self._warm_up()

    @functools.cached_property
    def signature_defs(self):
        """The signatures in the messages of the protocol, by name."""
        # Imported here because few clients ask for them.
        from keras_transformer.serving.messages import SignatureDef
        from keras_transformer.serving.messages import get_data_type

        definitions = {}
        for name, signature in self.signatures.items():
            definition = SignatureDef(method_name="tensorflow/serving/predict")
            for side in ("inputs", "outputs"):
                infos = getattr(definition, side)
                for key, tensor in getattr(signature, side).items():
                    infos[key].name = f"{name}_{key}:0"
                    infos[key].dtype = get_data_type(tensor.dtype)
                    for size in tensor.shape:
                        infos[key].tensor_shape.dim.add().size = size or -1
            definitions[name] = definition
        return definitions

    def call(self, name, arrays, options=Options()):
        """Runs a signature and returns its results, arrays by name.

        The results of `serving_default` include "warnings", and "alignments"
        and "quality" if the `Options` ask for them and the model has them.
        """
        if name == "serving_default":
            return self.translate(**arrays, options=options)
        return self._functions[name](**arrays)

    def _warm_up(self):
        """Translates a few tokens in each thread: its first call is slow."""
        size = self._sources.vocab_size
        ids = [*range(size // 2, size)[:_WARMUP_TOKENS], END_ID]  # skips bytes

        def translate(_):
            self.translator.translate_ids([ids], extra_length=0)

        threads = range(self.num_parallel)
        list(run_in_parallel(translate, threads, self.num_parallel))

    def _translate_ids(self, inputs):
        lengths = np.count_nonzero(inputs != PAD_ID, axis=1)  # (batch,)
        self._check_ids(inputs, lengths)
        sources = [
            row[:length].tolist() for row, length in zip(inputs, lengths)
        ]
        rows = self.translator.translate_ids(sources)
        options = self.translator.options
        # A row of padding has no ids at all, and so has a missing hypothesis.
        flat = [
            hypotheses[column].ids if column < len(hypotheses) else []
            for hypotheses in rows
            for column in range(options.num_hypotheses)
        ]
        extra = options.extra_length
        limits = [len(ids) + extra if ids else 1 for ids in sources]
        # One more row gives the array the length that the longest could have.
        longest = max(limits, default=1)
        outputs = pad([*flat, [PAD_ID] * longest])[:-1]
        return {
            "outputs": outputs.reshape(-1, options.num_hypotheses, longest),
            "scores": self.list_scores(sources, rows),
        }

    def _score(self, text, targets):
        if len(text) != len(targets):
            raise InvalidRequest(exported.NOT_PAIRED)
        sources = self.translator.prepare(self.decode(text))
        targets = self.translator.prepare_targets(self.decode(targets))
        sources = self.encode(sources, "text")
        targets = self.encode(targets, "targets", of_targets=True)
        scores = self.translator.score_ids(sources, targets)
        return {"scores": np.array(scores, "float32")}

    def _count_tokens(self, text, of_targets=False):
        texts = self.decode(text)
        lengths = self.translator.codec.count_tokens(texts, of_targets)
        return {"lengths": np.array(lengths, "int32")}

    def _check_ids(self, inputs, lengths):
        vocab_size = self._sources.vocab_size
        places = np.arange(inputs.shape[1])[None, :]
        is_last = places == lengths[:, None] - 1
        is_known = (inputs >= 0) & (inputs < vocab_size)
        is_text = places < lengths[:, None]
        too_long = exported.describe_long_sentence("inputs", self.max_tokens)
        for message, holds in (
            (too_long, lengths <= self.max_tokens),
            (exported.describe_unknown_ids(vocab_size), is_known),
            (exported.NO_END, is_last == (inputs == END_ID)),
            (exported.EARLY_PADDING, (inputs != PAD_ID) == is_text),
        ):
            if not np.all(holds):
                raise InvalidRequest(message)


def _make_signatures(num_hypotheses):
    def tensor(dtype, *shape):
        return Tensor(np.dtype(dtype), (None, *shape))

    text, ids = tensor(object), tensor("int32", None)
    scores = tensor("float32", num_hypotheses)
    translations = tensor(object, num_hypotheses)
    outputs = tensor("int32", num_hypotheses, None)
    return {
        "serving_default": Signature(
            {"text": text}, {"translations": translations, "scores": scores}
        ),
        "ids": Signature(
            {"inputs": ids}, {"outputs": outputs, "scores": scores}
        ),
        "score": Signature(
            {"text": text, "targets": text}, {"scores": tensor("float32")}
        ),
        "lengths": Signature({"text": text}, {"lengths": tensor("int32")}),
    }
