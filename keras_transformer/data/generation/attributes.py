"""Checks of the attributes and the descriptions of a user's problem."""

import re

from keras_transformer import errors
from keras_transformer.data.generation.corpora import MAX_WEIGHT
from keras_transformer.errors import UserError
from keras_transformer.token_ids import VOCABULARY_TYPES
from keras_transformer.token_ids import WORD_START

# Pieces that mean something to SentencePiece.
_RESERVED = re.compile("<pad>|<unk>|</?s>|<0x[0-9A-Fa-f]{2}>")


def at_least(minimum, allows_none=False, rest=""):
    """Returns the rule of an integer, which `rest` describes further."""

    def follows(value):
        is_whole = errors.is_kind(value, int) and value >= minimum
        return is_whole or (allows_none and value is None)

    return follows, f"an integer of at least {minimum}{rest}"


def _are_texts(value):
    # A single str would be taken for a sequence of its letters.
    is_sequence = isinstance(value, tuple | list)
    return is_sequence and all(isinstance(text, str) for text in value)


_LANGUAGE = lambda v: isinstance(v, str), "a text, the code of a language"
_TYPES = f"one of {', '.join(VOCABULARY_TYPES)}"
# By attribute: whether a value follows its rule, and the rule.
_RULES = {
    "inputs_language": _LANGUAGE,
    "targets_language": _LANGUAGE,
    "vocab_size": at_least(1, rest=", or None if no vocabulary is trained"),
    "source_vocab_size": at_least(1, allows_none=True, rest=", or None"),
    "vocabulary_temperature": (
        lambda value: isinstance(value, int | float) and value >= 1,
        "a number of at least 1",
    ),
    "splits": (
        lambda value: (
            _are_texts(value)
            and "train" in value
            and len(set(value)) == len(value)
            # The files of a split begin with its name.
            and all(re.fullmatch(r"\w[\w.-]*", name) for name in value)
        ),
        "a tuple of different names of letters, digits and -, with "
        '"train" among them',
    ),
    "user_symbols": (_are_texts, "a tuple of texts"),
    "normalize_text": (lambda v: isinstance(v, bool), "a bool"),
    "vocabulary_type": (VOCABULARY_TYPES.__contains__, _TYPES),
    "source_vocabulary_type": (
        (None, *VOCABULARY_TYPES).__contains__,
        f"None, or {_TYPES}",
    ),
    "character_coverage": (
        lambda value: (
            value is None or (isinstance(value, int | float) and 0 < value <= 1)
        ),
        "None, or a number above 0 and at most 1",
    ),
}


def check_attributes(problem, tmp_dir):
    """Raises a `UserError` for the first class attribute with a wrong value."""
    for name, rule in _RULES.items():
        is_given = (
            (name, problem.vocab_size) == ("vocab_size", None)
            and problem.shared_vocabulary
            and (problem.vocabulary_path or problem.bpe_symbols(tmp_dir))
        )
        if not is_given:
            check_attribute(problem, name, *rule)
    check_user_symbols(
        problem.user_symbols,
        f"Correct {type(problem).__name__}.user_symbols, for example to "
        '("<num>", "<url>").',
    )


def check_attribute(problem, name, follows, rule):
    """Raises a `UserError` if an attribute does not follow its rule.

    `follows` tells whether a value does.
    """
    value = getattr(problem, name)
    if not follows(value):
        # The usual value comes from the first base class.
        bases = [vars(c) for c in type(problem).__mro__ if name in vars(c)]
        raise UserError(
            f"`{name}` of a problem must be {rule}. Received: "
            f"{type(problem).__name__}.{name} = {value!r}. Write for example "
            f"{name} = {bases[-1][name]!r}."
        )


def check_corpora(problem, split, tmp_dir):
    """Returns a problem's descriptions of the corpora of a split, checked."""
    described = problem.describe_corpora(split)
    if not described:
        return []
    num_corpora = len(problem.text_corpora(split, tmp_dir))
    if len(described) != num_corpora or not all(map(_is_described, described)):
        raise UserError(
            "`describe_corpora` of a problem must return a dictionary for each "
            "corpus of `text_corpora`, with a text as `name`, a list of texts "
            f"as `sha256` and a `weight` above 0 and at most {MAX_WEIGHT:,}. "
            f"Received: {type(problem).__name__}.describe_corpora({split!r}) = "
            f"{described!r}, while `text_corpora` returns {num_corpora}. Give "
            'each an entry like {"name": "news", "sha256": [], "weight": 1}.'
        )
    return described


def _is_described(entry):
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and _are_texts(entry.get("sha256"))
        and errors.is_kind(entry.get("weight"), float)
        and 0 < entry["weight"] <= MAX_WEIGHT
        and isinstance(entry.get("tag", ""), str)
    )


def check_user_symbols(
    symbols, way_out="Write for example --symbols='<num>,<url>'."
):
    """Raises a `UserError`, which ends with `way_out`, about a bad symbol.

    A bad one is empty, has a space, occurs twice, or is in every vocabulary.
    """
    seen = set()
    for symbol in symbols:
        fault = None
        if not symbol or WORD_START in symbol or re.search(r"\s", symbol):
            fault = "which is empty or has a space"
        elif _RESERVED.fullmatch(symbol):
            fault = "which every vocabulary has"
        elif symbol in seen:
            fault = "which occurs twice"
        if fault:
            raise UserError(
                "Each symbol must be a text of its own without spaces. "
                f"Received: {symbol!r}, {fault}. {way_out}"
            )
        seen.add(symbol)
