"""Checks and name=value changes of frozen dataclasses of options."""

import dataclasses
import difflib
import json
import math

# `bool("false")` is True, so flags need a table.
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def check(options, rules):
    """Checks the types and the ranges of a dataclass's values.

    A whole number becomes a float if the field is a float.

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
    for rule, accepts, names in rules:
        for name in names:
            value = getattr(options, name)
            if not accepts(value):
                default = getattr(type(options), name)
                raise ValueError(
                    f"`{name}` must be {rule}. Received: {name}={value!r}. "
                    f"Use a value such as {default!r}."
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
                f"Received: {item!r}. Write for example {_example(cls)}."
            )
        if name in changes:
            raise ValueError(
                f"`{flag}` must name each field once. Received: "
                f"{name}={changes[name]} and {name}={value}. Remove one."
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
    matches = difflib.get_close_matches(name, fields)
    suggestion = f"Did you mean: {', '.join(matches)}? " if matches else ""
    raise ValueError(
        f"`{flag}` must name fields of {cls.__name__}. Received: "
        f"{flag}={name!r}. {suggestion}The fields are: {', '.join(fields)}."
    )


def _example(cls):
    first, second, *_ = dataclasses.fields(cls)
    return f"{first.name}={first.default},{second.name}={second.default}"


def _parse(field_, text):
    try:
        return _TRUTH[text] if field_.type is bool else field_.type(text)
    except (KeyError, ValueError):
        raise _wrong_type(field_, text) from None


def _typed(field_, value):
    # A bool is an int to `isinstance`, hence the exact types.
    if field_.type is float and type(value) is int:
        return float(value)
    if type(value) is not field_.type:
        raise _wrong_type(field_, value)
    # Infinity would pass most rules.
    if field_.type is float and not math.isfinite(value):
        raise _wrong_type(field_, value)
    return value


def _wrong_type(field_, value):
    kinds = {
        bool: "true or false",
        int: "a whole number",
        float: "a finite number",
        str: "text",
    }
    return ValueError(
        f"`{field_.name}` must be {kinds[field_.type]}. Received: "
        f"{field_.name}={value!r}. Use a value such as "
        f"{json.dumps(field_.default)}."
    )
