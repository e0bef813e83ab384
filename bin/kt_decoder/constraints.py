"""What `--glossary` and `--protect` prescribe for translations."""

from keras_transformer.decoding.steps import glossary
from keras_transformer.decoding.steps import placeholders


def read(flags):
    """Reads the files that the flags of kt-decoder name.

    Returns the arguments `glossary` and `protect` of `Translator.hypotheses`,
    as far as there are any.
    """
    prescribed = {}
    if flags.glossary:
        prescribed["glossary"] = glossary.Glossary.read(flags.glossary)
    if flags.protected_patterns:
        prescribed["protect"] = placeholders.Placeholders.read(
            flags.protected_patterns
        )
    elif flags.protect:
        prescribed["protect"] = placeholders.Placeholders()
    return prescribed


def check(prescribed, options, linearization):
    """Checks that a run can do what is prescribed."""
    if "glossary" in prescribed:
        glossary.check_glossary(prescribed["glossary"], options, linearization)
    if "protect" in prescribed:
        placeholders.check_protect(prescribed["protect"], linearization)


def settings(prescribed):
    """Returns what the output depends on, for `open_resumable`."""
    terms, protect = map(prescribed.get, ("glossary", "protect"))
    return {
        "glossary": terms and terms.sha256,
        "protect": protect and "\n".join(protect.patterns),
    }
