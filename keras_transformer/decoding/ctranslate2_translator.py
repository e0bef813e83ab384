"""Translates sentences with a model that CTranslate2 runs."""

import os

from keras_transformer import fields
from keras_transformer.data import vocabularies
from keras_transformer.data.subwords import SOURCE_VOCABULARY_FILE
from keras_transformer.data.subwords import VOCABULARY_FILE
from keras_transformer.data.text_files import sha256
from keras_transformer.decoding import threads
from keras_transformer.decoding.arrays import length_limit
from keras_transformer.decoding.ctranslate2_search import CTranslate2Search
from keras_transformer.decoding.ctranslate2_search import Request
from keras_transformer.decoding.exported import CTRANSLATE2_FILE
from keras_transformer.decoding.exported import EXPORT_FILE
from keras_transformer.decoding.exported import REMEDY
from keras_transformer.decoding.exported import SHORTLIST_FILE
from keras_transformer.decoding.exported import check_exportable
from keras_transformer.decoding.exported import is_ctranslate2
from keras_transformer.decoding.exported import newest_version
from keras_transformer.decoding.exported import read_export
from keras_transformer.decoding.exported import require_ctranslate2
from keras_transformer.decoding.hypothesis import Hypothesis
from keras_transformer.decoding.hypothesis import with_texts
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.decoding.windows import encode
from keras_transformer.decoding.windows import encode_prefixes
from keras_transformer.decoding.windows import windows
from keras_transformer.files.reading import check_file
from keras_transformer.files.reading import file_error
from keras_transformer.files.records import read_record
from keras_transformer.processor import processor_flags
from keras_transformer.token_ids import END_ID
from keras_transformer.trees.target_text import find_linearization

SETTINGS_FILE = "config.json"
TOKENS_FILE = "{}_vocabulary.json"


