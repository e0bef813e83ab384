"""Engines, which search and score, and what each of them can do.

An engine is a run on Keras (`keras_engine`), a SavedModel (`saved_model`) or a
CTranslate2 model (`ctranslate2`); an `AutomaticEngine` has both for a run.
"""

import abc
import dataclasses
import itertools
import os
import re
import typing
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.data.text import normalization
from keras_transformer.data.text.letter_case import restore_case
from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.errors import UserError
from keras_transformer.parsing.linearization import find_linearization
from keras_transformer.search.options import MAX_SOURCE_TOKENS
from keras_transformer.search.options import DecodeOptions

# The arguments of a translator and the flags that need a capability.
_NEEDED_BY = {
    "attention": "return_attention",
    "choice_of_samples": "mbr_samples",
    "glossary": "glossary",
    "placeholders": "protect protected_patterns unknown",
    "prefixes": "prefix_file prefixes",
    "reranking": "rerank_by",
    "run": "checkpoint_step step precision write_origins",
    "samples": "temperature",
    "seeds": "random_seed seed",
    "word_links": "return_alignments return_word_scores write_alignments "
    "write_word_scores",
}
# Stands for the length that a run was trained with, which no export records.
EXPORT_LENGTH = 256


class Sentences(typing.NamedTuple):
    """Encoded sentences, with their prefixes, terms and seeds."""

    sources: list  # what `Codec.encode` returned; a blank one is empty
    prefixes: list | None = None  # of lists of ids without the end id
    terms: list | None = None  # of lists of encoded terms
    seeds: np.ndarray | None = None  # of the sampler, int32 (num_sentences,)

    def make_arrays(self, batch, extra_length):
        """Returns the arguments of `compile_search`'s function for a batch."""
        sources, prefixes, terms = (
            side and [side[i] for i in batch]
            for side in (self.sources, self.prefixes, self.terms)
        )
        limits = Sentences(sources, prefixes).limit_lengths(extra_length)
        return (
            pad(sources),
            np.array(limits, "int32"),
            prefixes and pad(prefixes),
            None if self.seeds is None else self.seeds[batch],
            terms and _pad_terms(terms),
        )

    def limit_lengths(self, extra_length, max_length=None):
        """Returns the maximum number of tokens of each translation."""
        # A prefix can be longer than its source, and lacks an end.
        limits = [
            max(len(source), len(prefix) + 1) + extra_length
            for source, prefix in zip(
                self.sources, self.prefixes or itertools.repeat(())
            )
        ]
        return [min(limit, max_length or limit) for limit in limits]


class Hypothesis(typing.NamedTuple):
    """A translation with its score and, if known, its ids with the end id.

    The score is None if the caller needs none and the search skipped it.
    """

    text: str
    score: float | None
    ids: Sequence[int] = ()


class Codec:
    """Encodes texts with the vocabularies of a model, and decodes ids.

    Sources in capitals, in title case or in small letters are encoded in the
    usual case; see `data.text.letter_case`.

    Each engine has a codec. `SavedModelCodec` has the same methods, but its
    vocabularies are inside the model. The length of an encoded sentence is its
    number of tokens, and 0 for a blank one.
    """

    def __init__(self, vocabularies, max_tokens=MAX_SOURCE_TOKENS):
        self.vocabularies = vocabularies
        self.vocabulary = vocabularies.targets
        self.source_vocabulary = vocabularies.sources
        self.language_codes = self.source_vocabulary.language_codes
        # Of the trees that a parsing model writes; None if it translates.
        self.linearization = find_linearization(self.vocabulary)
        self.has_words = self.vocabulary.has_words
        self.max_tokens = max_tokens

    def normalize(self, text):
        """Returns a text as the vocabulary of the sources reads it."""
        if self.source_vocabulary.normalizes_text:
            return normalization.normalize(text)
        return text

    @property
    def may_lack_text(self):
        """Whether `find_unknown` may find something."""
        vocabulary = self.source_vocabulary
        return not (vocabulary.has_bytes or vocabulary.is_imported)

    def find_unknown(self, text):
        """Returns the spans of a text that the vocabulary of sources lacks."""
        # The usual case of a text has the same places.
        (text,) = restore_case([text], self.source_vocabulary)
        return self.source_vocabulary.find_unknown(text)

    def count_tokens(self, texts, of_targets=False):
        """Returns the number of tokens of each text, however long it is."""
        encoded = self.encode_texts(texts, of_targets)
        return [len(ids) or 1 for ids in encoded]  # a blank text has an end

    def encode(self, texts, start=0, name="sentence", of_targets=False):
        """Encodes texts, and checks their lengths as `check_lengths` says.

        Returns lists of ids with the end id. The list of a blank text is empty.
        """
        encoded = self.encode_texts(texts, of_targets)
        lengths = map(len, encoded)
        check_lengths(texts, lengths, self.max_tokens, start, name)
        return encoded

    def encode_prefixes(self, prefixes, start=0):
        """Encodes a list of prefixes, or None, without the end id."""
        if prefixes is None:
            return None
        encoded = self.encode(prefixes, start, of_targets=True)
        return [ids[:-1] for ids in encoded]

    def encode_terms(self, terms, start=0):
        """Encodes the lists of terms of a window, without the end id."""
        distinct = sorted(set(itertools.chain.from_iterable(terms)))
        encoded = self.encode(distinct, of_targets=True)
        ids_of = {term: ids[:-1] for term, ids in zip(distinct, encoded)}
        return [[ids_of[term] for term in each] for each in terms]

    def decode(self, rows):
        """Returns lists of `Hypothesis` with the texts of their ids."""
        # One call for all, because each call starts new threads.
        texts = iter(
            self.vocabulary.decode([one.ids for row in rows for one in row])
        )
        # A model can spell a line feed in bytes, but a translation is one line.
        return [
            [one._replace(text=next(texts).replace("\n", " ")) for one in row]
            for row in rows
        ]

    def describe(self, source):
        """Returns a description of an encoded source for an error message."""
        (text,) = self.source_vocabulary.decode([source])
        return f"one of {len(source):,} tokens, {text[:20]!r}..."

    def encode_texts(self, texts, of_targets=False):
        """Returns lists of ids with the end id, however long they are.

        The list of a blank text is empty.
        """
        if of_targets:
            encoded = self.vocabulary.encode(texts)
        else:
            texts = restore_case(texts, self.source_vocabulary)
            encoded = self.source_vocabulary.encode(texts)
        # A blank text, or one of invisible marks, may consist of only the end
        # id, which is not worth a search.
        return [
            ids if text.strip() and len(ids) > 1 else []
            for text, ids in zip(texts, encoded)
        ]


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """What an engine can do."""

    description: str  # "A CTranslate2 model", the subject of a sentence
    remedy: str  # what to use instead, such as "the run's directory"
    supports: tuple  # of the capabilities in `_NEEDED_BY`
    fixed_options: DecodeOptions | None = None  # the only ones it decodes with


