"""Engines, which search and score, and what each of them can do.

An engine is a run on Keras (`keras_engine`), a SavedModel (`saved_model`) or a
CTranslate2 model (`ctranslate2`); `automatic` has both for a run.
"""

import abc
import dataclasses
import re
import typing
from collections.abc import Iterable
from collections.abc import Sequence

from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.decoding.engines.batching import Sentences
from keras_transformer.decoding.engines.codec import Codec
from keras_transformer.errors import UserError
from keras_transformer.search.options import DecodeOptions

# The capability that an argument of a translator or a flag of kt-decoder needs.
_NEEDS = {
    "checkpoint_step": "checkpoints",
    "glossary": "glossary",
    "mbr_samples": "choice_of_samples",
    "precision": "checkpoints",
    "prefix_file": "prefixes",
    "prefixes": "prefixes",
    "protect": "placeholders",
    "protected_patterns": "placeholders",
    "random_seed": "seeds",
    "rerank_by": "reranking",
    "return_alignments": "word_links",
    "return_attention": "attention",
    "return_word_scores": "word_links",
    "seed": "seeds",
    "temperature": "samples",
    "write_alignments": "word_links",
    "write_word_scores": "word_links",
}
# Stands for the length that a run was trained with, which no export records.
EXPORT_LENGTH = 256


class Hypothesis(typing.NamedTuple):
    """A translation with its score and, if known, its ids with the end id.

    The score is None if the caller needs none and the search skipped it.
    """

    text: str
    score: float | None
    ids: Sequence[int] = ()


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """What an engine can do."""

    description: str  # "A CTranslate2 model", the subject of a sentence
    remedy: str  # what to use instead, such as "the run's directory"
    supports: tuple  # of the capabilities in `_NEEDS`
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
    for name, value in request.items():
        need = _NEEDS.get(name)
        if value and need and need not in capabilities.supports:
            return name
    return None
