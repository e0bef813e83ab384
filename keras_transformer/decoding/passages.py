"""Documents, and texts of several sentences, which are translated alone."""

import importlib.util
import itertools
import re

import numpy as np

from keras_transformer.decoding.engines.attention import SPACED_WORD
from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.decoding.engines.attention import find_words
from keras_transformer.decoding.preparation import read_windows
from keras_transformer.decoding.translation import join_translations
from keras_transformer.documents.document import make_segmenter
from keras_transformer.documents.markup import WORD

_LINE_END = re.compile(r"(\r\n?|\n)")


class Passages:
    """Divides the texts of a `Window` into sentences, and joins translations.

    A model would make one sentence of a text that has several, and leave most
    of it out. A text of one sentence stays as it is, and so does what has no
    letter. Without the package sentencex, only line ends divide a text.

    Args:
        window: The `Window`. The sentences of a prefix belong to the first
            ones of its text.
        language: Code of the language, which decides where sentences end.

    Attributes:
        window: The `Window` of the sentences.
    """

    def __init__(self, window, language):
        segment = _make_segmenter(language)
        self._all_parts = [_divide(text, segment) for text in window.texts]
        prefixes = window.prefixes and [
            one
            for prefix, parts in zip(window.prefixes, self._all_parts)
            for one in _divide_prefix(prefix, len(parts) // 2, segment)
        ]
        sentences = [one for parts in self._all_parts for one in parts[1::2]]
        self.window = window._replace(texts=sentences, prefixes=prefixes)

    def join(self, translations):
        """Returns the `Translation` of each text, joined of its sentences'."""
        translations = iter(translations)
        joined = []
        for parts in self._all_parts:
            of_text = list(itertools.islice(translations, len(parts) // 2))
            is_whole = parts[::2] == ["", ""]
            joined.append(of_text[0] if is_whole else _join(parts, of_text))
        return joined


def divide_text(text, language):
    """Returns the sentences of a text, and what is before and after each.

    The sentences have the odd places of the list.
    """
    return _divide(text, _make_segmenter(language))


def _make_segmenter(language):
    if importlib.util.find_spec("sentencex") is None:
        return lambda line: [line]
    return make_segmenter(language)


def _divide(text, segment):
    parts = [""]
    for line in _LINE_END.split(text):
        for piece in segment(line) if line.strip() else [line]:
            sentence = piece.strip()
            if any(map(str.isalpha, sentence)):
                before, _, after = piece.partition(sentence)
                parts[-1] += before
                parts += [sentence, after]
            else:
                parts[-1] += piece
    is_one = len(parts) <= 3 and not _LINE_END.search(text)
    return ["", text, ""] if is_one else parts


def _divide_prefix(prefix, number, segment):
    """Returns the prefixes of a number of sentences, blank ones last."""
    if number == 1:
        return [prefix]
    sentences = _divide(prefix, segment)[1::2] if prefix.strip() else []
    # More sentences than the text has belong to the last one.
    last = number - 1
    shared = [*sentences[:last], " ".join(sentences[last:])]
    return (shared + [""] * number)[:number]


def _join(parts, translations):
    """Joins the translations of a text's sentences with what is around them."""
    between = [
        # Not all scripts have spaces between sentences.
        part or (" " if 0 < number < len(translations) else "")
        for number, part in enumerate(parts[::2])
    ]

    def interleave(texts):
        pairs = itertools.zip_longest(between, texts, fillvalue="")
        return "".join(itertools.chain.from_iterable(pairs))

    whole = join_translations(translations, interleave)
    if None in [one.links for one in translations]:  # the caller asks for none
        return whole
    links = map(_complete_links, parts[1::2], translations)
    return whole._replace(links=_join_links(between, links))


def _complete_links(text, translation):
    """Adds the words at the end that the model does not see, such as emoji."""
    links = translation.links
    height, width = links.weights.shape
    texts = text, translation.hypotheses[0].text
    sources, targets = (find_words(each, SPACED_WORD) for each in texts)
    sources = [*links.source_words, *sources[width:]]
    targets = [*links.target_words, *targets[height:]]
    weights = np.zeros((len(targets), len(sources)))
    weights[:height, :width] = links.weights
    for row in range(height, len(targets)):
        weights[row, min(width + row - height, len(sources) - 1)] = 1
    scores = [*links.scores, *[0.0] * (len(targets) - height)]
    return WordLinks(sources, targets, weights, scores)


def _join_links(between, links):
    """Returns the links of a whole text; their words have no places."""
    blocks = []
    for text, each in itertools.zip_longest(between, links):
        # Words between sentences stay as they are.
        words = find_words(text, SPACED_WORD)
        identity = np.eye(len(words))
        blocks.append(WordLinks(words, words, identity, [0.0] * len(words)))
        if each:
            blocks.append(each)
    sources, targets, _, scores = (
        list(itertools.chain.from_iterable(side)) for side in zip(*blocks)
    )
    weights = np.zeros((len(targets), len(sources)))
    row = column = 0
    for block in blocks:
        height, width = block.weights.shape
        weights[row : row + height, column : column + width] = block.weights
        row, column = row + height, column + width
    return WordLinks(sources, targets, weights, scores)


def translate_document(document, translator, report=None, **arguments):
    """Returns the text of a translated document, and what is known of it.

    The second result is the `Translation` of each sentence. A sentence stays as
    it is if its translation is empty.

    Args:
        document: A `Document`.
        translator: A `Translator`. If its engine can link words, the markup
            within a sentence goes to the words that it belongs to.
        report: See `Translator.hypotheses`. Defaults to None.
        **arguments: Other arguments of `Translator.translate_window`.
    """
    sentences = document.sentences
    translations = [
        translation
        for window in read_windows(sentences)
        for translation in translator.translate_window(
            window, report, **arguments
        )
    ]
    best = [translation.hypotheses[0] for translation in translations]
    text = document.replace_sentences(
        [one.text or sentence for one, sentence in zip(best, sentences)],
        _align(document, best, translator),
    )
    return text, translations


def _align(document, best, translator):
    """Returns the alignments of the sentences that have markup to place."""
    alignments = [None] * len(best)
    if "word_links" not in translator.capabilities.supports:
        return alignments
    numbers = [
        number
        for number, has_markup in enumerate(document.has_markup)
        # Only the translation of a whole sentence has ids.
        if has_markup and best[number].ids
    ]
    links = numbers and translator.word_links(
        [document.sentences[number] for number in numbers],
        [[best[number]] for number in numbers],
        WORD,
        scored=False,
    )
    for number, each in zip(numbers, links):
        texts = document.sentences[number], best[number].text
        # A vocabulary may change the spelling of a text.
        words = tuple(find_words(text, WORD) for text in texts)
        if (each.source_words, each.target_words) == words:
            alignments[number] = each.find_mutual_pairs()
    return alignments
