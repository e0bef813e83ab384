"""Readers of numbers, checks of options, and parts of error messages."""

import dataclasses
import difflib
import json
import math
import numbers
import re

# `bool("false")` is True, so flags need a table.
_TRUTH = {"true": True, "1": True, "false": False, "0": False}

LARGEST = 10**9  # of most counts; it fits into int32
LARGEST_SEED = 2**32 - 1  # NumPy takes a seed as words of 32 bits

_INTEGER = re.compile("[+-]?[0-9]{1,100}")
_NUMBER = re.compile(
    r"[+-]?([0-9]{1,100}(\.[0-9]{0,100})?|\.[0-9]{1,100})(e[+-]?[0-9]{1,9})?",
    re.IGNORECASE,
)
_SHOWN = 60  # characters of a wrong value that an error quotes


def parse_integer(text):
    """Returns the integer that a text states in the digits 0 to 9.

    Use it in place of `int`, which also takes spaces, digits of other scripts
    and `1_28`.

    Raises:
        ValueError: If the text is anything else, or has over 100 digits.

    Example:

    >>> parse_integer("-3")
    -3
    """
    if not _INTEGER.fullmatch(text):
        raise ValueError(
            "An integer must be written in the digits 0 to 9. Received: "
            f"{quote(text)}. Write for example 128."
        )
    return int(text)


def parse_number(text):
    """Returns the finite number that a text states in the digits 0 to 9.

    Use it in place of `float`, which also takes NaN, infinity and all that
    `int` takes.

    Raises:
        ValueError: If the text is anything else, or is out of a float's range.

    Example:

    >>> parse_number("1e-3")
    0.001
    """
    number = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(number):
        raise ValueError(
            "A number must be finite and written in the digits 0 to 9. "
            f"Received: {quote(text)}. Write for example 0.25 or 1e-3."
        )
    return number


def check_seed(seed):
    """Raises a `ValueError` for a seed that is not a whole number."""
    if not isinstance(seed, numbers.Integral) or seed < 0:
        raise ValueError(
            "`seed` must be a whole number of at least 0. Received: "
            f"seed={quote(seed)}. Use a seed such as 0."
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
    """Returns a question with the names that are most like an unknown one.

    It ends with a space. If no name is like it, it is empty. `cutoff` is that
    of `difflib.get_close_matches`.

    Example:

    >>> did_you_mean("dropuot", ["dropout", "d_model"])
    'Did you mean: dropout? '
    """
    matches = difflib.get_close_matches(name, names, cutoff=cutoff)
    return f"Did you mean: {', '.join(matches)}? " if matches else ""


def between(low, high, *names):
    """Returns the rule for `check` that values are within two limits.

    Args:
        low: The least value.
        high: The greatest value.
        *names: Names of the fields that the rule applies to.
    """

    def accepts(value):
        return low <= value <= high

    return f"from {low:,} to {high:,}", accepts, names


def one_of(choices, *names):
    """Returns the rule for `check` that values are among some texts.

    Args:
        choices: Tuple of the texts, at least two.
        *names: Names of the fields that the rule applies to.
    """
    *others, last = map(repr, choices)
    return f"{', '.join(others)} or {last}", choices.__contains__, names


def check(options, rules):
    """Checks the types and the ranges of a dataclass's values.

    A whole number becomes a float if the field is a float, and a number of
    NumPy becomes one of Python.

    Args:
        options: Instance of a frozen dataclass whose fields are bool, int,
            float or str and have defaults.
        rules: Triples of a rule in words, a function that tells whether a value
            obeys it, and the names of the fields that it applies to.

    Raises:
        ValueError: If a value does not fit; the message names the first one.
    """
    for field_ in dataclasses.fields(options):
        value = _typed(field_, getattr(options, field_.name))
        # The only way to set a field of a frozen dataclass in `__post_init__`.
        object.__setattr__(options, field_.name, value)
    check_ranges(type(options), vars(options), rules)


def check_ranges(cls, values, rules):
    """Checks the ranges of some values of a dataclass.

    Args:
        cls: The dataclass.
        values: Dictionary of field name to value of the right type.
        rules: As `check` takes them.

    Raises:
        ValueError: If a value does not fit; the message names the first one.
    """
    for rule, accepts, names in rules:
        for name in names:
            if name in values and not accepts(values[name]):
                raise ValueError(
                    f"`{name}` must be {rule}. Received: "
                    f"{name}={quote(values[name])}. Use a value such as "
                    f"{getattr(cls, name)!r}."
                )


def parse_changes(cls, text, flag):
    """Returns the changes that a text names, as a dictionary.

    Args:
        cls: The dataclass.
        text: `name=value` pairs with commas between them; may be empty.
        flag: The user's name for the text.

    Raises:
        ValueError: If a name is unknown or repeated, or if a value has the
            wrong type.
    """
    changes = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals:
            raise ValueError(
                f"`{flag}` must be name=value pairs with commas between them. "
                f"Received: {quote(item)}. Write for example {_example(cls)}."
            )
        if name in changes:
            raise ValueError(
                f"`{flag}` must name each field once. Received: "
                f"{name}={changes[name]} and {name}={shorten(value)}. "
                "Remove one."
            )
        changes[name] = _parse(field(cls, name, flag), value)
    return changes


def field(cls, name, flag):
    """Returns the field of a dataclass that has this name.

    Args:
        cls: The dataclass.
        name: Name of the field.
        flag: The user's name for the text that names the field.

    Raises:
        ValueError: If there is no such field. The message lists similar names.
    """
    fields = {field_.name: field_ for field_ in dataclasses.fields(cls)}
    if name in fields:
        return fields[name]
    raise ValueError(
        f"`{flag}` must name fields of {cls.__name__}. Received: "
        f"{flag}={quote(name)}. {did_you_mean(name, fields)}"
        f"The fields are: {', '.join(fields)}."
    )


def _example(cls):
    first, second, *_ = dataclasses.fields(cls)
    return f"{first.name}={first.default},{second.name}={second.default}"


def _parse(field_, text):
    parsers = {bool: _TRUTH.__getitem__, int: parse_integer}
    parsers |= {float: parse_number, str: str}
    try:
        return parsers[field_.type](text)
    except (KeyError, ValueError):
        raise _wrong_type(field_, text) from None


def _typed(field_, value):
    value = _plain(value)
    # A bool is an int to `isinstance`, hence the exact types.
    # The largest float is just below 2**1024.
    is_integer = type(value) is int and value.bit_length() < 1024
    if field_.type is float and is_integer:
        return float(value)
    if type(value) is not field_.type:
        raise _wrong_type(field_, value)
    # Infinity would pass most rules.
    if field_.type is float and not math.isfinite(value):
        raise _wrong_type(field_, value)
    return value


def _plain(value):
    """Returns a number of NumPy, such as `np.float32(0.5)`, as Python's own."""
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value


def _wrong_type(field_, value):
    kinds = {
        bool: "true or false",
        int: "a whole number",
        float: "a finite number",
        str: "text",
    }
    return ValueError(
        f"`{field_.name}` must be {kinds[field_.type]}. Received: "
        f"{field_.name}={quote(value)}. Use a value such as "
        f"{json.dumps(field_.default)}."
    )
