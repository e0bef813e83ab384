"""Pronunciations learnt from the user's word lists."""

from keras_transformer.problems.translate_files import TranslateFiles
from keras_transformer.registry import register_problem


@register_problem
class G2pFiles(TranslateFiles):
    """Grapheme to phoneme, learnt from word lists of your own.

    Each line has a word, a tab and its phones, with spaces between them. Every
    character of a word has an id, each letter of a syllable of Hangul, and
    every phone. The text stays as it is, and the share of words that are all
    right decides which checkpoint is best. Otherwise it is `translate_files`.
    `_rev` spells pronunciations.
    """

    shared_vocabulary = False
    vocabulary_type = "words"
    source_vocabulary_type = "characters"
    normalize_text = False
    is_tokenized = True
    measure = "exact_match"
