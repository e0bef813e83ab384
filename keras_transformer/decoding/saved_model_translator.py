"""Translates sentences with an exported SavedModel."""

import itertools
import os

from keras_transformer.data.text_files import is_blank
from keras_transformer.decoding import glossary as glossaries
from keras_transformer.decoding.batches import CACHE_POSITIONS
from keras_transformer.decoding.batches import search_costs
from keras_transformer.decoding.exported import EXPORT_FILE
from keras_transformer.decoding.exported import SAVED_MODEL_FILE
from keras_transformer.decoding.exported import check_exportable
from keras_transformer.decoding.exported import newest_version
from keras_transformer.decoding.exported import read_export
from keras_transformer.decoding.fitting_batches import FittingBatches
from keras_transformer.decoding.hypothesis import Hypothesis
from keras_transformer.decoding.refusals import MAX_TERM_TOKENS
from keras_transformer.decoding.refusals import MAX_TERMS
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.decoding.threads import num_tensorflow_threads
from keras_transformer.decoding.windows import check_length
from keras_transformer.decoding.windows import check_pairs
from keras_transformer.decoding.windows import windows
from keras_transformer.files.standard_error import silence_stderr

EXPORT_PATH = os.path.join("assets.extra", EXPORT_FILE)


class SavedModelTranslator(TextTranslator):
    """Translates sentences with a model that was exported as a SavedModel.

    It is called like `Translator` and gives the same translations, with the
    options that the model was exported with. It needs TensorFlow and
    tensorflow-text, but neither this package's layers nor SentencePiece.

    Args:
        path: Directory of a version, or directory of several versions. In that
            case the newest version is loaded.

    Raises:
        ValueError: If the directory is not a SavedModel that kt-exporter wrote.

    Example:

        translator = SavedModelTranslator("export")
        translator(["A dog is running.", ""])  # ["Ein Hund läuft.", ""]
    """

    def __init__(self, path):
        self.path = newest_version(path)
        self.record, self.options = check_saved_model(path)
        self.linearization = self.record.get("linearization")
        self.max_tokens = self.record["max_tokens"]
        self._signatures = _load_signatures(self.path)
        self._batches = FittingBatches(num_tensorflow_threads())

    def hypotheses(
        self,
        texts,
        report=None,
        prefixes=None,
        seed=0,
        start=0,
        glossary=None,
        **options,
    ):
        """Yields the hypotheses of each sentence.

        The export fixes how the model decodes. This method therefore accepts
        neither `prefixes` nor a `seed`, and no `options` that differ from those
        of the export, except a smaller `num_hypotheses`.
        """
        for name, value in (("prefixes", prefixes), ("seed", seed)):
            if value:
                raise ValueError(
                    f"`{name}` cannot be used with an exported model. "
                    f"Received: {name}={value!r}. Load the run's directory."
                )
        check_options(self.path, self.options, options)
        if glossary:
            glossaries.check_goes_with(
                glossary, self.options, self.linearization
            )
            self._check_takes_terms()
        num_hypotheses = options.get("num_hypotheses")

        def translate(window, terms):
            # The second search, for terms, adds no sentences.
            own_report = None if terms else report
            results = self._translate(window, terms, own_report)
            return [hypotheses[:num_hypotheses] for hypotheses in results]

        for window, _ in windows(texts, start=start):
            terms = glossaries.find_terms(glossary, window)
            yield from glossaries.obeying(
                translate, window, terms, blank=(0, "")
            )

    def num_tokens(self, texts, of_targets=False):
        # The model counts the tokens, since the vocabulary is inside it.
        name = "lengths"
        if of_targets and "target_lengths" in self._signatures:
            name = "target_lengths"
        return self._call(name, text=texts)["lengths"].tolist()

    def encode(self, numbered):
        # The vocabulary is in the model, which only tells the lengths.
        return self._lengths(numbered)

    def encode_targets(self, numbered):
        return self._lengths(numbered, of_targets=True)

    def score(self, texts, translations, alpha=None):
        """Scores translations as the search would score them.

        Args:
            texts: List of str.
            translations: List of str, one for each text.
            alpha: Float, exponent of the length penalty. It must be that of the
                export, which is the default.

        Returns:
            List of float: log-probabilities divided by the length penalty, and
            0 for a blank text.
        """
        check_pairs(texts, translations)
        check_options(self.path, self.options, {"alpha": alpha})
        numbered = list(enumerate(texts, 1))
        lengths = zip(
            self.encode(numbered),
            self.encode_targets(list(enumerate(translations, 1))),
        )
        # A cost of 0 leaves out a blank text.
        costs = [length and max(length, other) for length, other in lengths]

        def score(_, batch):
            outputs = self._call(
                "score",
                text=[texts[i] for i in batch],
                targets=[translations[i] for i in batch],
            )
            return outputs["scores"].tolist()

        scores = [0.0] * len(texts)
        # Half the budget, since texts and translations are in memory at once.
        budget = CACHE_POSITIONS // 2
        scored = self._run(score, numbered, costs, budget)
        for batch, batch_scores in scored:
            for i, own in zip(batch, batch_scores):
                scores[i] = own
        return scores

    def _check_takes_terms(self):
        if "with_terms" not in self._signatures:
            raise ValueError(
                "`glossary` must go with an export that takes terms. Received: "
                f"{self.path}, which an earlier version of this package wrote. "
                "Export the run again."
            )

    def _check_terms(self, window, terms):
        distinct = sorted(set(itertools.chain.from_iterable(terms)))
        # Each number counts the end of a sentence, too.
        numbers = self.num_tokens(distinct, of_targets=True)
        num_tokens = dict(zip(distinct, numbers))
        for (number, _), own in zip(window, terms):
            longest = max((num_tokens[term] - 1 for term in own), default=0)
            if len(own) > MAX_TERMS or longest > MAX_TERM_TOKENS:
                raise ValueError(
                    f"An export takes at most {MAX_TERMS} terms of a glossary "
                    f"in a sentence, and {MAX_TERM_TOKENS} tokens in a term. "
                    f"Received: sentence {number} with {len(own)} terms, the "
                    f"longest of {longest} tokens. Use the run's directory."
                )

    def _translate(self, window, terms, report):
        """Returns a list of `Hypothesis` for each (number, text)."""
        results = [[Hypothesis("", 0.0)] for _ in window]
        lengths = self._lengths(window)
        costs = search_costs(lengths, self.options, self.linearization)
        if terms:
            self._check_terms(window, terms)

        def translate(_, batch):
            inputs = {"text": [window[i][1] for i in batch]}
            name = "serving_default"
            if terms:
                name = "with_terms"
                inputs["terms"] = glossaries.in_rows([terms[i] for i in batch])
            outputs = self._call(name, **inputs)
            arrays = outputs["translations"], outputs["scores"].tolist()
            return list(map(_hypotheses, *arrays))

        translated = self._run(translate, window, costs, CACHE_POSITIONS)
        for batch, hypotheses in translated:
            for i, own in zip(batch, hypotheses):
                results[i] = own
            if report:
                report(len(batch))
        if report:  # blank sentences are in no batch
            report(costs.count(0))
        return results

    def _run(self, function, window, costs, budget):
        def describe(i):
            number, text = window[i]
            return f"sentence {number}, {text[:20]!r}..."

        return self._batches.run(function, [None], costs, budget, describe)

    def _lengths(self, numbered, of_targets=False):
        """Returns the number of tokens of each (number, text), 0 if blank."""
        lengths = self.num_tokens([text for _, text in numbered], of_targets)
        for (number, text), length in zip(numbered, lengths):
            check_length(number, text, length, self.max_tokens)
        return [
            0 if is_blank(text) else length
            for (_, text), length in zip(numbered, lengths)
        ]

    def _call(self, name, **texts):
        """Calls a signature with lists of texts; returns NumPy arrays."""
        import tensorflow as tf

        # TensorFlow takes an empty list for numbers unless told the type.
        tensors = {
            key: tf.constant(value, tf.string) for key, value in texts.items()
        }
        outputs = self._signatures[name](**tensors)
        return {key: tensor.numpy() for key, tensor in outputs.items()}


