"""The attention of a model to a sentence, and the links between words."""

import re
import typing
from collections.abc import Sequence

import numpy as np

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import END_LABEL
from keras_transformer.token_ids import UNSPACED

START = "(start)"
SPACED_WORD = re.compile(r"\S+")
# A letter or a digit of a word between spaces.
SPACED = rf"[^\W{UNSPACED}]"
# A run of letters and digits, or any other character except a space.
WORD = re.compile(rf"{SPACED}+|\S")
# The lowest alignment error on the toy language (`docs/attention.md`).
LAYER = -1
MAX_ROWS = 16  # sentences whose attention is in memory at once
MAX_CELLS = 2**21  # pairs of positions of such sentences


class Attention(typing.NamedTuple):
    """All attention weights of one sentence and its translation.

    For every layer and head, an array has a row for each query, which attends,
    and a column for each key, which is attended to. Each row sums to 1.

    The queries of `decoder` and `cross` are the positions that predict the
    `target_tokens`. The decoder reads the targets shifted right by one, with a
    zero vector first, so the position that predicts a token has not seen it.
    The keys of `decoder` are therefore `decoder_keys`: "(start)" and then all
    target tokens except the last.
    """

    source_tokens: list[str]  # "(end)" last
    target_tokens: list[str]  # "(end)" last if the translation ended
    # The decoder may have another num_layers than the encoder.
    encoder: np.ndarray  # (num_layers, num_heads, source_len, source_len)
    decoder: np.ndarray  # (num_layers, num_heads, target_len, target_len)
    cross: np.ndarray  # (num_layers, num_heads, target_len, source_len)
    log_probs: np.ndarray | tuple = ()  # (target_len,), of the target tokens

    @property
    def decoder_keys(self) -> list[str]:
        """The list of labels of the decoder's input, one for each position."""
        return [START, *self.target_tokens[:-1]]

    def select(self, kind: str) -> tuple[list[str], list[str], np.ndarray]:
        """Returns two lists of labels, of queries and keys, and the weights.

        `kind` is "encoder", "decoder" or "cross".
        """
        sources, targets = self.source_tokens, self.target_tokens
        return {
            "encoder": (sources, sources, self.encoder),
            "decoder": (targets, self.decoder_keys, self.decoder),
            "cross": (targets, sources, self.cross),
        }[kind]


def compute_attention(model, vocabularies, source_ids, target_ids):
    """Runs a model on a pair of sentences and returns its `Attention`.

    The target is forced: the model predicts each token from the tokens before
    it, even where it would choose others. Both lists of ids have the end id.
    """
    # Imported here because exported models run without Keras.
    from keras import ops

    pair = source_ids, target_ids
    # A sentence by itself has no padding, so every weight is worth showing.
    weights, log_probs = _predict(model, [pair])
    arrays = {
        kind: np.stack([ops.convert_to_numpy(layer)[0] for layer in layers])
        for kind, layers in weights.items()
    }  # (num_layers, num_heads, query_len, key_len)
    tokens = map(_label, vocabularies, pair)
    return Attention(*tokens, **arrays, log_probs=log_probs[0])


def compute_encoder_attention(translator, texts):
    """Yields the tokens of each text and the attention of the encoder to it.

    The tokens are a list of str; the attention has the shape `(num_layers,
    num_heads, source_len, source_len)`. The translator must belong to a run.
    """
    from keras import ops

    engine = translator.engine
    vocabulary = engine.codec.source_vocabulary
    sources = vocabulary.encode(translator.prepare(texts))
    # The encoder does not depend on the targets.
    pairs = [(ids, _extend_to_two([])) for ids in sources]
    for batch in split_batches(pairs, MAX_ROWS):
        weights, _ = _predict(engine.model, batch)
        layers = [ops.convert_to_numpy(layer) for layer in weights["encoder"]]
        for row, (ids, _) in enumerate(batch):
            size = len(ids)
            sentence = [layer[row, :, :size, :size] for layer in layers]
            yield _label(vocabulary, ids), np.stack(sentence)


def _label(vocabulary, ids):
    pieces = vocabulary.pieces(ids)
    return [END_LABEL if i == END_ID else p for i, p in zip(ids, pieces)]


class Word(typing.NamedTuple):
    """A word and its place in a text."""

    text: str
    start: int
    stop: int


