"""Which words of a translation belong to which words of its source."""

import re
import typing

import numpy as np

from keras_transformer.decoding.batches import padded

WORD = re.compile(r"\w+|[^\w\s]")
BATCH_SIZE = 16  # sentences whose attention is in memory at once


class WordLinks(typing.NamedTuple):
    """How much each word of a translation attends to each word of its source.

    A word is a row of letters and digits, or another character but a space.
    """

    source_words: list  # of pairs (start, end), places in the source text
    target_words: list  # of pairs (start, end), places in the translation
    weights: np.ndarray  # (number of target words, number of source words)

    def span_of(self, start, end):
        """Returns the part of the translation that belongs to a source part.

        It is around all words that attend most to a word of the part, or else
        around the word that attends most to the part.

        Args:
            start, end: Places in the source. An empty part stands for the word
                that follows it.

        Returns:
            Two places in the translation. After the last word of the source
            they are those of the end.
        """
        sources = [
            i
            for i, (first, last) in enumerate(self.source_words)
            if last > start and (first < end or start == end)
        ]
        if start == end:
            sources = sources[:1]
        if not self.target_words or not sources:
            place = self.target_words[-1][1] if self.target_words else 0
            return place, place
        chosen = np.flatnonzero(
            np.isin(np.argmax(self.weights, axis=1), sources)
        )
        if not len(chosen):
            strongest = self.weights[:, sources].max(axis=1)
            chosen = [np.argmax(strongest)]
        return self.target_words[chosen[0]][0], self.target_words[chosen[-1]][1]


def find_links(model, vocabulary, sources, hypotheses):
    """Finds the links of sentences and their translations.

    The links are the cross-attention of the decoder's last layer but one, the
    mean of its heads, as Garg et al. (2019) found to align best. Of a model
    with one layer it is that layer.

    Args:
        model: A built `Transformer`, or an `Ensemble`, whose first model is
            used.
        vocabulary: The model's `Subwords`.
        sources: List of str.
        hypotheses: List of `Hypothesis` with their ids, one for each source.

    Returns:
        List of `WordLinks`.
    """
    from keras import ops

    (model, *_) = getattr(model, "models", [model])
    encoded = vocabulary.encode(sources)
    links = []
    for start in range(0, len(sources), BATCH_SIZE):
        batch = range(start, min(start + BATCH_SIZE, len(sources)))
        inputs = [encoded[i] for i in batch]
        targets = [hypotheses[i].ids for i in batch]
        _, weights = model(
            {"inputs": padded(inputs), "targets": padded(targets)},
            return_weights=True,
            training=False,
        )
        layers = weights["cross"]
        attention = ops.convert_to_numpy(layers[max(len(layers) - 2, 0)])
        attention = attention.mean(axis=1)  # (batch, target_len, source_len)
        for pair in zip(inputs, targets, attention):
            links.append(_of_words(vocabulary, *pair))
    return links


def _of_words(vocabulary, source_ids, target_ids, attention):
    source_words, source_shares = _words(vocabulary, source_ids)
    target_words, target_shares = _words(vocabulary, target_ids)
    attention = attention[: len(target_ids), : len(source_ids)]
    weights = target_shares @ attention @ source_shares.T
    return WordLinks(source_words, target_words, weights)


def _words(vocabulary, ids):
    """Returns the words that ids spell, and the share of each id in each word.

    Returns:
        List of pairs (start, end), and an array of shape
        `(number of words, len(ids))`, whose rows sum to 1.
    """
    starts = [ids[:number] for number in range(len(ids) + 1)]
    places = list(map(len, vocabulary.decode(starts)))
    text = vocabulary.decode([ids])[0]
    words = [match.span() for match in WORD.finditer(text)]
    shares = np.zeros((len(words), len(ids)))
    for row, (start, end) in zip(shares, words):
        for i, piece in enumerate(zip(places, places[1:])):
            row[i] = max(min(end, piece[1]) - max(start, piece[0]), 0)
    return words, shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)
