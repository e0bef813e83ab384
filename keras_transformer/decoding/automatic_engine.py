"""Two engines of a run, of which each sentence gets the one that it needs."""

import dataclasses
import functools
import itertools
import logging

from keras_transformer.decoding.engines import engine as engines
from keras_transformer.decoding.engines import keras_engine
from keras_transformer.files.quiet import silence
from keras_transformer.formats.ctranslate2.engine import CTRANSLATE2

# What a run can do on CTranslate2.
ON_CTRANSLATE2 = dataclasses.replace(
    CTRANSLATE2,
    description="A run on CTranslate2",
    remedy="the engine keras",
    supports=("run", *CTRANSLATE2.supports),
)
# What it does there if the user has not chosen CTranslate2: its samples depend
# on the other sentences. Keras searches better for terms.
_SHARED = tuple({*ON_CTRANSLATE2.supports} - {"glossary", "samples"})
AUTOMATIC = dataclasses.replace(ON_CTRANSLATE2, supports=_SHARED)
_log = logging.getLogger(__name__)


class AutomaticEngine(engines.AttentiveEngine):
    """Searches with CTranslate2, and with Keras where that is needed.

    CTranslate2 lacks repeatable samples, the states and attention of all heads,
    and some terms and long texts. Keras is loaded at the first sentence that
    needs one of these. `fast` is the `CTranslate2Engine` of a run, and `load()`
    returns its `KerasEngine`.
    """

    capabilities = keras_engine.RUN
    max_length = None

    def __init__(self, fast, load):
        self._fast = fast
        self._load = load
        self.options = fast.options
        self.trained_length = fast.trained_length
        self.num_threads = fast.num_threads
        # The codec of a run, which takes longer texts.
        self.codec = engines.Codec(fast.codec.vocabularies)

    def search(self, sentences, options, scored=True):
        request = {
            "glossary": sentences.terms,
            "temperature": options.temperature,
        }
        if engines.find_unsupported(AUTOMATIC, request):
            return self._keras_engine.search(sentences, options, scored)
        limits = sentences.limit_lengths(options.extra_length)
        return itertools.chain.from_iterable(
            engine.search(
                sentences._replace(
                    sources=engines.keep(sentences.sources, numbers)
                ),
                options,
                scored,
            )
            for engine, numbers in self._divide(limits)
        )

    def search_near(self, sources, pairs, options):
        return self._keras_engine.search_near(sources, pairs, options)

    def score(self, sources, targets, options):
        return itertools.chain.from_iterable(
            engine.score(engines.keep(sources, numbers), targets, options)
            for engine, numbers in self._divide_pairs(sources, targets)
        )

    def attend(self, sources, target_ids):
        return self._keras_engine.attend(sources, target_ids)

    def link_words(self, sources, target_ids, pattern, scored=True):
        links = [None] * len(sources)
        for engine, numbers in self._divide_pairs(sources, target_ids):
            of_engine = engine.link_words(
                [sources[i] for i in numbers],
                [target_ids[i] for i in numbers],
                pattern,
                scored,
            )
            for i, each in zip(numbers, of_engine):
                links[i] = each
        return links

    def _divide_pairs(self, sources, targets):
        # CTranslate2 takes one more position, for the beginning of a target.
        return self._divide(
            [
                max(len(source), len(target)) + 1
                for source, target in zip(sources, targets, strict=True)
            ]
        )

    def _divide(self, lengths):
        """Yields each engine that is needed, and the numbers of its sentences.

        A sentence is long or short by itself, whatever its neighbours are.
        """
        numbers = range(len(lengths))
        long = [i for i in numbers if lengths[i] > self._fast.max_length]
        if short := sorted({*numbers}.difference(long)):
            yield self._fast, short
        if long:
            yield self._keras_engine, long

    @functools.cached_property
    def _keras_engine(self):
        _log.debug("Loading Keras for what CTranslate2 does not support.")
        with silence():  # a library reports how it starts
            return self._load()