def check_options(path, exported, options):
    """Checks that decoding options are those of a SavedModel.

    Args:
        path: Path of the SavedModel, to name in an error.
        exported: `DecodeOptions` of the SavedModel.
        options: Dictionary of options; None means that of the SavedModel.

    Raises:
        ValueError: If one differs, apart from a smaller `num_hypotheses`, or
            if no SavedModel can have it.
    """
    check_exportable(exported.replace(mbr_samples=options.get("mbr_samples")))
    for name, value in options.items():
        if value is None:
            continue
        wanted = getattr(exported.replace(**{name: value}), name)
        fixed = getattr(exported, name)
        is_fewer = name == "num_hypotheses" and wanted < fixed
        if wanted != fixed and not is_fewer:
            raise ValueError(
                f"`{name}` of an exported model must be what it was exported "
                f"with. Received: {name}={value!r}, while {path} has "
                f"{fixed!r}. Export the run again with "
                f"--decode_hparams={name}={value}."
            )


def check_saved_model(path):
    """Checks what can be checked of a SavedModel without TensorFlow.

    Args:
        path: As for `SavedModelTranslator`.

    Returns:
        Its record and its `DecodeOptions`; see `read_export`.

    Raises:
        ValueError: If it is not one that kt-exporter wrote for text.
    """
    directory = newest_version(path)
    for name in (SAVED_MODEL_FILE, EXPORT_PATH):
        if not os.path.isfile(os.path.join(directory, name)):
            raise ValueError(
                "A SavedModel must be one that kt-exporter wrote. "
                f"Received: {path!r}, where {name} is missing. Export the "
                "run with kt-exporter."
            )
    record, options = read_export(os.path.join(directory, EXPORT_PATH))
    if not record.get("of_text"):
        raise ValueError(
            "A SavedModel must take text to translate with it. Received: "
            f"{directory!r}, which was exported with "
            "--format=saved_model_ids. Use --format=saved_model."
        )
    return record, options


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
        # TensorFlow logs a fingerprint that it cannot read, but needs none.
        # SentencePiece logs at the first use of each vocabulary.
        with silence_stderr():
            signatures = tf.saved_model.load(path).signatures
            for name in ("lengths", "target_lengths"):
                if name in signatures:
                    signatures[name](text=tf.constant([""]))
        missing = {"serving_default", "lengths"} - set(signatures)
    # TensorFlow reports a damaged file by errors of very many kinds.
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"A SavedModel must be whole. Received: {path}, where "
            f"{SAVED_MODEL_FILE} or variables cannot be read ({reason}). "
            "Export the run again."
        ) from error
    if missing:
        raise ValueError(
            "A SavedModel must have the signatures of kt-exporter. Received: "
            f"{path} without {', '.join(sorted(missing))}. Export the run "
            "again."
        )
    return signatures


def _hypotheses(texts, scores):
    # A score of -inf fills the place of a hypothesis that does not exist.
    return [
        Hypothesis(text.decode(), score)
        for text, score in zip(texts, scores)
        if score > float("-inf")
    ]
