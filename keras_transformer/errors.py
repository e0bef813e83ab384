"""The error that a user can mend, and the checks that raise it."""

import dataclasses
import difflib
import importlib.util
import json
import math
import numbers
import re

# TensorFlow and JAX raise these; neither is loaded in every process.
_OUT_OF_MEMORY = ("ResourceExhaustedError", "RESOURCE_EXHAUSTED")


class UserError(ValueError):
    """Bad input, or an event outside the program, that the user can mend.

    A command prints its message in one line and exits with status 2. Every
    other exception is a bug and keeps its traceback. A message about a value
    has three parts: the rule, what was received, and the way out. A message
    about an event says what happened, to what, and what to do.
    """


def require_package(module, name, requirement, more=""):
    """Raises a `UserError` unless a package of Python is installed.

    The `name` begins the message, such as "Documents need sentencex, which".
    """
    if importlib.util.find_spec(module) is None:
        raise UserError(
            f"{name} is not installed. Install it with pip install "
            f"{requirement}{more}."
        )


def is_out_of_memory(error):
    """Returns whether an exception reports that memory has run out."""
    text = f"{type(error).__name__} {error}"
    return isinstance(error, MemoryError) or any(
        word in text for word in _OUT_OF_MEMORY
    )


# `bool("false")` is True, so flags need a table. Python writes True.
_TRUTH = {"true": True, "1": True, "false": False, "0": False}

LARGEST = 10**9  # of most counts; it fits into int32
LARGEST_SEED = 2**32 - 1  # NumPy takes a seed as words of 32 bits

# How errors describe the values that `is_kind` accepts.
KINDS: dict[type | None, str] = {bool: "true or false", int: "an integer"}
KINDS |= {float: "a finite number", str: "text", None: "null"}

_INTEGER = re.compile("[+-]?[0-9]{1,100}")
_NUMBER = re.compile(
    r"[+-]?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})(e[+-]?[0-9]{1,9})?",
    re.IGNORECASE,
)
_SHOWN = 60  # characters of a wrong value that an error quotes


def parse_integer(text):
    """Returns the integer that a text states in at most 100 digits 0 to 9.

    `int` would also take spaces, digits of other scripts and `1_28`.
    """
    if not _INTEGER.fullmatch(text):
        raise UserError(
            "An integer must be written in the digits 0 to 9. Received: "
            f"{quote(text)}. Write for example 128."
        )
    return int(text)


def parse_number(text):
    """Returns the finite number that a text states in the digits 0 to 9.

    `float` would also take NaN, infinity and all that `int` takes.
    """
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise UserError(
            "A number must be finite and written in the digits 0 to 9. "
            f"Received: {quote(text)}. Write for example 0.25 or 1e-3."
        )
    return number


def check_seed(seed):
    """Raises a `UserError` for a seed that is not a natural number."""
    if not isinstance(seed, numbers.Integral) or seed < 0:
        raise UserError(
            "`seed` must be an integer of at least 0. Received: "
            f"seed={quote(seed)}. Use a seed such as 0."
        )


def check_is_list(texts, name="`texts`"):
    """Raises a `UserError` for a str in place of a list of str.

    A str is iterable too: each of its characters would be a text.
    """
    if isinstance(texts, str):
        raise UserError(
            f"{name} must be a list of str. Received: one str, {quote(texts)}. "
            "Put it into a list."
        )


def check_heads(d_model, num_heads, d_k=None, d_v=None):
    """Raises a `UserError` unless the heads can divide the model."""
    if num_heads < 1:
        raise UserError(
            f"`num_heads` must be 1 or more. Received: num_heads={num_heads}. "
            f"Use a divisor of d_model={d_model}, such as 1."
        )
    if d_model % num_heads and not (d_k and d_v):
        divisor = max(n for n in range(1, num_heads) if d_model % n == 0)
        raise UserError(
            "`d_model` must be divisible by `num_heads`. Received: "
            f"d_model={d_model}, num_heads={num_heads}. Use a divisor of "
            f"d_model such as {divisor}, or set both d_k and d_v."
        )


def quote(value):
    """Returns a value as code that an error quotes, cut if it is long."""
    try:
        return shorten(repr(value))
    except ValueError:  # of an integer with thousands of digits
        return "a number with thousands of digits"