class WordLinks(typing.NamedTuple):
    """How much each word of a translation attends to each word of its source.

    The weights are the cross-attention where the tokens of the translation are
    predicted. They are the mean over the heads of a layer and over the
    tokens of the target word, and the sum over the tokens of the source word.
    White space counts as a part of the word after it.
    """

    source_words: list[Word]
    target_words: list[Word]
    weights: np.ndarray  # (number of target words, number of source words)
    # The log-probability of each target word, the sum over its tokens.
    # The end belongs to the last word, so all of them together have the
    # log-probability of the translation, its score without a length penalty.
    scores: Sequence[float] = ()

    def find_pairs(self) -> list[tuple[int, int]]:
        """Links each word of the translation to the word it attends to most.

        Returns pairs (source word, target word) of their numbers from 0, in the
        order of the target.
        """
        if not self.source_words:
            return []
        return [(int(row.argmax()), i) for i, row in enumerate(self.weights)]

    def find_mutual_pairs(self) -> list[tuple[int, int]]:
        """Links words that attend most to each other, see `find_pairs`.

        Attention often rests on punctuation, although it translates no word. So
        words are linked only with words, and punctuation with punctuation.
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

    def find_span(self, start: int, end: int) -> tuple[int, int]:
        """Returns the part of the translation that belongs to a source part.

        It spans all words that attend most to a word of the part. If there are
        none, it is the word that attends most to the part. An empty part stands
        for the word that follows it, or after the last word for the end.
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
        chosen = np.flatnonzero(np.isin(self.weights.argmax(axis=1), sources))
        if not len(chosen):
            chosen = [self.weights[:, sources].max(axis=1).argmax()]
        first, last = chosen[0], chosen[-1]
        return self.target_words[first].start, self.target_words[last].stop

    def drop_source(self, place: int) -> "WordLinks":
        """Returns the links of the source text after a place in it."""
        first = sum(word.start < place for word in self.source_words)
        words = [
            Word(text, start - place, stop - place)
            for text, start, stop in self.source_words[first:]
        ]
        weights = self.weights[:, first:]
        return self._replace(source_words=words, weights=weights)


def find_words(text, pattern):
    """Returns the `Word`s of a text that a pattern such as `WORD` matches."""
    return [Word(match[0], *match.span()) for match in pattern.finditer(text)]


def format_pharaoh(pairs):
    """Writes pairs of words in Pharaoh's format.

    >>> format_pharaoh([(0, 0), (2, 1)])
    '0-0 2-1'
    """
    return " ".join(f"{source}-{target}" for source, target in pairs)


def find_links(
    model, vocabularies, source_ids, target_ids, pattern, layer=LAYER
):
    """Finds the `WordLinks` of sentences and their translations.

    They come from a `layer` of the decoder of a `Transformer`. The ids are
    lists of lists, and sources have the end id. The `pattern`, such as `WORD`,
    matches a word.
    """
    from keras import ops

    pairs = [
        (_extend_to_two(source), _extend_to_two(target))
        for source, target in zip(source_ids, target_ids, strict=True)
    ]
    links = []
    for batch in split_batches(pairs, MAX_ROWS):
        weights, log_probs = _predict(model, batch)
        heads = ops.cast(weights["cross"][layer], "float32")
        weights = ops.convert_to_numpy(ops.mean(heads, axis=1))
        # (batch, target_len, source_len)
        links += [
            link_words(vocabularies, pattern, *row)
            for row in zip(batch, weights, log_probs)
        ]
    return links


def _extend_to_two(ids):
    # Attention needs a token, and Keras warns of a softmax over a single one.
    return [*ids, *[END_ID] * max(0, 2 - len(ids))]


def split_batches(pairs, max_rows):
    """Yields lists of successive pairs whose attention fits into memory."""
    batch, longest = [], 0
    for pair in pairs:
        longest = max(longest, *map(len, pair))
        num_rows = len(batch) + 1
        if batch and (num_rows > max_rows or num_rows * longest**2 > MAX_CELLS):
            yield batch
            batch, longest = [], max(map(len, pair))
        batch.append(pair)
    if batch:
        yield batch


def _predict(model, pairs):
    """Returns all weights, and log-probabilities `(batch, target_len)`."""
    from keras import ops

    inputs, targets = map(pad, zip(*pairs))
    logits, weights = model(
        {"inputs": inputs, "targets": targets},
        return_weights=True,
        training=False,
    )
    log_probs = ops.log_softmax(ops.cast(logits, "float32"))
    log_probs = ops.take_along_axis(log_probs, targets[:, :, None], axis=-1)
    return weights, ops.convert_to_numpy(log_probs)[:, :, 0]


def link_words(vocabularies, pattern, pair, weights, log_probs=None):
    """Returns the `WordLinks` of a pair of ids.

    They follow from the cross-attention of the tokens, `weights` of shape
    `(target_len, source_len)`, and their log-probabilities, without which the
    words have no scores. The end of a translation needs no weights. The other
    arguments are as in `find_links`.
    """
    sides = map(_share_out, vocabularies, pair, (pattern, pattern))
    (source_words, of_source), (target_words, of_target) = sides
    scores = []
    if log_probs is not None:
        scores = (log_probs[: len(of_target)] @ of_target).tolist()
    # Attention to and from the end id says nothing about words.
    num_sources, num_targets = (len(ids) - (ids[-1] == END_ID) for ids in pair)
    of_target, of_source = of_target[:num_targets], of_source[:num_sources]
    weights = of_target.T @ weights[:num_targets, :num_sources] @ of_source
    weights /= np.maximum(of_target.sum(axis=0), 1e-9)[:, None]
    return WordLinks(source_words, target_words, weights, scores)


def _share_out(vocabulary, ids, pattern):
    """Returns the words that ids spell, and each id's share of each word."""
    # The shares are an array of shape `(len(ids), number of words)`. Its rows
    # sum to 1, because white space belongs to the word after it, and what has
    # no text, such as the end, to the word before it.

    # A character may need several ids, and a space may belong to none. Only the
    # text of each beginning tells where the text of an id ends.
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
