"""Translations, how sure the model is of each word, and other words."""

import numpy as np

from keras_transformer import registry
from keras_transformer.decoding.engines.attention import WORD
from keras_transformer.decoding.engines.attention import find_words
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.passages import divide_text
from keras_transformer.decoding.training_pairs import NUM_PAIRS
from keras_transformer.errors import UserError
from keras_transformer.runs.data_record import list_language_codes
from keras_transformer.studio.models import MAX_BEAM
from keras_transformer.studio.models import clean_text
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import NEVER_WRITTEN

LANGUAGE = "en"  # its rules divide a text of an unknown language
MAX_SENTENCES = 100  # of a text that is translated while it is typed
NUM_EXAMPLES = 3
EXAMPLE_LENGTH = 60  # characters of a sentence that can be read at a glance
EXAMPLES = [
    "Where is the station?",
    "I don't know what to say.",
    "She has lived in this city for ten years.",
]
# The first character of Chinese and Japanese, which have no spaces.
FIRST_WITHOUT_SPACES = "\u2e80"
NUM_TOKENS = 16  # beginnings of other words that are tried
NUM_WORDS = 8  # other words that are shown


def divide(studio, text: str, run: int = 0):
    """Divides a text into `parts`, of which the odd ones are sentences.

    Each sentence is translated and shown alone.
    """
    directory = studio.get_run(run)
    codes = list_language_codes(directory)
    lines = (" ".join(line.split()) for line in text.strip().splitlines())
    parts = divide_text("\n".join(lines), codes[0] if codes else LANGUAGE)
    if (number := len(parts) // 2) > MAX_SENTENCES:
        raise UserError(
            f"`text` must have at most {MAX_SENTENCES} sentences. Received: "
            f"{number:,}. Translate it with kt-decoder."
        )
    return {"parts": parts if text.strip() else [""]}


def list_examples(studio, run: int = 0):
    """Lists the first short `sentences` of dev, or of the language at least."""
    directory = studio.get_run(run)
    data_dir = directory.record.get("data_dir")
    try:
        problem = registry.get_problem(directory.problem_name, data_dir)
        sources, _ = problem.text_split("dev")
    except UserError:  # the data are not on this machine
        codes = list_language_codes(directory)
        sources = EXAMPLES if codes[:1] == ["en"] else []
    short = [text for text in sources if len(text) <= EXAMPLE_LENGTH]
    return {"sentences": list(dict.fromkeys(short))[:NUM_EXAMPLES]}


def translate(
    studio,
    text: str,
    prefix: str = "",
    num_hypotheses: int = 4,
    run: int = 0,
    step: int = 0,
):
    """Translates a sentence, after the beginning that a user may give.

    Returns the `hypotheses`, best first, each with its `text` and `score`. A
    correction has none. Equal texts are one hypothesis.
    """
    translator = studio.get_model(run, step).fast
    text = clean_text(translator, text)
    if not text:
        return {"hypotheses": []}
    prefix = clean_text(translator, prefix, is_target=True)
    (hypotheses,) = translator.hypotheses(
        [text],
        prefixes=[prefix] if prefix else None,
        num_hypotheses=min(max(1, num_hypotheses), MAX_BEAM),
    )
    scores: dict[str, float] = {}
    for one in hypotheses:
        scores.setdefault(one.text, one.score)
    return {
        "hypotheses": [
            # A correction has the score 0, which no search gives.
            {"text": text, "score": score or None}
            for text, score in scores.items()
        ]
    }


def correct(studio, text: str, translation: str, run: int = 0):
    """Keeps the correction of a sentence, which the next translation uses."""
    memory = studio.get_memory(run)
    if memory is None:
        raise UserError(
            "Corrections need a memory of these languages. Received: one "
            "without. Start kt-studio with --memory."
        )
    sides = (" ".join(side.split()) for side in (text, translation))
    memory.remember(*sides, origin="kt-studio")
    return {}


def find_origins(studio, text: str, translation: str, run: int = 0):
    """Finds the pairs that the words of a translation may come from.

    Each of the `pairs`, at most five, has a `source`, a `target`, and whether
    it `is_correction`. Corrections come first, then pairs of the training text,
    if it is on this machine.
    """
    memory = studio.get_memory(run)
    matches = memory.find_similar(text, NUM_PAIRS) if memory else []
    try:
        matches += studio.get_training_pairs(run).find(text, translation)
    except UserError:
        if not matches:
            raise
    return {
        "pairs": [
            {
                "source": match.pair.source,
                "target": match.pair.target,
                "is_correction": bool(match.pair.time),
            }
            for match in matches[:NUM_PAIRS]
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
    text = clean_text(translator, text)
    if not text:
        return {"words": []}
    translation = clean_text(translator, translation, is_target=True)
    (ids,) = translator.encode([translation], of_targets=True)
    hypothesis = Hypothesis(translation, None, ids)
    (links,) = translator.word_links([text], [[hypothesis]], WORD)
    return {
        "words": [
            {"start": word.start, "stop": word.stop, "log_prob": log_prob}
            for word, log_prob in zip(links.target_words, links.scores)
        ],
        "text": translation,
    }


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
        text, place = best.text, len(prefix)
        words = find_words(text[place:], WORD)
        begins_one = words and not _is_one_word(text, place)
        if begins_one and text.startswith(prefix):
            one = {"word": words[0].text, "start": place + words[0].start}
            one |= {"probability": float(probabilities[token]), "text": text}
            alternatives.setdefault(words[0].text, one)
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
    return np.array(ops.softmax(ops.cast(logits, "float32")))
