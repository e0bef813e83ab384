"""Reads texts in windows, and encodes them."""

import itertools
from collections.abc import Iterable
from collections.abc import Sequence

from keras_transformer.data import normalization
from keras_transformer.data.letter_case import restore_case
from keras_transformer.decoding.batching import length_limit
from keras_transformer.decoding.engines import check_capabilities
from keras_transformer.errors import UserError
from keras_transformer.search.options import MAX_SOURCE_TOKENS
from keras_transformer.search.options import DecodeOptions

WINDOW = 1024  # sentences that are read, and sorted by length, together


def check_each(texts, start=0, name="texts"):
    """Yields the texts, each checked to be a str without surrogates.

    An error calls them `name`, and the first one has the number `start + 1`.
    """
    # A str is iterable too: each of its characters would be a sentence.
    if isinstance(texts, str):
        raise UserError(
            f"`{name}` must be a list of str. Received: one str, "
            f"{texts[:40]!r}. Put it into a list."
        )
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
            "equally many."
        )


def read_windows(texts, prefixes=None, start=0):
    """Yields windows: number of texts before, texts, and prefixes or None."""
    texts = check_each(texts, start)
    if prefixes is not None:
        prefixes = check_each(prefixes, start, "prefixes")
    while window := list(itertools.islice(texts, WINDOW)):
        window_prefixes = None
        if prefixes is not None:
            window_prefixes = list(itertools.islice(prefixes, len(window)))
            if len(window_prefixes) < len(window):
                number = start + len(window_prefixes) + 1
                raise UserError(
                    "`prefixes` must have one entry for each text. Received: "
                    f"none for text {number}. Pass an empty prefix where a "
                    "translation is free."
                )
        yield start, window, window_prefixes
        start += len(window)
    if prefixes is not None and next(prefixes, None) is not None:
        raise UserError(
            "`prefixes` must have one entry for each text. Received: more "
            "prefixes than texts. Leave the others out."
        )


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


class Codec:
    """Encodes texts with the vocabularies of a model, and decodes ids.

    Sources in capitals, in title case or in small letters are encoded in the
    usual case; see `data.letter_case`.

    Each engine has a codec. `SavedModelCodec` has the same methods, but its
    vocabularies are inside the model. The length of an encoded sentence is its
    number of tokens, and 0 for a blank one.
    """

    def __init__(self, vocabularies, max_tokens=MAX_SOURCE_TOKENS):
        self.vocabularies = vocabularies
        self.vocabulary, self.source_vocabulary = vocabularies
        self.language_codes = self.source_vocabulary.language_codes
        self.max_tokens = max_tokens

    def normalize(self, text):
        """Returns a text as the vocabulary of the sources reads it."""
        if self.source_vocabulary.normalizes_text:
            return normalization.normalize(text)
        return text

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


def prepare_texts(steps, texts):
    """Returns texts as steps prepare them, and the memory of each step."""
    memories = []
    for step in steps:
        texts, memory = step.prepare(texts)
        memories.append(memory)
    return texts, memories


class Preparation:
    """Prepares, counts and encodes the texts of a translator.

    This is the part of a `Translator` that needs no model. Commands check their
    input with it before they load one.
    """

    def __init__(self, engine, steps, reranker):
        self.engine = engine
        self.codec = engine.codec
        self.steps = list(steps)
        self.reranker = reranker
        self.options = engine.options
        self.linearization = engine.linearization
        self.max_tokens = engine.codec.max_tokens
        self.trained_length = engine.trained_length

    def prepare(self, texts: Sequence[str]) -> Sequence[str]:
        """Returns a list of texts as the steps prepare them."""
        return prepare_texts(self.steps, texts)[0]

    def encode(
        self, texts: Sequence[str], start: int = 0, name: str = "sentence"
    ) -> list[list[int]]:
        """Encodes sources, and checks their lengths as `check_lengths` says."""
        if self.reranker:
            self.reranker.reverse.encode_targets(texts, start, name)
        return self.codec.encode(self.prepare(texts), start, name)

    def encode_targets(
        self, texts: Sequence[str], start: int = 0, name: str = "sentence"
    ) -> list[list[int]]:
        """Encodes targets, and checks their lengths as `encode` does."""
        if self.reranker:
            self.reranker.reverse.encode(texts, start, name)
        for step in self.steps:
            texts = step.prepare_targets(texts)
        return self.codec.encode(texts, start, name, of_targets=True)

    def count_tokens(
        self, texts: Sequence[str], of_targets: bool = False
    ) -> list[int]:
        """Returns the number of tokens of each text, however long it is."""
        if of_targets:
            return self.codec.count_tokens(texts, of_targets=True)
        counts = self.codec.count_tokens(self.prepare(texts))
        if self.reranker:
            reverse = self.reranker.reverse.count_tokens(texts, of_targets=True)
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
        return _check_lengths(self.encode_targets, translations, name)

    def change_options(self, **changes) -> DecodeOptions:
        """Returns the translator's options with some of them changed."""
        options = self.options.replace(**changes)
        check_capabilities(self.engine.capabilities, changes)
        if self.reranker and options.mbr_samples:
            raise UserError(
                "`mbr_samples` must be 0 with reranking, which orders the "
                f"samples itself. Received: mbr_samples={options.mbr_samples}. "
                "Use temperature=1 and num_hypotheses instead."
            )
        return options

    def length_limit(self, text: str, prefix: str = "", **options) -> int:
        """Returns the maximum number of tokens of a text's translation."""
        (source_len,) = self.codec.count_tokens(self.prepare([text]))
        (prefix_len,) = self.count_tokens([prefix], True) if prefix else (1,)
        extra_length = self.change_options(**options).extra_length
        limit = length_limit(source_len, prefix_len, extra_length)
        return min(limit, self.engine.max_length or limit)


def _check_lengths(encode, texts, name):
    count = 0
    for start, window, _ in read_windows(texts):
        encode(window, start, f"{name}, line")
        count += len(window)
    return count