def shorten(text):
    """Returns a text, cut if it is longer than an error should quote."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def did_you_mean(name, names, cutoff=0.6):
    """Returns a question with the names most like an unknown one, or "".

    It ends with a space. `cutoff` is passed to `difflib.get_close_matches`.

    >>> did_you_mean("dropuot", ["dropout", "d_model"])
    'Did you mean: dropout? '
    """
    matches = difflib.get_close_matches(name, names, cutoff=cutoff)
    return f"Did you mean: {', '.join(matches)}? " if matches else ""


def is_kind(value, kind):
    """Returns whether a value is of one of the types in `KINDS`.

    An integer is also a float. Integers fit into 64 bits, floats are finite,
    and a text can be printed.
    """
    if kind is None:
        return value is None
    if kind is float and type(value) is int:
        kind = int
    # Compares exact types, because a bool is an int to `isinstance`.
    if type(value) is not kind:
        return False
    if kind is float:
        return math.isfinite(value)
    if kind is int:
        return -(2**63) <= value < 2**63
    # A lone surrogate cannot be written, and no path holds a null character.
    return kind is bool or not re.search("[\0\ud800-\udfff]", value)


def between(low, high, *names, kind=numbers.Real):
    """Returns the rule for `check` that fields are from `low` to `high`."""

    def accepts(value):
        return isinstance(value, kind) and low <= value <= high

    noun = "an integer " if kind is numbers.Integral else ""
    return f"{noun}from {low:,} to {high:,}", accepts, names


def one_of(choices, *names):
    """Returns the rule for `check` that fields are one of two or more texts."""
    *others, last = map(repr, choices)
    return f"{', '.join(others)} or {last}", choices.__contains__, names


def check(options, rules):
    """Checks the types and the ranges of the values of a frozen dataclass.

    Its fields are bool, int, float or str and have defaults. An integer becomes
    a float if the field is a float, and a NumPy number becomes a Python number.
    `between` and `one_of` return rules. The `UserError` names the first value
    that does not fit.
    """
    for field in dataclasses.fields(options):
        value = _to_python(getattr(options, field.name))
        kind = _find_kind(type(options), field)
        if not is_kind(value, kind):
            raise _wrong_kind(field, kind, value)
        value = float(value) if kind is float else value
        # The only way to set a field of a frozen dataclass in `__post_init__`.
        object.__setattr__(options, field.name, value)
    check_ranges(type(options), vars(options), rules)


def check_ranges(cls, values, rules):
    """Checks the ranges of some values of a dataclass, a dictionary by name."""
    for rule, accepts, names in rules:
        for name in names:
            if name in values and not accepts(values[name]):
                raise UserError(
                    f"`{name}` must be {rule}. Received: "
                    f"{name}={quote(values[name])}. Use a value such as "
                    f"{getattr(cls, name)!r}."
                )


def parse_changes(cls, text, flag):
    """Returns the changes to a dataclass that a text names, as a dictionary.

    The text is `name=value,...`, and `flag` is the user's name for it.
    """
    changes = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            first, second, *_ = dataclasses.fields(cls)
            raise UserError(
                f"`{flag}` must be name=value pairs with commas between them. "
                f"Received: {quote(item)}. Write for example "
                f"{first.name}={first.default},{second.name}={second.default}."
            )
        if name in changes:
            raise UserError(
                f"`{flag}` must name each field once. Received: "
                f"{name}={changes[name]} and {name}={shorten(value)}. "
                "Remove one."
            )
        field = find_field(cls, name, flag)
        changes[name] = _parse(field, _find_kind(cls, field), value)
    return changes


def find_field(cls, name, flag):
    """Returns the field of a dataclass that a text called `flag` names."""
    fields = {field.name: field for field in dataclasses.fields(cls)}
    if name in fields:
        return fields[name]
    raise UserError(
        f"`{flag}` must name fields of {cls.__name__}. Received: "
        f"{flag}={quote(name)}. {did_you_mean(name, fields)}"
        f"The fields are: {', '.join(fields)}.{getattr(cls, 'advice', '')}"
    )


def _find_kind(cls, field):
    """Returns the type of a field; a user's class may state any other one."""
    kinds = {kind.__name__: kind for kind in (bool, int, float, str)}
    # The type is a name if the module postpones the evaluation of annotations.
    kind = kinds.get(field.type, field.type)
    if kind in kinds.values():
        return kind
    name = getattr(kind, "__name__", kind)
    raise UserError(
        f"The fields of {cls.__name__} must be bool, int, float or str. "
        f"Received: {field.name}: {name}. Use str for a list, with a default "
        "such as '1 2', and divide it where it is read."
    )


def _parse(field, kind, text):
    parsers = {bool: lambda text: _TRUTH[text.lower()], int: parse_integer}
    parsers |= {float: parse_number, str: str}
    try:
        return parsers[kind](text)
    except (KeyError, UserError):
        raise _wrong_kind(field, kind, text) from None


def _to_python(value):
    """Converts a NumPy number, such as `np.float32(0.5)`, to a Python one."""
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value


def _wrong_kind(field, kind, value):
    return UserError(
        f"`{field.name}` must be {KINDS[kind]}. Received: "
        f"{field.name}={quote(value)}. Use a value such as "
        f"{json.dumps(field.default)}."
    )
