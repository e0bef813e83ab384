"""Reads, prepares and checks texts, for which it needs no model."""

import dataclasses
import itertools
import typing
from collections.abc import Iterable
from collections.abc import Sequence

import numpy as np

from keras_transformer import errors
from keras_transformer.decoding.engines.engine import check_capabilities
from keras_transformer.decoding.steps import check_translates
from keras_transformer.decoding.steps.affixes import TargetTag
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.glossary import check_glossary
from keras_transformer.decoding.steps.glossary import check_term_lengths
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.decoding.steps.placeholders import check_protect
from keras_transformer.errors import UserError
from keras_transformer.search.options import DecodeOptions

WINDOW = 1024  # sentences that are read, and sorted by length, together


def check_each(texts, start=0, name="texts"):
    """Yields the texts, each checked to be a str without surrogates.

    An error calls them `name`, and the first one has the number `start + 1`.
    """
    errors.check_is_list(texts, f"`{name}`")
    for number, text in enumerate(texts, start + 1):
        if not isinstance(text, str):
            raise UserError(
                f"`{name}` must be a list of str. Received: text {number} is "
                f"{text!r:.40}. Pass an empty str for a blank text."
            )
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UserError(
                f"`{name}` must be Unicode. Received: text {number}, "
                f"{ascii(text):.40}, with a surrogate that stands for no "
                "character. Decode it with errors='replace'."
            ) from error
        yield text


def check_pairs(texts, translations):
    """Raises a `UserError` unless there is one translation for each text."""
    for name, values in (("texts", texts), ("translations", translations)):
        list(check_each(values, name=name))
    if len(texts) != len(translations):
        raise UserError(
            "`translations` must have one entry for each text. Received: "
            f"{len(translations)} translations of {len(texts)} texts. Pass "
            "as many."
        )


class Window(typing.NamedTuple):
    """Texts that are translated together."""

    texts: list[str]
    start: int = 0  # number of texts before these
    prefixes: list[str] | None = None  # of the translations

    def select(self, places: Sequence[int]) -> "Window":
        """Returns a window of the texts at some places."""
        texts = [self.texts[place] for place in places]
        prefixes = self.prefixes and [self.prefixes[place] for place in places]
        return self._replace(texts=texts, prefixes=prefixes)

    def draw_seeds(self, seed: int) -> np.ndarray:
        """Returns a seed of each text, which depends on its number alone."""
        generator = np.random.default_rng(seed)
        generator.integers(2**31, size=self.start, dtype="int32")
        return generator.integers(2**31, size=len(self.texts), dtype="int32")


def read_windows(texts, prefixes=None, start=0, size=None, name="prefixes"):
    """Yields the `Window`s of texts, of `WINDOW` texts by default.

    An error calls the prefixes `name`.
    """
    texts = check_each(texts, start)
    if prefixes is not None:
        prefixes = check_each(prefixes, start, name)
    while window := list(itertools.islice(texts, size or WINDOW)):
        beginnings = prefixes and list(itertools.islice(prefixes, len(window)))
        if prefixes and len(beginnings) < len(window):
            raise UserError(
                f"`{name}` must have one entry for each text. Received: none "
                f"for text {start + len(beginnings) + 1}. Leave an entry empty "
                "where a translation is free."
            )
        yield Window(window, start, beginnings)
        start += len(window)
    if prefixes and next(prefixes, None) is not None:
        raise UserError(
            f"`{name}` must have one entry for each text. Received: more "
            "prefixes than texts. Leave the others out."
        )


def prepare_texts(steps, texts):
    """Returns texts as steps prepare them, and the memory of each step."""
    memories = []
    for step in steps:
        texts, memory = step.prepare(texts)
        memories.append(memory)
    return texts, memories


def finish_hypotheses(steps, hypotheses, memories):
    """Returns hypotheses as steps finish them, in reverse order."""
    for step, memory in zip(reversed(steps), reversed(memories)):
        hypotheses = step.finish(hypotheses, memory)
    return hypotheses


@dataclasses.dataclass(frozen=True)
class Call:
    """What a translator is asked for, except texts."""

    options: DecodeOptions
    prefixes: list[str] | None = None  # of the translations
    seed: int = 0  # of the sampler
    glossary: Glossary | None = None
    protect: Placeholders | None = None


