"""Checks what a translator is asked for, without its model."""

import itertools
from collections.abc import Iterable
from collections.abc import Sequence

from keras_transformer import fields
from keras_transformer.decoding.engines.batching import length_limit
from keras_transformer.decoding.engines.engine import check_capabilities
from keras_transformer.decoding.steps import check_translates
from keras_transformer.decoding.steps.affixes import TargetTag
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.glossary import check_glossary
from keras_transformer.decoding.steps.glossary import check_term_lengths
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.decoding.steps.placeholders import check_protect
from keras_transformer.decoding.texts import prepare_texts
from keras_transformer.decoding.texts import read_windows
from keras_transformer.errors import UserError
from keras_transformer.search.options import DecodeOptions


class Preparation:
    """Prepares, counts, encodes and checks texts, for which it needs no model.

    Commands check their input with it before they load a model. It is also the
    base class of translators.

    Args:
        codec: The `Codec` of the model.
        options: The model's `DecodeOptions`, which a call may change.
        capabilities: The `Capabilities` of the engine.
        trained_length: Integer number of tokens of the longest training text.
        max_length: Integer, the maximum number of tokens of a translation.
            Defaults to None, which means no limit of the engine.
        steps: List of `Step`. Defaults to none.
        reverse: The `Preparation` of the model that reranks. Defaults to None.
    """

    def __init__(
        self,
        codec,
        options,
        capabilities,
        trained_length,
        max_length=None,
        steps=(),
        reverse=None,
    ):
        self.codec = codec
        self.options = options
        self.capabilities = capabilities
        self.trained_length = trained_length
        self.max_length = max_length
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
        self, texts: Sequence[str], start: int = 0, name: str = "sentence"
    ) -> list[list[int]]:
        """Encodes sources, and checks their lengths as `check_lengths` says."""
        if self.reverse:
            self.reverse.encode_targets(texts, start, name)
        return self.codec.encode(self.prepare(texts), start, name)

    def encode_targets(
        self, texts: Sequence[str], start: int = 0, name: str = "sentence"
    ) -> list[list[int]]:
        """Encodes targets, and checks their lengths as `encode` does."""
        if self.reverse:
            self.reverse.encode(texts, start, name)
        texts = self.prepare_targets(texts)
        return self.codec.encode(texts, start, name, of_targets=True)

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
        self, texts: Iterable[str], name: str = "the input"
    ) -> int:
        """Checks that no text is too long, and returns their number.

        Error messages call them `name`, such as their file.
        """
        return _check_lengths(self.encode, texts, name)

    def check_translations(
        self, translations: Iterable[str], name: str = "the input"
    ) -> int:
        """Checks texts of the target side as `check_lengths` does."""

        def check_each_target():
            for line, text in enumerate(translations, 1):
                for step in self.steps:
                    step.check_target(text, name, line)
                yield text

        return _check_lengths(self.encode_targets, check_each_target(), name)

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

    def check_call(
        self,
        options: DecodeOptions,
        prefixes: Iterable[str] | None = None,
        seed: int = 0,
        glossary: Glossary | None = None,
        protect: Placeholders | None = None,
    ) -> None:
        """Checks the arguments of a translator's call, except its texts."""
        changes = dict(glossary=glossary, protect=protect, prefixes=prefixes)
        check_capabilities(self.capabilities, {**changes, "seed": seed})
        fields.check_seed(seed)
        if prefixes is not None:
            check_translates("prefixes", self.linearization)
        if glossary:
            check_glossary(glossary, options, self.linearization)
            check_term_lengths(glossary, self.count_tokens)
        if protect:
            # A tag such as <fr> looks like a part that must be kept.
            tags = {
                "tag": step.tag
                for step in self.steps
                if isinstance(step, TargetTag)
            }
            check_protect(
                protect, self.linearization, prefixes=prefixes, **tags
            )

    def length_limit(self, text: str, prefix: str = "", **options) -> int:
        """Returns the maximum number of tokens of a text's translation."""
        (source_len,) = self.codec.count_tokens(self.prepare([text]))
        (prefix_len,) = self.count_tokens([prefix], True) if prefix else (1,)
        options = self.change_options(**options)
        return self._limit_length(source_len, prefix_len, options)

    def _limit_lengths(self, sources, prefixes, options):
        """Returns the limits of the translations of encoded texts."""
        return [
            self._limit_length(len(source) or 1, len(prefix) + 1, options)
            for source, prefix in zip(sources, prefixes or itertools.repeat(()))
        ]

    def _limit_length(self, source_len, prefix_len, options):
        limit = length_limit(source_len, prefix_len, options.extra_length)
        return min(limit, self.max_length or limit)


def _check_lengths(encode, texts, name):
    count = 0
    for window in read_windows(texts):
        encode(window.texts, window.start, f"{name}, line")
        count += len(window.texts)
    return count
