"""Puts our flags in place of Tensor2Tensor's, as its tables say."""

import importlib
import re
import sys
import textwrap

from keras_transformer.bin.shared.tensor2tensor_names import TABLES
from keras_transformer.errors import UserError

_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)
ACCEPTED = "accepted"
NO_EFFECT = "no effect: "
LEFT_OUT = "left out: "


def translate(command, values, arguments):
    """Returns a command and its arguments, with our names in them.

    `values` are the flags of the command. Lines on standard error say which
    names of Tensor2Tensor have no effect or another name. A name that is left
    out is a `UserError`.
    """
    if command not in TABLES:
        return command, arguments
    result, notes = [], {}
    pieces = list(_split(arguments, values))
    for name, value, text in pieces:
        if name is None:
            result.append(text)
            continue
        _, here = find(command, name, value and value.lower())
        if here.startswith("kt-"):
            # Another command does what was asked, and has a table of its own.
            print(f"{command} becomes {here}.", file=sys.stderr)
            other, flag = here.split()
            rest = [each for _, _, each in pieces if each != text]
            return translate(other, find_module(other).FLAGS, [flag, *rest])
        table = f"{command} --{name}"
        if table in TABLES and value is not None:
            result += _translate_pairs(name, value, table, notes)
        elif name in values:  # our flags keep their meaning
            result.append(text)
        else:
            result += _replace("--", name, value, text, command, notes)
    # The last flag counts: what a value of theirs means, not ours.
    result.sort(key=[here for _, here in TABLES[command]].__contains__)
    for (verb, reason), names in notes.items():
        line = f"{command} {verb} {', '.join(names)}{reason}."
        print(line, file=sys.stderr)
    return command, result


def find_module(command):
    """Returns the module of a command such as kt-trainer."""
    name = command.removeprefix("kt-").replace("-", "_")
    return importlib.import_module(f"keras_transformer.bin.{name}")


def _split(arguments, values):
    """Yields the name, the value and the text of each argument.

    The value of `--name value` joins its name, and `--noname` is `--name=false`
    if we have no flag of this name.
    """
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        match = _FLAG.fullmatch(argument)
        name, value = match.groups() if match else (None, None)
        if match and value is None and rest and re.match(r"[^-]|-\d", rest[0]):
            value = rest.pop(0)
            argument = f"--{name}={value}"
        if match and value is None and {name, name[2:]}.isdisjoint(values):
            if name.startswith("no"):
                name, value = name[2:], "false"
        yield name, value, argument


def _translate_pairs(flag, text, table, notes):
    """Returns a flag with our names in its `name=value` pairs, and others."""
    pairs = [pair.strip().partition("=") for pair in text.split(",")]
    beam_size = {name: value for name, _, value in pairs}.get("beam_size", "4")
    texts = [
        text.replace("{beam_size}", beam_size)
        for name, equals, value in pairs
        for text in _replace(
            "", name, value, name + equals + value, table, notes
        )
    ]
    further = [text for text in texts if text.startswith("--")]
    kept = [text for text in texts if text not in further]
    return [f"--{flag}={','.join(kept)}", *further]


def find(table, name, value=None):
    """Returns the pattern and the text of the first row that fits a name."""
    for patterns, here in TABLES[table]:
        for pattern in patterns:
            text = f"{name}={value}" if "=" in pattern else name
            if re.fullmatch(pattern, text):
                return pattern, here
    return "", ""


def _replace(prefix, name, value, text, table, notes):
    """Returns a list of what stands for a name, or of its text if unknown."""
    word = (value or "true").lower()
    pattern, here = find(table, name, word)
    is_left_out = here.startswith(LEFT_OUT)
    is_off = word == "false" and (is_left_out or not here)
    if here == ACCEPTED or (is_off and find(table, name, "true")[1]):
        return []
    if is_left_out:
        raise UserError(
            f"`{prefix}{name}` must be what this command takes over from "
            f"Tensor2Tensor. Received: {text}. {here.removeprefix(LEFT_OUT)}"
        )
    if here.startswith(NO_EFFECT):
        note = "ignores", f", because {here.removeprefix(NO_EFFECT)}"
        notes.setdefault(note, []).append(prefix + name)
        return []
    if not here or "=" in pattern:
        return [here or text]
    if not prefix:
        notes.setdefault(("reads", ""), []).append(f"{name} as {here}")
    return [here + ("" if value is None else f"={value}")]


def describe(command, values):
    """Returns the part of a command's help about Tensor2Tensor's names."""
    lines = []
    for table in TABLES:
        start, _, flag = table.partition(" ")
        for names, here in TABLES[table] if start == command else ():
            names = [name for name in names if name not in values]
            if names and not here.startswith(LEFT_OUT):
                prefix = f"{flag}=" if flag else "--"
                line = f"{', '.join(prefix + name for name in names)}: {here}"
                lines += textwrap.wrap(line, 74, subsequent_indent="  ")
    part = "".join(f"  {line}\n" for line in lines)
    return part and f"\nNames of tensor2tensor:\n{part}"
