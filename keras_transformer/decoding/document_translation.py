"""Translates the sentences of a document, and moves its markup with them."""

from keras_transformer.decoding.engines.attention import find_words
from keras_transformer.decoding.preparation import read_windows
from keras_transformer.documents.markup import WORD


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
