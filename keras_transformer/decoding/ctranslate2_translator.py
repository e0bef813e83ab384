"""Sentences in, translations out, by CTranslate2."""

import json
import os

from keras_transformer.data.subwords import Subwords
from keras_transformer.decoding import threads
from keras_transformer.decoding.batches import WINDOW
from keras_transformer.decoding.batches import check_pairs
from keras_transformer.decoding.batches import encode
from keras_transformer.decoding.batches import encode_prefixes
from keras_transformer.decoding.batches import windows
from keras_transformer.decoding.ctranslate2_search import CTranslate2Search
from keras_transformer.decoding.ctranslate2_search import Request
from keras_transformer.decoding.exported import CTRANSLATE2_FILE
from keras_transformer.decoding.exported import EXPORT_FILE
from keras_transformer.decoding.exported import VOCABULARY_FILE
from keras_transformer.decoding.exported import is_ctranslate2
from keras_transformer.decoding.exported import require_ctranslate2
from keras_transformer.decoding.text_translator import Hypothesis
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.search.options import DecodeOptions
from keras_transformer.trees.target_text import linearization_of


class CTranslate2Translator(TextTranslator):
    """Translates sentences with a model that was exported to CTranslate2.

    It is called like `Translator` and gives the same translations and scores,
    but for rounding and for the rare sentence whose search ends differently,
    see `ctranslate2_search`; samples are others. Needs neither TensorFlow nor
    Keras.

    Args:
        path: the directory that `export_ctranslate2` wrote.
        device: "cpu", "cuda", or "auto" for a GPU where there is one.
        compute_type: the numbers to compute in, such as "int8"; by default
            those that the model is stored in, or the nearest that the device
            has.

    Raises:
        ValueError: if CTranslate2 is not installed, or cannot load the model.

    Example:

        translator = CTranslate2Translator("exports/ende")
        translator(["A dog is running.", ""])  # ["Ein Hund läuft.", ""]
    """

    def __init__(self, path, device="auto", compute_type="default"):
        require_ctranslate2()
        if not is_ctranslate2(path):
            raise ValueError(
                "A CTranslate2 model must be a directory that kt-exporter "
                f"wrote. Received: {path!r}, where {CTRANSLATE2_FILE}, "
                f"{EXPORT_FILE} or {VOCABULARY_FILE} is missing. Export the "
                "run again with --format=ctranslate2."
            )
        with open(os.path.join(path, EXPORT_FILE), encoding="utf-8") as file:
            self.record = json.load(file)
        self.options = DecodeOptions(**self.record["decode"])
        self.vocabulary = Subwords(os.path.join(path, VOCABULARY_FILE))
        if self.vocabulary.sha256 != self.record["vocabulary_sha256"]:
            raise ValueError(
                "A model's vocabulary must be the one it was exported with. "
                f"Received: {os.path.join(path, VOCABULARY_FILE)} with sha256 "
                f"{self.vocabulary.sha256}, while {EXPORT_FILE} says "
                f"{self.record['vocabulary_sha256']}. Export the run again."
            )
        self.linearization = linearization_of(self.vocabulary)
        self._engine_arguments = (path, device, compute_type)
        self._search = self._new_search()

    def hypotheses(self, texts, report=None, prefixes=None, seed=0, **options):
        options = self.options.replace(**options)
        search = self._search
        if options.temperature:
            search = self._new_search(seed)
        for window, window_prefixes in windows(texts, prefixes, WINDOW):
            yield from self._translate(window, window_prefixes, search, options)
            if report:
                report(len(window))

    def score(self, texts, translations, alpha=None):
        """Scores given translations as the search would have scored them.

        Args:
            texts: list of str.
            translations: list of str, one for each.
            alpha: exponent of the length penalty, by default that of the
                export.

        Returns:
            list of float: log-probabilities divided by the length penalty; 0
            for a blank text.
        """
        check_pairs(texts, translations)
        options = self.options.replace(alpha=alpha, num_hypotheses=1)
        sources = self._encode(list(enumerate(texts, 1)))
        targets = self._encode(list(enumerate(translations, 1)))
        requests = [
            Request(source, [], len(target) + 1, {tuple(target or [1]): None})
            for source, target in zip(sources, targets, strict=True)
            if source
        ]
        self._search.score(requests)
        found = iter(request.best(options)[0].score for request in requests)
        return [next(found) if source else 0.0 for source in sources]

    def _translate(self, window, prefixes, search, options):
        """Returns a list of `Hypothesis` for each (number, text)."""
        sources = self._encode(window)
        prefixes = encode_prefixes(
            self.vocabulary, prefixes, self.record["max_tokens"]
        )
        results = [[Hypothesis("", 0.0, [])] for _ in window]
        rows = [row for row, source in enumerate(sources) if source]
        requests = []
        for row in rows:
            prefix = prefixes[row] if prefixes else []
            limit = max(len(sources[row]), len(prefix) + 1)
            limit = min(limit + options.extra_length, self.record["max_tokens"])
            requests.append(Request(sources[row], prefix, limit))
        for row, found in zip(rows, search(requests, options)):
            texts = self.vocabulary.decode([one.ids for one in found])
            results[row] = [
                # A model can spell a line's end in bytes; a line stays one.
                one._replace(text=text.replace("\n", " "))
                for text, one in zip(texts, found)
            ]
        return results

    def _encode(self, numbered):
        """Ids of (number, text), none for a blank text."""
        return encode(self.vocabulary, numbered, self.record["max_tokens"])

    def _new_search(self, seed=None):
        import ctranslate2

        path, device, compute_type = self._engine_arguments
        threads_arguments = _threads(device)
        if seed is not None:
            # It is looked at when a thread draws its first sample.
            ctranslate2.set_random_seed(seed)
            threads_arguments = {"inter_threads": 1, "intra_threads": 1}
        try:
            engine = ctranslate2.Translator(
                str(path),
                device=device,
                compute_type=compute_type,
                **threads_arguments,
            )
        except (RuntimeError, ValueError) as error:
            message = " ".join(str(error).split())
            raise ValueError(
                "CTranslate2 must be able to load a model. Received: "
                f"{path} with device={device!r}, compute_type="
                f"{compute_type!r}. It says: {message}. Export the run again, "
                "or change these."
            ) from error
        pieces = self.vocabulary.pieces(range(self.vocabulary.vocab_size))
        return CTranslate2Search(engine, pieces)


def _threads(device):
    """Batches side by side, one to a core, are faster than shared ones."""
    import ctranslate2

    if device != "cpu" and ctranslate2.get_cuda_device_count():
        return {}
    num_cores = threads.num_cores()
    num_threads = min(num_cores, threads.MAX_THREADS)
    return {
        "inter_threads": num_threads,
        "intra_threads": num_cores // num_threads,
    }
