"""Words of a translation: where they come from, and how sure the model is."""

import numpy as np

from keras_transformer.decoding.attention import END
from keras_transformer.token_ids import WORD_START


def word_links(attention, layer=-1, shifted=False):
    """Links each word of a translation to a word of its source.

    The weights are those of cross-attention, averaged over the heads of a
    layer. A word is linked to the word whose tokens receive the greatest weight
    from its own.

    Args:
        attention: `Attention` of a sentence and its translation.
        layer: Integer, the layer of the decoder from 0, or from -1 backwards.
            Defaults to the last, which has the lowest alignment error on the
            toy language (`docs/alignments.md`).
        shifted: Whether a token has the weights of the position that reads it
            (Chen et al., 2020) in place of the position that predicts it.
            Defaults to False.

    Returns:
        A list of pairs of integers, the number of a source word and the number
        of a target word, both from 0, in the order of the target. Words are
        separated by spaces. The list is empty if either text is blank.
    """
    sources = _word_numbers(attention.source_tokens)
    targets = _word_numbers(attention.target_tokens)
    if not len(sources) or not len(targets):
        return []
    weights = attention.cross[layer].mean(axis=0)  # (target_len, source_len)
    if shifted:
        # No position reads the last token of a translation that did not end.
        weights = np.concatenate([weights[1:], weights[-1:]])
    weights = weights[: len(targets), : len(sources)]
    of_words = np.zeros((targets[-1] + 1, sources[-1] + 1))
    np.add.at(of_words, np.ix_(targets, sources), weights)
    return [(int(row.argmax()), number) for number, row in enumerate(of_words)]


def word_scores(attention):
    """Returns the log-probability of each word of a translation.

    It is the sum of those of the word's tokens. The end of the sentence belongs
    to the last word, so all words together have the log-probability of the
    translation, its score without a length penalty.

    Args:
        attention: `Attention` of a sentence and its translation.

    Returns:
        A list of floats, empty if the translation is blank.
    """
    numbers = _word_numbers(attention.target_tokens)
    if not len(numbers):
        return []
    scores = np.zeros(numbers[-1] + 1)
    np.add.at(scores, numbers, attention.log_probs[: len(numbers)])
    scores[-1] += np.sum(attention.log_probs[len(numbers) :])
    return scores.tolist()


def pharaoh(links):
    """Writes links in Pharaoh's format.

    Example:

    >>> pharaoh([(0, 0), (2, 1)])
    '0-0 2-1'
    """
    return " ".join(f"{source}-{target}" for source, target in links)


def _word_numbers(tokens):
    """Returns the number of the word of each token, without the end."""
    numbers, num_words, is_inside = [], 0, False
    for token in tokens:
        if token == END:
            break
        for character in token:
            num_words += character != WORD_START and not is_inside
            is_inside = character != WORD_START
        # A mark alone belongs to the word that it begins.
        numbers.append(num_words - is_inside)
    return np.minimum(numbers, num_words - 1) if num_words else np.array([])