class Engine(abc.ABC):
    """Takes encoded sentences, and returns hypotheses or scores.

    `Translator` does everything else. Its constructor sets the attributes.
    """

    codec: Codec
    capabilities: Capabilities
    options: DecodeOptions  # the defaults, which a call may change
    trained_length: int  # tokens up to which the model was trained
    max_length: int | None  # maximum number of tokens of a translation
    num_threads: int  # batches that it runs at the same time
    takes_terms = True  # whether its search writes the terms of `Sentences`

    @abc.abstractmethod
    def search(
        self, sentences: Sentences, options: DecodeOptions, scored: bool
    ) -> Iterable[tuple[list[int], list[list[Hypothesis]]]]:
        """Yields batches, and the hypotheses of their sentences.

        A batch is a list of numbers of sentences, without blank ones.
        """

    @abc.abstractmethod
    def score(
        self,
        sources: list[list[int]],
        targets: list[list[int]],
        options: DecodeOptions,
    ) -> Iterable[tuple[list[int], list[float]]]:
        """Yields batches, and the scores of their targets."""


class AttentiveEngine(Engine):
    """An engine that can tell which words of a text are translated by which."""

    @abc.abstractmethod
    def link_words(
        self,
        sources: list[list[int]],
        target_ids: Sequence[Sequence[int]],
        pattern: re.Pattern[str],
        scored: bool = True,
    ) -> list[WordLinks]:
        """Returns the `WordLinks` of sentences and their translations.

        Without `scored`, an engine may leave out the scores of the words.
        """


def check_capabilities(capabilities, request, prefix=""):
    """Checks that an engine can do what a user asks for.

    It needs no backend, so commands call it first. `request` is a dictionary of
    arguments, flags and decoding options by name; unused ones are None, False,
    empty or 0. `prefix` precedes the names, such as "--" for flags.
    """
    name = find_unsupported(capabilities, request)
    if name:
        raise UserError(
            f"{capabilities.description} does not support `{prefix}{name}`. "
            f"Received: {prefix}{name}={request[name]!s:.80}. Use "
            f"{capabilities.remedy}, or leave it out."
        )
    options = capabilities.fixed_options
    for name, fixed in dataclasses.asdict(options).items() if options else ():
        if request.get(name) is None:
            continue
        value = getattr(options.replace(**{name: request[name]}), name)
        is_fewer = name == "num_hypotheses" and value < fixed
        if value != fixed and not is_fewer:
            raise UserError(
                f"{capabilities.description} decodes with the `{name}` that it "
                f"was exported with. Received: {name}={value!r} instead of "
                f"{fixed!r}. Export the run again with "
                f"--decode_hparams={name}={value}."
            )


def find_unsupported(capabilities, request):
    """Returns the first name of a request that an engine lacks, or None."""
    lacking = {
        name
        for capability, names in _NEEDED_BY.items()
        if capability not in capabilities.supports
        for name in names.split()
    }
    used = (name for name, value in request.items() if value)
    return next((name for name in used if name in lacking), None)


def check_lengths(texts, lengths, max_tokens, start=0, name="sentence"):
    """Checks that no text is too long for the model or the memory.

    An error calls a text `name`, and the first one has the number `start + 1`.
    """
    for number, (text, length) in enumerate(zip(texts, lengths), start + 1):
        if length > max_tokens:
            raise UserError(
                f"A sentence must have at most {max_tokens:,} tokens. "
                f"Received: {name} {number} with {length:,}, {text[:20]!r}... "
                "Put one sentence on a line."
            )


def keep(sources, numbers):
    """Returns sources of which all but the numbered ones are blank."""
    kept = set(numbers)
    return [each if i in kept else [] for i, each in enumerate(sources)]


def _pad_terms(terms):
    """Returns ids of terms as `(batch, num_terms, term_len)`, None for none."""
    num_terms = max(map(len, terms))
    if not num_terms:
        return None
    rows = [each + [[]] * (num_terms - len(each)) for each in terms]
    flat = pad(list(itertools.chain.from_iterable(rows)))
    return flat.reshape(len(terms), num_terms, -1)


def count_cores():
    # A container or `taskset` can allow fewer cores than the machine has.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
