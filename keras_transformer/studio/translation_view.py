"""Translations, how sure the model is of each word, and other words."""

import numpy as np

from keras_transformer.decoding.engines.attention import WORD
from keras_transformer.decoding.engines.attention import find_words
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.passages import Passages
from keras_transformer.decoding.passages import pair_sentences
from keras_transformer.decoding.preparation import Window
from keras_transformer.errors import UserError
from keras_transformer.studio.models import MAX_BEAM
from keras_transformer.studio.models import clean_text
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import NEVER_WRITTEN

LANGUAGE = "en"  # its rules decide where sentences end
# The first character of Chinese and Japanese, which have no spaces.
FIRST_WITHOUT_SPACES = "\u2e80"
NUM_TOKENS = 16  # beginnings of other words that are tried
NUM_WORDS = 8  # other words that are shown


def translate(
    studio,
    text: str,
    prefix: str = "",
    num_hypotheses: int = 4,
    run: int = 0,
    step: int = 0,
):
    """Translates each sentence of a text, perhaps after a given beginning.

    Returns the `hypotheses`, best first, each with its `text` and `score`.
    """
    translator = studio.get_model(run, step).fast
    if not clean_text(translator, text):
        return {"hypotheses": []}
    clean_text(translator, prefix, is_target=True)
    prefixes = [prefix] if prefix.strip() else None
    passages = Passages(Window([_clean_lines(text)], 0, prefixes), LANGUAGE)
    translations = translator.translate_window(
        passages.window, num_hypotheses=min(max(1, num_hypotheses), MAX_BEAM)
    )
    (translation,) = passages.join(translations)
    return {
        "hypotheses": [
            {"text": one.text, "score": one.score}
            for one in translation.hypotheses
        ]
    }


def rate_words(
    studio, text: str, translation: str, run: int = 0, step: int = 0
):
    """Computes how probable a model finds each word of a translation.

    Returns the `words`: the places where each begins and ends in the `text`,
    which is the translation as it was read, and its log-probability.
    """
    translator = studio.get_model(run, step).exact
    if not clean_text(translator, text):
        return {"words": []}
    clean_text(translator, translation, is_target=True)
    text, translation = map(_clean_lines, (text, translation))
    pairs = pair_sentences(text, translation, LANGUAGE)
    sources, targets, starts = map(list, zip(*pairs))
    hypotheses = [
        [Hypothesis(target, None, ids)]
        for target, ids in zip(targets, translator.encode_targets(targets))
    ]
    links = translator.word_links(sources, hypotheses, WORD)
    return {
        "words": [
            {
                "start": start + word.start,
                "stop": start + word.stop,
                "log_prob": log_prob,
            }
            for start, each in zip(starts, links)
            for word, log_prob in zip(each.target_words, each.scores)
        ],
        "text": translation,
    }


def _clean_lines(text):
    """Returns a text with single spaces, whose line ends stay."""
    lines = (" ".join(line.split()) for line in text.strip().splitlines())
    return "\n".join(lines)


def find_alternatives(
    studio, text: str, prefix: str = "", run: int = 0, step: int = 0
):
    """Finds the likeliest next words after the beginning of a translation.

    Each of the `alternatives` has a `word`, the `probability` of its first
    token and the `text` that the model writes after choosing it.
    """
    fast, translator = studio.get_model(run, step)
    if translator.linearization:
        raise UserError(
            "`run` must be one that translates. Received: one that parses. "
            "Search for trees instead."
        )
    (source,) = translator.encode([clean_text(translator, text)])
    if not source:
        return {"alternatives": []}
    prefix = clean_text(translator, prefix, is_target=True)
    (ids,) = translator.codec.encode_prefixes([prefix])
    probabilities = _predict_next(translator.engine.model, source, ids)
    probabilities[[*NEVER_WRITTEN, END_ID]] = 0.0
    tokens = np.argsort(-probabilities)[:NUM_TOKENS]
    translations = fast.translate_ids(
        [source] * len(tokens),
        prefixes=[[*ids, int(token)] for token in tokens],
        beam_size=1,
    )
    alternatives: dict[str, dict] = {}
    for token, (best,) in zip(tokens, translations):
        rest = find_words(best.text[len(prefix) :], WORD)
        if best.text.startswith(prefix) and rest:
            if _is_one_word(best.text, len(prefix)):
                continue
            alternatives.setdefault(
                rest[0].text,
                {
                    "word": rest[0].text,
                    "start": len(prefix) + rest[0].start,
                    "probability": float(probabilities[token]),
                    "text": best.text,
                },
            )
    return {"alternatives": list(alternatives.values())[:NUM_WORDS]}


def _is_one_word(text, place):
    """Returns whether a word continues at a place, in a script with spaces."""
    return text[max(0, place - 1) : place + 1].isalnum() and (
        0 < place and text[place] < FIRST_WITHOUT_SPACES
    )


def _predict_next(model, source, prefix):
    """Returns the probabilities of the id after a prefix, `(vocab_size,)`."""
    from keras import ops

    features = {
        "inputs": np.array([source], "int32"),
        # The model does not read the last target. Keras warns of a single one.
        "targets": np.array([[*prefix, END_ID, END_ID]], "int32"),
    }
    logits = model(features, training=False)[0, len(prefix)]
    probabilities = ops.softmax(ops.cast(logits, "float32"))
    return np.array(ops.convert_to_numpy(probabilities))
