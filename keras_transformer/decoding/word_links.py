"""Which words of a translation belong to which words of its source."""

import re
import typing

import numpy as np

from keras_transformer.decoding.arrays import padded
from keras_transformer.token_ids import END_ID

SPACED_WORD = re.compile(r"\S+")
# A run of letters and digits, or any other character except a space.
WORD = re.compile(r"\w+|[^\w\s]")
# The lowest alignment error on the toy language (`docs/alignments.md`).
LAYER = -1
MAX_ROWS = 16  # sentences whose attention is in memory at once
MAX_CELLS = 2**21  # pairs of positions of such sentences


class Word(typing.NamedTuple):
    """A word and its place in a text."""

    text: str
    start: int
    stop: int


class WordLinks(typing.NamedTuple):
    """How much each word of a translation attends to each word of its source.

    The weights are those of cross-attention where the tokens of the translation
    are predicted. They are the mean over the heads of a layer and over the
    tokens of the target word, and the sum over the tokens of the source word.
    White space counts as a part of the word after it.
    """

    source_words: list  # of `Word`
    target_words: list  # of `Word`
    weights: np.ndarray  # (number of target words, number of source words)
    # The log-probability of each target word, the sum of those of its tokens.
    # The end belongs to the last word, so all of them together have the
    # log-probability of the translation, its score without a length penalty.
    scores: list = ()

    def find_pairs(self):
        """Links each word of the translation to the word it attends to most.

        Returns:
            List of pairs of integers, the number of a source word and the
            number of a target word, both from 0, in the order of the target.
        """
        if not self.source_words:
            return []
        return [(int(row.argmax()), i) for i, row in enumerate(self.weights)]

    def find_mutual_pairs(self):
        """Links words that attend most to each other.

        Attention often rests on punctuation, although it translates no word.
        Words are therefore linked only with words, and other characters only
        with other characters.

        Returns:
            List of pairs of integers, as `find_pairs` returns.
        """
        if not self.source_words:
            return []
        sides = [
            [word.text[0].isalnum() for word in words]
            for words in (self.target_words, self.source_words)
        ]
        weights = self.weights * np.equal.outer(*sides)
        best_targets = weights.argmax(axis=0)
        return [
            (source, target)
            for source, target in self._replace(weights=weights).find_pairs()
            if best_targets[source] == target and weights[target, source] > 0
        ]

    def find_span(self, start, end):
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
            for i, word in enumerate(self.source_words)
            if word.stop > start and (word.start < end or start == end)
        ]
        if start == end:
            sources = sources[:1]
        if not self.target_words or not sources:
            place = self.target_words[-1].stop if self.target_words else 0
            return place, place
        chosen = np.flatnonzero(
            np.isin(np.argmax(self.weights, axis=1), sources)
        )
        if not len(chosen):
            strongest = self.weights[:, sources].max(axis=1)
            chosen = [np.argmax(strongest)]
        first, last = (
            self.target_words[chosen[0]],
            self.target_words[chosen[-1]],
        )
        return first.start, last.stop

    def drop_source(self, place):
        """Returns the links of the source text behind a place in it."""
        numbers = [
            i for i, word in enumerate(self.source_words) if word.start >= place
        ]
        words = [
            Word(text, start - place, stop - place)
            for text, start, stop in map(self.source_words.__getitem__, numbers)
        ]
        weights = self.weights[:, numbers]
        return self._replace(source_words=words, weights=weights)


def find_words(text, pattern):
    """Returns the `Word`s of a text.

    Args:
        text: Str.
        pattern: Compiled regular expression of a word, such as `WORD`.
    """
    return [Word(match[0], *match.span()) for match in pattern.finditer(text)]


def format_pharaoh(pairs):
    """Writes pairs of words in Pharaoh's format.

    Example:

    >>> format_pharaoh([(0, 0), (2, 1)])
    '0-0 2-1'
    """
    return " ".join(f"{source}-{target}" for source, target in pairs)


