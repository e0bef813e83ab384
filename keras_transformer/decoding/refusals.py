"""What an exported model says about inputs that it refuses.

The graph of a SavedModel and a served model of CTranslate2 use the same words,
so that a client reads the same error from both.
"""

from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

# The search takes memory in proportion to their squares and cubes, and a server
# must not run out of it.
MAX_TERMS = 64  # of a text
MAX_TERM_TOKENS = 32
NOT_UTF8 = (
    "Text must be UTF-8. Received: other bytes. Convert it, for example with "
    "iconv -t UTF-8."
)
NOT_PAIRED = (
    "`targets` must have one entry for each text. Received: batches of two "
    "sizes. Send one target for each text."
)
NOT_A_LIST_EACH = (
    "`terms` must have one row for each text. Received: batches of two sizes. "
    "Send a row of empty strings for a text without terms."
)
_WAY_OUT = f"Pad rows with {PAD_ID} on the right."
NO_END = (
    f"`inputs` must have {END_ID}, the end id, as the last id of each row and "
    f"nowhere else. Received: other rows. {_WAY_OUT}"
)
EARLY_PADDING = (
    f"`inputs` must hold {PAD_ID} only after the end id. Received: a {PAD_ID} "
    f"before it. {_WAY_OUT}"
)


def too_long(name, max_tokens):
    """Says that a sentence of an input has too many tokens."""
    return (
        f"`{name}` must have at most {max_tokens} tokens each, with the end. "
        "Received: a longer one. Split it."
    )


def too_many_in_terms(most, name):
    """Says that a text has too many terms, or a term too many tokens."""
    owner = "text" if name == "terms" else "term"
    return (
        f"`terms` must have at most {most} {name} for each {owner}. Received: "
        "more. Send fewer or shorter terms."
    )


def unknown_ids(vocab_size):
    """Says that ids are not in the vocabulary."""
    return (
        f"`inputs` must be ids from 0 to {vocab_size - 1}. Received: other "
        "ids. Use the vocabulary of the model."
    )
