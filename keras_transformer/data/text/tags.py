"""Tags: words at the start of a source that tell the model what to do.

A tag names the language to translate into (Johnson et al., 2017, "Google's
Multilingual Neural Machine Translation System") or the origin of a text, such
as back-translation (Caswell et al., 2019, "Tagged Back-Translation"). The word
of the tag `fr` is `<fr>`, and it has one id in the vocabulary. The
languages of models that come from Marian have words such as `>>fra<<` instead.
"""

import re

from keras_transformer.errors import UserError

MAX_LENGTH = 32  # of a tag, in characters
_TAG = rf"[A-Za-z0-9_-]{{1,{MAX_LENGTH}}}"


def check_tag(tag, name):
    """Raises a `UserError` about `name` unless its text can be a tag."""
    if not is_tag(tag):
        raise UserError(
            f"{name} must be at most {MAX_LENGTH} letters, digits, hyphens or "
            f"underscores. Received: {tag!r}. Write a code such as fr."
        )


def is_tag(text):
    """Returns whether a text can be a tag."""
    return bool(re.fullmatch(_TAG, text))


def make_tag_word(tag, language_codes=()):
    """Returns the word that stands for a tag, such as `<fr>`.

    It is `>>fra<<` if `fra` is one of the `Subwords.language_codes` of a model.
    """
    return f">>{tag}<<" if tag in language_codes else f"<{tag}>"


def find_tag_end(text):
    """Returns where a text begins after its tag, 0 if it has no tag.

    >>> find_tag_end("<fr> A dog."), find_tag_end("A dog.")
    (5, 0)
    """
    match = re.match(f"(<{_TAG}>|>>{_TAG}<<) ", text)
    return match.end() if match else 0


def add_tag(text, tag, language_codes=()):
    """Returns a text with the word of a tag before it, unless it is blank.

    >>> add_tag("A dog.", "fr"), add_tag("A dog.", None), add_tag("", "fr")
    ('<fr> A dog.', 'A dog.', '')
    """
    if tag is None or not text.strip():
        return text
    return f"{make_tag_word(tag, language_codes)} {text}"
