"""Encoding of texts in chunks: the part of the generation that takes longest.

An encoder is an object with the method `encode` of `LocalEncoder`. Whatever the
encoder, the same chunks give the same ids in the same order.
"""

import contextlib

from keras_transformer.data.prefetch import prefetched
from keras_transformer.data.token_arrays import TokenSequences
from keras_transformer.data.token_arrays import ids_dtype


class LocalEncoder:
    """Encodes on all cores of this machine, one chunk after another."""

    def encode(self, vocabularies, chunks, directory):
        """Yields the encoded texts of each chunk, in the order of the chunks.

        Args:
            vocabularies: List with the `Subwords` of each side.
            chunks: Iterable of chunks. A chunk is a list with the texts of
                each side, which are lists of strings.
            directory: Directory for what an encoder stores meanwhile. This one
                stores nothing.

        Yields:
            A list with the `TokenSequences` of each side.
        """
        # A thread reads and cleans the next chunks while these are encoded.
        with contextlib.closing(prefetched(chunks)) as chunks:
            for chunk in chunks:
                yield encode_chunk(vocabularies, chunk)


def encode_chunk(vocabularies, chunk):
    """Returns a list with the `TokenSequences` of each side of a chunk."""
    return [
        encode_texts(vocabulary, texts)
        for vocabulary, texts in zip(vocabularies, chunk, strict=True)
    ]


def encode_texts(vocabulary, texts):
    """Encodes texts.

    Args:
        vocabulary: A `Subwords`.
        texts: List of strings.

    Returns:
        A `TokenSequences`, whose ids are as narrow as the vocabulary allows.
    """
    return TokenSequences.of_lists(
        vocabulary.encode(texts), ids_dtype(vocabulary.vocab_size)
    )
