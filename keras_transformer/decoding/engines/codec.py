"""Encodes texts with the vocabularies of a model, and decodes ids."""

import itertools

from keras_transformer.data.text import normalization
from keras_transformer.data.text.letter_case import restore_case
from keras_transformer.errors import UserError
from keras_transformer.parsing.target_text import find_linearization
from keras_transformer.search.options import MAX_SOURCE_TOKENS


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
        self.vocabulary = vocabularies.targets
        self.source_vocabulary = vocabularies.sources
        self.language_codes = self.source_vocabulary.language_codes
        # Of the trees that a parsing model writes; None if it translates.
        self.linearization = find_linearization(self.vocabulary)
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
