"""Searches with a model that was exported to CTranslate2."""

import dataclasses
import itertools
import os
import typing

from keras_transformer import errors
from keras_transformer.data.text.text_files import sha256
from keras_transformer.data.vocabulary import subwords
from keras_transformer.data.vocabulary import vocabularies
from keras_transformer.decoding.engines import batching
from keras_transformer.decoding.engines.attention import link_words
from keras_transformer.decoding.engines.attention import split_batches
from keras_transformer.decoding.engines.engine import EXPORT_LENGTH
from keras_transformer.decoding.engines.engine import AttentiveEngine
from keras_transformer.decoding.engines.engine import Capabilities
from keras_transformer.decoding.engines.engine import Codec
from keras_transformer.decoding.engines.engine import count_cores
from keras_transformer.errors import UserError
from keras_transformer.errors import is_out_of_memory
from keras_transformer.files import reading
from keras_transformer.files.machine import processor_flags
from keras_transformer.files.reading import read_record
from keras_transformer.formats import exported
from keras_transformer.formats.ctranslate2 import search as ctranslate2_search
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID

SETTINGS_FILE = "config.json"
# What CTranslate2 writes to it. It translates nothing without the first three.
_SETTINGS = {
    **dict.fromkeys(("add_source_bos", "add_source_eos"), bool),
    "decoder_start_token": str,
    **dict.fromkeys(("bos_token?", "eos_token?", "unk_token?"), str),
    "layer_norm_epsilon?": (float, None),
    "multi_query_attention?": bool,
}
TOKENS_FILE = "{}_vocabulary.json"
CTRANSLATE2 = Capabilities(
    "A CTranslate2 model",
    "the run's directory",
    ("glossary", "placeholders", "prefixes", "samples", "seeds", "word_links"),
)
# Version 0.1 wrote models that return the attention of a single head.
WITHOUT_LINKS = dataclasses.replace(
    CTRANSLATE2,
    remedy="the run's directory, or export it again",
    supports=("prefixes", "samples", "seeds"),
)


class Export(typing.NamedTuple):
    """What the files of a model say, apart from its weights."""

    path: str  # of its version
    record: dict  # the content of `export.json`
    options: DecodeOptions
    vocabularies: vocabularies.Vocabularies


def read_export(path):
    """Reads an exported model as far as is possible without CTranslate2."""
    path = exported.find_newest_version(path)
    if not exported.is_ctranslate2(path):
        raise UserError(
            f"{path} holds no CTranslate2 model of kt-exporter: "
            f"{exported.CTRANSLATE2_FILE}, {exported.EXPORT_FILE} or "
            f"{subwords.VOCABULARY_FILE} is missing. Export the run again with "
            "--format=ctranslate2."
        )
    record, options = exported.read_export(
        os.path.join(path, exported.EXPORT_FILE)
    )
    # The ids of another vocabulary would give wrong text and no error.
    both = vocabularies.read(
        path,
        record["vocabulary_sha256"],
        record.get("source_vocabulary_sha256"),
    )
    return Export(path, record, options, both)