class Preparation:
    """Prepares, counts, encodes and checks texts, for which it needs no model.

    Commands check their input with it before they load a model. It is also the
    base class of translators.

    Args:
        model: The `Engine`, or the `Plan` of a model that is not loaded.
        codec: The `Codec` of the model.
        steps: List of `Step`. Defaults to none.
        reverse: The `Preparation` of the model that reranks. Defaults to None.
    """

    def __init__(self, model, codec, steps=(), reverse=None):
        self.codec = codec
        self.options = model.options
        self.capabilities = model.capabilities
        self.trained_length = model.trained_length
        self.max_length = model.max_length
        self.steps = list(steps)
        self.reverse = reverse
        self.linearization = codec.linearization
        self.max_tokens = codec.max_tokens
        for each in [self, reverse] if reverse else []:
            check_capabilities(each.capabilities, {"rerank_by": True})
            if each.linearization:
                raise UserError(
                    "Reranking needs two runs that translate. Received: "
                    "one that parses. Decode with the parsing run alone."
                )

    def prepare(self, texts: Sequence[str]) -> Sequence[str]:
        """Returns a list of texts as the steps prepare them."""
        return prepare_texts(self.steps, texts)[0]

    def prepare_targets(self, texts: Sequence[str]) -> Sequence[str]:
        """Returns translations as the model would write them."""
        for step in self.steps:
            texts = step.prepare_targets(texts)
        return texts

    def encode(
        self,
        texts: Sequence[str],
        start: int = 0,
        name: str = "sentence",
        of_targets: bool = False,
    ) -> list[list[int]]:
        """Encodes texts, and checks their lengths as `check_lengths` says."""
        if self.reverse:
            self.reverse.encode(texts, start, name, not of_targets)
        prepare = self.prepare_targets if of_targets else self.prepare
        return self.codec.encode(prepare(texts), start, name, of_targets)

    def count_tokens(
        self, texts: Sequence[str], of_targets: bool = False
    ) -> list[int]:
        """Returns the number of tokens of each text, however long it is."""
        if of_targets:
            return self.codec.count_tokens(texts, of_targets=True)
        counts = self.codec.count_tokens(self.prepare(texts))
        if self.reverse:
            reverse = self.reverse.count_tokens(texts, of_targets=True)
            counts = list(map(max, counts, reverse))
        return counts

    def check_lengths(
        self,
        texts: Iterable[str],
        name: str = "the input",
        of_targets: bool = False,
    ) -> int:
        """Checks that no text is too long, and returns their number.

        Error messages call them `name`, such as their file. With `of_targets`
        they are translations, which the steps check as well.
        """
        count = 0
        for window in read_windows(texts):
            for step in self.steps if of_targets else ():
                for line, text in enumerate(window.texts, window.start + 1):
                    step.check_target(text, name, line)
            self.encode(window.texts, count, f"{name}, line", of_targets)
            count += len(window.texts)
        return count

    def change_options(self, **changes) -> DecodeOptions:
        """Returns the translator's options with some of them changed."""
        options = self.options.replace(**changes)
        check_capabilities(self.capabilities, changes)
        is_consensus = self.linearization and options.mbr_samples
        if is_consensus and options.num_hypotheses > 1:
            raise UserError(
                "`num_hypotheses` must be 1 where `mbr_samples` makes one tree "
                f"of all samples. Received: num_hypotheses="
                f"{options.num_hypotheses}, mbr_samples={options.mbr_samples}. "
                "Leave one of them out."
            )
        if self.reverse and options.mbr_samples:
            raise UserError(
                "`mbr_samples` must be 0 with reranking, which orders the "
                f"samples itself. Received: mbr_samples={options.mbr_samples}. "
                "Use temperature=1 and num_hypotheses instead."
            )
        return options

    def check_call(self, call: Call) -> None:
        """Checks the arguments of a translator's call."""
        check_capabilities(self.capabilities, vars(call))
        errors.check_seed(call.seed)
        if call.prefixes is not None:
            check_translates("prefixes", self.linearization)
        if call.glossary:
            check_glossary(call.glossary, call.options, self.linearization)
            check_term_lengths(call.glossary, self.count_tokens)
        if call.protect:
            # A tag such as <fr> looks like a part that must be kept.
            tags = [s.tag for s in self.steps if isinstance(s, TargetTag)]
            others = {"prefixes": call.prefixes, "tag": "".join(tags)}
            check_protect(call.protect, self.linearization, **others)
