"""Sentences in, translations out, by an exported SavedModel."""

import json
import os

from keras_transformer.data.text_files import is_blank
from keras_transformer.decoding.batches import CACHE_POSITIONS
from keras_transformer.decoding.batches import WINDOW
from keras_transformer.decoding.batches import check_length
from keras_transformer.decoding.batches import check_pairs
from keras_transformer.decoding.batches import in_parallel
from keras_transformer.decoding.batches import plan_batches
from keras_transformer.decoding.batches import search_costs
from keras_transformer.decoding.batches import windows
from keras_transformer.decoding.exported import EXPORT_FILE
from keras_transformer.decoding.exported import SAVED_MODEL_FILE
from keras_transformer.decoding.exported import newest_version
from keras_transformer.decoding.text_translator import Hypothesis
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.decoding.threads import num_tensorflow_threads
from keras_transformer.search.options import DecodeOptions

RECORD_PATH = os.path.join("assets.extra", EXPORT_FILE)


class SavedModelTranslator(TextTranslator):
    """Translates sentences with a model that was exported as a SavedModel.

    It is called like `Translator` and gives the same, with the options that
    the model was exported with. Needs TensorFlow and tensorflow-text, but
    neither Keras nor SentencePiece, and is ready sooner than a run.

    Args:
        path: directory of a version, or of the versions; then the newest.

    Raises:
        ValueError: if it is not a SavedModel that kt-exporter wrote.

    Example:

        translator = SavedModelTranslator("export")
        translator(["A dog is running.", ""])  # ["Ein Hund läuft.", ""]
    """

    def __init__(self, path):
        self.path = newest_version(path)
        for name in (SAVED_MODEL_FILE, RECORD_PATH):
            if not os.path.isfile(os.path.join(self.path, name)):
                raise ValueError(
                    "A SavedModel must be one that kt-exporter wrote. "
                    f"Received: {path!r}, where {name} is missing. Export the "
                    "run with kt-exporter."
                )
        path = os.path.join(self.path, RECORD_PATH)
        with open(path, encoding="utf-8") as file:
            self.record = json.load(file)
        if not self.record["of_text"]:
            raise ValueError(
                "A SavedModel must take text to translate with it. Received: "
                f"{self.path!r}, which was exported with "
                "--format=saved_model_ids. Use --format=saved_model."
            )
        self.options = DecodeOptions(**self.record["decode"])
        self.linearization = self.record.get("linearization")
        self._signatures = _load_signatures(self.path)
        self._num_threads = num_tensorflow_threads()

    def hypotheses(self, texts, report=None, prefixes=None, seed=0, **options):
        """Yields the translations of any number of sentences.

        What was not said at the export cannot be said now: `prefixes` and a
        `seed` are refused, and other `options` than those of the export, but
        for fewer `num_hypotheses`.
        """
        for name, value in (("prefixes", prefixes), ("seed", seed)):
            if value:
                raise ValueError(
                    f"`{name}` must not be given to an exported model. "
                    f"Received: {name}={value!r}. Load the run's directory."
                )
        self._check_options(options)
        number = options.get("num_hypotheses")
        for window, _ in windows(texts, None, WINDOW):
            for found in self._translate(window, report):
                yield found[:number]

    def score(self, texts, translations, alpha=None):
        """Scores given translations as the search would have scored them.

        Args:
            texts: list of str.
            translations: list of str, one for each.
            alpha: exponent of the length penalty, that of the export.

        Returns:
            list of float: log-probabilities divided by the length penalty.
        """
        check_pairs(texts, translations)
        self._check_options({"alpha": alpha})
        lengths = map(
            max,
            *(self._lengths(enumerate(x, 1)) for x in (texts, translations)),
        )
        scores = [0.0] * len(texts)
        costs = [length if length else 1 for length in lengths]
        for batch in plan_batches(costs, CACHE_POSITIONS // 2):
            outputs = self._call(
                "score",
                text=[texts[i] for i in batch],
                targets=[translations[i] for i in batch],
            )
            for i, score in zip(batch, outputs["scores"].tolist()):
                scores[i] = score
        return scores

    def _translate(self, window, report):
        """A list of `Hypothesis` of each (number, text)."""
        results = [[Hypothesis("", 0.0)] for _ in window]
        lengths = self._lengths(window)
        costs = search_costs(lengths, self.options, self.linearization)

        def find(batch):
            texts = [window[i][1] for i in batch]
            return self._call("serving_default", text=texts)

        planned = plan_batches(costs, CACHE_POSITIONS, self._num_threads)
        for batch, outputs in in_parallel(find, planned, self._num_threads):
            scores = outputs["scores"].tolist()
            for i, *each in zip(batch, outputs["translations"], scores):
                results[i] = _hypotheses(*each)
            if report:
                report(len(batch))
        if report:
            report(costs.count(0))
        return results

    def _lengths(self, numbered):
        """Numbers of tokens of each (number, text), 0 for blank texts."""
        numbers, texts = zip(*numbered)
        lengths = self._call("lengths", text=texts)["lengths"].tolist()
        for number, text, length in zip(numbers, texts, lengths):
            check_length(number, text, length, self.record["max_tokens"])
        return [
            0 if is_blank(text) else length
            for text, length in zip(texts, lengths)
        ]

    def _call(self, name, **texts):
        """Calls a signature with lists of texts; returns NumPy arrays."""
        import tensorflow as tf

        tensors = {key: tf.constant(value) for key, value in texts.items()}
        outputs = self._signatures[name](**tensors)
        return {key: tensor.numpy() for key, tensor in outputs.items()}

    def _check_options(self, options):
        for name, value in options.items():
            if value is None:
                continue
            ours = getattr(self.options.replace(**{name: value}), name)
            held = getattr(self.options, name)
            if held != ours and not (name == "num_hypotheses" and ours < held):
                raise ValueError(
                    f"`{name}` of an exported model must be what it was "
                    f"exported with. Received: {name}={value!r}, while "
                    f"{self.path} has {held!r}. Export the run again with "
                    f"--decode_hparams={name}={value}."
                )


def _load_signatures(path):
    """Returns the functions of a SavedModel, a dictionary by name."""
    # Imported here because TensorFlow takes seconds.
    import tensorflow as tf

    try:
        import tensorflow_text  # noqa: F401 (registers SentencePiece's ops)
    except ModuleNotFoundError as error:
        raise ValueError(
            "An exported model needs tensorflow-text. Received: no module "
            f"{error.name}. Run pip install tensorflow-text."
        ) from error
    try:
        model = tf.saved_model.load(path)
    # TensorFlow reports a damaged file by any of these.
    except (IndexError, OSError, ValueError, tf.errors.OpError) as error:
        raise ValueError(
            f"A SavedModel must be whole. Received: {path}, where "
            f"{SAVED_MODEL_FILE} or variables cannot be read ({error}). "
            "Export the run again."
        ) from error
    return model.signatures


def _hypotheses(texts, scores):
    # Where fewer than asked for exist, the others never scored.
    return [
        Hypothesis(text.decode(), score)
        for text, score in zip(texts, scores)
        if score > float("-inf")
    ]
