"""Searches with an exported SavedModel, which holds its vocabulary."""

import dataclasses
import itertools
import os

from keras_transformer.data.text import normalization
from keras_transformer.decoding.engines import batching
from keras_transformer.decoding.engines import engine
from keras_transformer.errors import UserError
from keras_transformer.errors import is_out_of_memory
from keras_transformer.files.quiet import silence
from keras_transformer.files.reading import check_files
from keras_transformer.formats import exported
from keras_transformer.search.options import MAX_TERM_TOKENS

EXPORT_PATH = os.path.join(exported.EXTRA, exported.EXPORT_FILE)


@dataclasses.dataclass(frozen=True)
class CountedText:
    """A text and its number of tokens, in place of an encoded sentence.

    Its length is its number of tokens, as with ids; 0 if it is blank.
    """

    number: int  # of the sentence, for error messages
    text: str
    num_tokens: int

    def __len__(self):
        return self.num_tokens


class SavedModelEngine(engine.Engine):
    """Searches with a model that was exported as a SavedModel.

    It gives the translations of its run, with the options of the export. It
    needs TensorFlow and tensorflow-text, but not this package's layers. The
    path names a version, or a directory whose newest version is loaded. The
    functions of its `signatures` are passed if they are loaded already.
    """

    max_length = None
    trained_length = engine.EXPORT_LENGTH

    def __init__(self, path, signatures=None):
        self.path = exported.find_newest_version(path)
        self.record, self.options = check_saved_model(path)
        self.capabilities = make_capabilities(path, self.options)
        self._signatures = _load_signatures(self.path, signatures)
        if "with_terms" not in self._signatures:
            self.capabilities = dataclasses.replace(
                self.capabilities,
                description=f"{self.capabilities.description}, whose search "
                "takes no terms,",
                supports=(),
            )
        self.codec = SavedModelCodec(self._signatures, self.record)
        self.num_threads = batching.count_tensorflow_threads()
        self._runner = batching.BatchRunner(self.num_threads)

    def search(self, sentences, options, scored=True):
        """Searches for the hypotheses of sentences, see `KerasEngine.search`.

        Only `num_hypotheses` of the options counts; the export fixes the rest.
        """
        sources, terms = sentences.sources, sentences.terms
        name = "with_terms" if terms else "serving_default"
        signature = self._signatures[name]

        def translate(batch):
            texts = {"text": [sources[i].text for i in batch]}
            if terms:
                texts["terms"] = batching.fill_rows([terms[i] for i in batch])
            outputs = _call(signature, texts)
            rows = zip(outputs["translations"], outputs["scores"].tolist())
            # A score of -inf marks a missing hypothesis.
            return [
                [
                    engine.Hypothesis(text.decode(), score)
                    for text, score in zip(*row)
                    if score > float("-inf")
                ][: options.num_hypotheses]
                for row in rows
            ]

        costs = batching.estimate_search_costs(
            map(len, sources), self.options, self.codec.linearization
        )
        return self._run(translate, costs, batching.CACHE_POSITIONS, sources)

    def score(self, sources, targets, options):
        """Scores translations of sentences, see `KerasEngine.score`."""

        def score_pairs(batch):
            texts = {
                "text": [sources[i].text for i in batch],
                "targets": [targets[i].text for i in batch],
            }
            return _call(self._signatures["score"], texts)["scores"].tolist()

        costs = batching.estimate_scoring_costs(sources, targets)
        # Texts and translations are in memory at once.
        most = batching.CACHE_POSITIONS // 2
        return self._run(score_pairs, costs, most, sources)

    def _run(self, function, costs, most, sources):
        return self._runner.run(
            [function], costs, most, lambda i: self.codec.describe(sources[i])
        )