class CTranslate2Translator(TextTranslator):
    """Translates sentences with a model that was exported to CTranslate2.

    It is called like `Translator` and needs neither TensorFlow nor Keras. It
    gives the same translations and scores, apart from rounding and from the
    rare sentence whose search ends differently; see `ctranslate2_search`. The
    same seed draws other samples.

    If the export has a shortlist, a translation consists of the subwords that
    it lists for the sources of the batch, and its score is that among these.
    Translations with a prefix, samples and `score` use all subwords.

    Args:
        path: Directory of a version, or directory of several versions. In that
            case the newest version is loaded.
        device: "cpu", "cuda", which is all GPUs of the machine, or "auto",
            which prefers them. Defaults to "auto".
        compute_type: The number format to compute in, such as "int8". Defaults
            to the format that the model is stored in, or the nearest one in
            which the device computes without overflow.

    Raises:
        ValueError: If CTranslate2 is not installed or cannot load the model.

    Example:

        translator = CTranslate2Translator("exports/ende")
        translator(["A dog is running.", ""])  # ["Ein Hund läuft.", ""]
    """

    def __init__(self, path, device="auto", compute_type="default"):
        require_ctranslate2()
        path = newest_version(path)
        if not is_ctranslate2(path):
            raise ValueError(
                "A CTranslate2 model must be a directory that kt-exporter "
                f"wrote. Received: {path!r}, where {CTRANSLATE2_FILE}, "
                f"{EXPORT_FILE} or {VOCABULARY_FILE} is missing. Export the "
                "run again with --format=ctranslate2."
            )
        self.record, self.options = read_export(os.path.join(path, EXPORT_FILE))
        # The ids of another vocabulary would give wrong text and no error.
        self.vocabulary, self.source_vocabulary = vocabularies.read(
            path,
            self.record["vocabulary_sha256"],
            self.record.get("source_vocabulary_sha256"),
        )
        self.linearization = find_linearization(self.vocabulary)
        self.max_tokens = self.record["max_tokens"]
        self._path = path
        self._device = device
        self._compute_type = compute_type
        self._pieces = self._read_pieces()
        self._adds_end = self._read_adds_end()
        self._has_shortlist = self._check_shortlist()
        self._search = self._new_search()

    def hypotheses(self, *arguments, **options):
        return self._hypotheses(True, *arguments, **options)

    def unscored_hypotheses(self, *arguments, **options):
        return self._hypotheses(False, *arguments, **options)

    def _hypotheses(
        self,
        scored,
        texts,
        report=None,
        prefixes=None,
        seed=0,
        start=0,
        **options,
    ):
        if options.pop("glossary", None):
            raise ValueError(
                "`glossary` must go with a run or a SavedModel, since "
                "CTranslate2 cannot make a translation hold given terms. "
                "Received: a CTranslate2 model. Load the run's directory."
            )
        options = self.changed_options(**options)
        fields.check_seed(seed)
        search = self._search
        for window, window_prefixes in windows(texts, prefixes, start):
            if options.temperature:
                # Samples of a window do not depend on the windows before it.
                search = self._new_search(int(seed) + window[0][0] - 1)
            sources = self.encode(window)
            prefixes_of_window = encode_prefixes(
                self.vocabulary, window, window_prefixes, self.max_tokens
            )
            results = self._find(
                sources, prefixes_of_window, search, options, scored
            )
            # A caller that has all translations need not ask for what follows.
            if report:
                report(len(window))
            yield from results

    def changed_options(self, **changes):
        options = super().changed_options(**changes)
        check_exportable(options)
        return options

    @property
    def num_threads(self):
        """Number of batches that are translated at the same time."""
        return self._search.engine.num_translators

    def translate_ids(self, sources, scored=True, **options):
        """Translates sentences that are encoded already.

        Several threads may call it at the same time.

        Args:
            sources: List of lists of ids with the end id. An empty list stands
                for a blank sentence.
            scored: Boolean, see `CTranslate2Search`. Defaults to True.
            **options: Fields of `DecodeOptions` to change.

        Returns:
            List of lists of `Hypothesis`, best first. An empty source has one
            empty hypothesis.
        """
        options = self.changed_options(**options)
        return self._find(sources, None, self._search, options, scored)

    def score_ids(self, sources, targets, alpha=None):
        options = self.options.replace(alpha=alpha, num_hypotheses=1)
        requests = [
            Request(
                source,
                [],
                len(target) + 1,  # a limit that cuts nothing
                {tuple(target or [END_ID]): None},
            )
            for source, target in zip(sources, targets, strict=True)
            if source
        ]
        self._search.score(requests)
        scores = iter(request.best(options)[0].score for request in requests)
        return [next(scores) if source else 0.0 for source in sources]

    def _find(self, sources, prefixes, search, options, scored):
        """Returns a list of `Hypothesis` for each list of ids."""
        results = [[Hypothesis("", 0.0, [])] for _ in sources]
        rows = [row for row, source in enumerate(sources) if source]
        requests = []
        for row in rows:
            prefix = prefixes[row] if prefixes else []
            limit = self._limited(
                length_limit(
                    len(sources[row]), len(prefix) + 1, options.extra_length
                )
            )
            requests.append(Request(sources[row], prefix, limit))
        hypotheses_of_rows = search(requests, options, scored)
        hypotheses_of_rows = with_texts(hypotheses_of_rows, self.vocabulary)
        for row, hypotheses in zip(rows, hypotheses_of_rows):
            results[row] = hypotheses
        return results

    def length_limit(self, text, prefix="", **options):
        return self._limited(super().length_limit(text, prefix, **options))

    def _limited(self, length):
        # CTranslate2's table of positions ends at `max_tokens`.
        return min(length, self.max_tokens)

    def encode(self, numbered):
        return encode(self.source_vocabulary, numbered, self.max_tokens)

    def encode_targets(self, numbered):
        return encode(self.vocabulary, numbered, self.max_tokens)

    def _may_overflow(self):
        """Returns whether products of integers may exceed their range.

        On an x86 processor without VNNI, CTranslate2 adds pairs of products of
        8-bit numbers in 16 bits, without an error where they do not fit.
        """
        is_integer = self.record.get("precision", "").startswith("int")
        flags = processor_flags()
        has_vnni = any("vnni" in flag for flag in flags)
        on_processor = not _num_gpus(self._device)
        return is_integer and on_processor and flags and not has_vnni

    def _new_search(self, seed=None):
        import ctranslate2

        compute_type = self._compute_type
        if compute_type == "default" and self._may_overflow():
            compute_type = "float32"
        placement = _placement(self._device)
        if seed is not None:
            # A thread reads the seed when it draws its first sample. A new
            # engine with a single thread makes the samples repeatable.
            # 2**32 - 1 would draw other samples at each call.
            ctranslate2.set_random_seed(seed % (2**32 - 1))
            placement = {"inter_threads": 1, "intra_threads": 1}
        try:
            engine = ctranslate2.Translator(
                str(self._path),
                device=self._device,
                compute_type=compute_type,
                **placement,
            )
        except Exception as error:  # a damaged model raises many kinds
            message = " ".join(str(error).split())
            raise ValueError(
                "CTranslate2 must be able to load a model. Received: "
                f"{self._path} with device={self._device!r}, compute_type="
                f"{compute_type!r}. It says: {message}. Export the run again, "
                "or change the device or the compute type."
            ) from error
        return CTranslate2Search(
            engine, *self._pieces, self._adds_end, self._has_shortlist
        )

    def _read_pieces(self):
        """Returns the text of each id, by which CTranslate2 knows tokens.

        They are two lists, one of the source and one of the target.
        """
        both = [
            vocabulary.all_pieces()
            for vocabulary in (self.source_vocabulary, self.vocabulary)
        ]
        names = [
            ("source", SOURCE_VOCABULARY_FILE),
            ("target", VOCABULARY_FILE),
        ]
        if both[0] == both[1]:
            names = [("shared", VOCABULARY_FILE)]
        for (name, vocabulary_file), pieces in zip(names, both):
            path = os.path.join(self._path, TOKENS_FILE.format(name))
            if read_record(path, [str], REMEDY) != pieces:
                fault = f"which differs from {vocabulary_file}"
                raise file_error(path, fault, REMEDY)
        return both

    def _check_shortlist(self):
        """Returns whether the export has a shortlist of target subwords."""
        expected = self.record.get("shortlist_sha256")
        if expected is None:
            return False
        path = os.path.join(self._path, SHORTLIST_FILE)
        check_file(path, REMEDY)
        # A part of one would exclude good translations, without any error.
        if sha256(path) != expected:
            fault = f"whose SHA-256 is not the one in {EXPORT_FILE}"
            raise file_error(path, fault, REMEDY)
        return True

    def _read_adds_end(self):
        """Returns whether CTranslate2 adds the end to each source.

        Exports of version 0.1 do not ask for it.
        """
        path = os.path.join(self._path, SETTINGS_FILE)
        shape = {"add_source_eos?": bool}
        settings = read_record(path, shape, REMEDY)
        return settings.get("add_source_eos", False)


def _placement(device):
    """Returns the devices and threads of a `ctranslate2.Translator`.

    Each GPU of the machine has a copy of the model and translates one batch at
    a time. On a processor, one batch on each core is faster than one batch on
    all cores.
    """
    num_gpus = _num_gpus(device)
    if num_gpus:
        return {"device_index": list(range(num_gpus)), "inter_threads": 1}
    num_cores = threads.num_cores()
    num_threads = min(num_cores, threads.MAX_THREADS)
    return {
        "inter_threads": num_threads,
        "intra_threads": num_cores // num_threads,
    }


def _num_gpus(device):
    import ctranslate2

    return 0 if device == "cpu" else ctranslate2.get_cuda_device_count()