class CTranslate2Engine(AttentiveEngine):
    """Searches with a model that was exported to CTranslate2.

    It needs neither TensorFlow nor Keras. It gives the translations and scores
    of the run, apart from rounding and the rare search that ends differently;
    see `ctranslate2.search`. The same seed draws other samples.

    With a shortlist, a translation consists of the subwords that it lists for
    the sources of the batch, and its score is normalised over these.
    Translations with a prefix, samples and `score` use all subwords.

    The path names a version, or a directory whose newest version is loaded.
    The device is "cpu", "cuda", which is all GPUs of the machine, or "auto",
    which prefers them. The compute type is a number format such as "int8", by
    default the one that the model is stored in, or the nearest one in which the
    device computes without overflow.

    A model that was made from a run has the `trained_length` and the
    `capabilities` of that run. `owned` exists as long as the engine, such as
    temporary directories of its files.
    """

    takes_terms = False

    def __init__(
        self,
        path,
        device="auto",
        compute_type="default",
        trained_length=EXPORT_LENGTH,
        capabilities=None,
        owned=None,
    ):
        exported.require_ctranslate2()
        export = read_export(path)
        self.record, self.options = export.record, export.options
        self.capabilities = capabilities or find_capabilities(self.record)
        # CTranslate2's table of positions ends at this length.
        self.max_length = self.record["max_tokens"]
        self.codec = Codec(export.vocabularies, self.max_length)
        self.trained_length = trained_length
        self._owned = owned
        self._path = path = export.path
        self._device = device
        self._compute_type = compute_type
        self._pieces = self._read_pieces()
        settings = _read_settings(os.path.join(path, SETTINGS_FILE))
        # Exports of version 0.1 do not let CTranslate2 add the end to sources.
        self._adds_end = settings["add_source_eos"]
        self._has_shortlist = self._check_shortlist()
        self._search = self._new_search()
        self.num_threads = self._search.engine.num_translators
        self.batch_rows = self._search.batch_rows  # at most

    def search(self, sentences, options, scored=True):
        """Searches for the hypotheses of sentences, see `KerasEngine.search`.

        Several threads may call it at the same time. Without `scored`, scores
        may be None; see `CTranslate2Search`.
        """
        search = self._search
        if options.temperature and sentences.seeds is not None:
            # All sentences share the seed of the first one.
            search = self._new_search(*sentences.seeds[:1])
        sources = sentences.sources
        prefixes = sentences.prefixes or [[]] * len(sources)
        limits = sentences.limit_lengths(options.extra_length, self.max_length)
        batch = [i for i, source in enumerate(sources) if source]
        requests = [
            ctranslate2_search.Request(sources[i], prefixes[i], limits[i])
            for i in batch
        ]
        # CTranslate2 forms and runs its batches itself.
        yield batch, search(requests, options, scored)

    def score(self, sources, targets, options):
        """Scores translations of sentences, see `KerasEngine.score`."""
        options = options.replace(num_hypotheses=1)
        batch = [i for i, source in enumerate(sources) if source]
        requests = [
            ctranslate2_search.Request(
                sources[i],
                [],
                len(targets[i]) + 1,  # a limit that cuts nothing
                {tuple(targets[i] or [END_ID]): None},
            )
            for i in batch
        ]
        self._search.score(requests)
        yield batch, [one.select(options)[0].score for one in requests]

    def link_words(self, sources, target_ids, pattern, scored=True):
        """Returns the `WordLinks`, see `AttentiveEngine.link_words`."""
        pairs = [
            (source or [END_ID], target[:-1] if END_ID in target else target)
            for source, target in zip(sources, target_ids, strict=True)
        ]
        # In each call, CTranslate2 searches as far as the longest translation.
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][1]))
        batches = split_batches([pairs[i] for i in order], len(pairs))
        attended = itertools.chain.from_iterable(
            self._search.attend(batch, scored) for batch in batches
        )
        links = [None] * len(pairs)
        for number, arrays in zip(order, attended):
            source, target = pairs[number]
            pair = source, [*target, END_ID]
            vocabularies = self.codec.vocabularies
            links[number] = link_words(vocabularies, pattern, pair, *arrays)
        return links

    def _new_search(self, seed=None):
        import ctranslate2

        compute_type = self._compute_type
        if (
            compute_type == "default"
            and self.record.get("precision", "").startswith("int")
            and not _count_gpus(self._device)
            and may_overflow()
        ):
            compute_type = "float32"
        placement = _placement(self._device)
        if seed is not None:
            # A thread reads the seed when it draws its first sample. A new
            # engine with a single thread makes the samples repeatable.
            ctranslate2.set_random_seed(int(seed))
            placement = {"inter_threads": 1, "intra_threads": 1}
        try:
            engine = ctranslate2.Translator(
                os.fsencode(self._path),
                device=self._device,
                compute_type=compute_type,
                **placement,
            )
        except Exception as error:  # a damaged model raises many kinds
            reading.check_files(self._path)
            if is_out_of_memory(error):
                raise
            message = " ".join(str(error).split())
            raise UserError(
                f"CTranslate2 cannot load {self._path} with device="
                f"{self._device!r} and compute_type={compute_type!r}. It says: "
                f"{message}. Export the run again, or change the device or the "
                "compute type."
            ) from error
        return ctranslate2_search.CTranslate2Search(
            engine, *self._pieces, self._adds_end, self._has_shortlist
        )

    def _read_pieces(self):
        """Returns the texts of all source ids, and of all target ids."""
        # CTranslate2 knows tokens by their text.
        both = [
            vocabulary.all_pieces() for vocabulary in self.codec.vocabularies
        ]
        names = [
            ("source", subwords.SOURCE_VOCABULARY_FILE),
            ("target", subwords.VOCABULARY_FILE),
        ]
        if both[0] == both[1]:
            names = [("shared", subwords.VOCABULARY_FILE)]
        for (name, vocabulary_file), pieces in zip(names, both):
            path = os.path.join(self._path, TOKENS_FILE.format(name))
            if read_record(path, [str], exported.REMEDY) != pieces:
                fault = f"which differs from {vocabulary_file}"
                raise reading.file_error(path, fault, exported.REMEDY)
        return both

    def _check_shortlist(self):
        """Returns whether the export has a shortlist of target subwords."""
        expected = self.record.get("shortlist_sha256")
        if expected is None:
            return False
        path = os.path.join(self._path, exported.SHORTLIST_FILE)
        reading.check_file(path, exported.REMEDY)
        # A partial shortlist would silently exclude good translations.
        if sha256(path) != expected:
            fault = f"whose SHA-256 is not the one in {exported.EXPORT_FILE}"
            raise reading.file_error(path, fault, exported.REMEDY)
        return True


def find_capabilities(record):
    """Returns the `Capabilities` of an exported model, by its `export.json`."""
    return CTRANSLATE2 if record.get("averages_heads") else WITHOUT_LINKS


def may_overflow():
    """Returns whether sums of 8-bit products can overflow on this processor.

    On an x86 processor without VNNI, CTranslate2 adds pairs of them in 16 bits
    and does not report an overflow.
    """
    flags = processor_flags()
    return bool(flags) and not any("vnni" in flag for flag in flags)


def _placement(device):
    # Each GPU has a copy of the model and translates one batch at a time. On a
    # processor, one batch on each core is faster than one on all cores.
    num_gpus = _count_gpus(device)
    if num_gpus:
        return {"device_index": list(range(num_gpus)), "inter_threads": 1}
    num_cores = count_cores()
    num_threads = min(num_cores, batching.MAX_THREADS)
    return {
        "inter_threads": num_threads,
        "intra_threads": num_cores // num_threads,
    }


def _count_gpus(device):
    import ctranslate2

    return 0 if device == "cpu" else ctranslate2.get_cuda_device_count()


def _read_settings(path):
    settings = read_record(path, _SETTINGS, exported.REMEDY)
    for name in settings:
        if _SETTINGS.keys().isdisjoint((name, f"{name}?")):
            fault = f"where {errors.quote(name)} is unknown"
            raise reading.file_error(path, fault, exported.REMEDY)
    return settings