class SavedModelCodec:
    """Counts the tokens of texts by the vocabularies inside a SavedModel.

    It has the methods of `Codec`. An encoded sentence is a `CountedText`, and
    hypotheses come with their texts. `record` is the content of `export.json`.
    """

    may_lack_text = False  # a SavedModel cannot tell which text it lacks

    def __init__(self, signatures, record):
        self._signatures = signatures
        self.max_tokens = record["max_tokens"]
        self.linearization = record.get("linearization")
        self.has_words = record.get("has_words", True)
        self.language_codes = record.get("language_codes", [])
        self._normalizes_text = record.get("normalizes_text", False)

    def normalize(self, text):
        return normalization.normalize(text) if self._normalizes_text else text

    def count_tokens(self, texts, of_targets=False):
        name = "lengths"
        if of_targets and "target_lengths" in self._signatures:
            name = "target_lengths"
        outputs = _call(self._signatures[name], {"text": texts})
        return outputs["lengths"].tolist()

    def encode(self, texts, start=0, name="sentence", of_targets=False):
        lengths = self.count_tokens(texts, of_targets)
        engine.check_lengths(texts, lengths, self.max_tokens, start, name)
        counted = []
        for number, (text, length) in enumerate(zip(texts, lengths), start + 1):
            is_blank = not text.strip() or length < 2
            counted.append(CountedText(number, text, 0 if is_blank else length))
        return counted

    def encode_prefixes(self, prefixes, start=0):
        return None  # `Capabilities` refuse prefixes

    def encode_terms(self, terms, start=0):
        distinct = sorted(set(itertools.chain.from_iterable(terms)))
        # Each number counts the end of a sentence, too.
        numbers = self.count_tokens(distinct, of_targets=True)
        num_tokens = dict(zip(distinct, numbers))
        for number, each in enumerate(terms, start + 1):
            longest = max((num_tokens[term] - 1 for term in each), default=0)
            if len(each) > exported.MAX_TERMS or longest > MAX_TERM_TOKENS:
                raise UserError(
                    f"An export takes at most {exported.MAX_TERMS} terms of a "
                    f"glossary in a sentence, and {MAX_TERM_TOKENS} tokens in "
                    f"a term. Received: sentence {number} with {len(each)} "
                    f"terms, the longest of {longest} tokens. Use the run's "
                    "directory."
                )
        return terms

    def decode(self, rows):
        return rows

    def describe(self, source):
        return f"sentence {source.number}, {source.text[:20]!r}..."


def make_capabilities(path, options):
    """Returns the `Capabilities` of a SavedModel with these options."""
    return engine.Capabilities(
        f"The SavedModel in {path}",
        "the run's directory",
        ("glossary", "samples"),
        options,
    )


def check_saved_model(path):
    """Checks a SavedModel as far as is possible without TensorFlow.

    Returns its record and its `DecodeOptions`; see `read_export`.
    """
    directory = exported.find_newest_version(path)
    for name in (exported.SAVED_MODEL_FILE, EXPORT_PATH):
        if not os.path.isfile(os.path.join(directory, name)):
            raise UserError(
                f"{path} holds no SavedModel of kt-exporter: {name} is "
                "missing. Export the run with kt-exporter."
            )
    record, options = exported.read_export(os.path.join(directory, EXPORT_PATH))
    if not record.get("of_text"):
        raise UserError(
            "A SavedModel must take text to translate with it. Received: "
            f"{directory!r}, which was exported with "
            "--format=saved_model_ids. Use --format=saved_model."
        )
    return record, options


def _call(signature, texts):
    """Calls a signature with lists of texts by name; returns NumPy arrays."""
    import tensorflow as tf

    # Without a type, TensorFlow turns an empty list into numbers.
    tensors = {
        key: tf.constant(value, tf.string) for key, value in texts.items()
    }
    outputs = signature(**tensors)
    return {key: tensor.numpy() for key, tensor in outputs.items()}


def _load_signatures(path, signatures):
    """Loads the signatures if there are none, and checks them."""
    check_files(path)
    exported.require_tensorflow_text(
        "translate with the run itself or a CTranslate2 model"
    )
    # Imported here because TensorFlow takes seconds.
    import tensorflow as tf
    import tensorflow_text  # noqa: F401 (registers SentencePiece's ops)

    try:
        # TensorFlow logs that it cannot read a fingerprint, but needs none.
        # SentencePiece logs at the first use of each vocabulary.
        with silence():
            if not signatures:
                signatures = tf.saved_model.load(path).signatures
            for name in ("lengths", "target_lengths"):
                if name in signatures:
                    signatures[name](text=tf.constant([""]))
        missing = {"serving_default", "lengths"} - set(signatures)
    # TensorFlow reports a damaged file with many kinds of errors.
    except Exception as error:
        if is_out_of_memory(error):
            raise
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"The SavedModel in {path} is damaged: {exported.SAVED_MODEL_FILE} "
            f"or variables cannot be read ({reason}). Export the run again."
        ) from error
    if missing:
        raise UserError(
            f"The SavedModel in {path} lacks signatures of kt-exporter: "
            f"{', '.join(sorted(missing))}. Export the run again."
        )
    return signatures