def find_links(
    model,
    vocabulary,
    source_ids,
    target_ids,
    pattern,
    source_vocabulary=None,
    layer=LAYER,
):
    """Finds the links of sentences and their translations.

    Args:
        model: A built `Transformer`, or an `Ensemble`, whose first model is
            used.
        vocabulary: The `Subwords` of the targets.
        source_ids: List of lists of ids with the end id, one for each sentence.
        target_ids: List of lists of ids, those of the translations.
        pattern: Compiled regular expression of a word, such as `WORD`.
        source_vocabulary: The `Subwords` of the sources. Defaults to None,
            which means `vocabulary`.
        layer: Integer, the layer of the decoder from 0, or from -1 backwards.
            Defaults to the last.

    Returns:
        List of `WordLinks`.
    """
    (model, *_) = getattr(model, "models", [model])
    vocabularies = source_vocabulary or vocabulary, vocabulary
    pairs = [
        (_two_or_more(source), _two_or_more(target))
        for source, target in zip(source_ids, target_ids, strict=True)
    ]
    links = []
    for batch in _batches(pairs):
        weights, log_probs = _predict(model, batch, layer)
        links += map(
            lambda *row: _of_words(vocabularies, pattern, *row),
            batch,
            weights,
            log_probs,
        )
    return links


def _two_or_more(ids):
    # Attention needs a token, and Keras warns of a softmax over a single one.
    return [*ids, *[END_ID] * max(0, 2 - len(ids))]


def _batches(pairs):
    """Yields lists of successive pairs that fit into memory together."""
    batch, longest = [], 0
    for pair in pairs:
        longest = max(longest, *map(len, pair))
        num_rows = len(batch) + 1
        if batch and (num_rows > MAX_ROWS or num_rows * longest**2 > MAX_CELLS):
            yield batch
            batch, longest = [], max(map(len, pair))
        batch.append(pair)
    if batch:
        yield batch


def _predict(model, pairs, layer):
    """Runs a model on pairs of ids.

    Returns:
        The weights of a layer, of shape `(batch, target_len, source_len)`, and
        the log-probabilities of the target ids, of shape `(batch, target_len)`.
    """
    # Imported here because exported models run without Keras.
    from keras import ops

    inputs, targets = map(padded, zip(*pairs))
    logits, weights = model(
        {"inputs": inputs, "targets": targets},
        return_weights=True,
        training=False,
    )
    log_probs = ops.log_softmax(ops.cast(logits, "float32"))
    log_probs = ops.take_along_axis(log_probs, targets[:, :, None], axis=-1)
    heads = ops.cast(weights["cross"][layer], "float32")
    return (
        ops.convert_to_numpy(ops.mean(heads, axis=1)),
        ops.convert_to_numpy(log_probs)[:, :, 0],
    )


def _of_words(vocabularies, pattern, pair, weights, log_probs):
    sides = map(_words_of, vocabularies, pair, (pattern, pattern))
    (source_words, of_source), (target_words, of_target) = sides
    scores = log_probs[: len(of_target)] @ of_target
    # Attention to and from the end id says nothing about words.
    num_sources, num_targets = (len(ids) - (ids[-1] == END_ID) for ids in pair)
    of_target, of_source = of_target[:num_targets], of_source[:num_sources]
    weights = of_target.T @ weights[:num_targets, :num_sources] @ of_source
    weights /= np.maximum(of_target.sum(axis=0), 1e-9)[:, None]
    return WordLinks(source_words, target_words, weights, scores.tolist())


def _words_of(vocabulary, ids, pattern):
    """Returns the words that ids spell, and the share of each id in each word.

    Returns:
        List of `Word`, and an array of shape `(len(ids), number of words)`. Its
        rows sum to 1, because white space belongs to the word after it, and
        what has no text, such as the end, to the word before it.
    """
    beginnings = [ids[:number] for number in range(len(ids) + 1)]
    *texts, text = vocabulary.decode(beginnings)
    words = find_words(text, pattern)
    shares = np.zeros((len(ids), len(words)))
    if not words:
        return words, shares
    stops = [word.stop for word in words]
    owners = np.searchsorted(stops, np.arange(len(text)), side="right")
    owners = np.minimum(owners, len(words) - 1)  # of each character
    places = np.array([*map(len, texts), len(text)])
    # The first bytes of a character can decode to more text than all of them.
    places = np.minimum.accumulate(places[::-1])[::-1].tolist()
    for row, start, stop in zip(shares, places, places[1:]):
        if stop <= start:
            start = min(max(start - 1, 0), len(text) - 1)
            stop = start + 1
        of_token = owners[start:stop]
        np.add.at(row, of_token, 1 / len(of_token))
    return words, shares
