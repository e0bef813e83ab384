"""Puts our flags in place of Tensor2Tensor's, as `tensor2tensor.txt` says.

That file has the rules of its rows. The page for users of Tensor2Tensor and
`--help` show them.
"""

import importlib
import re
import sys
import textwrap

from keras_transformer.errors import UserError
from keras_transformer.registry import TENSOR2TENSOR
from keras_transformer.registry import find_row

_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)


def translate(command, values, arguments):
    """Returns a command and its arguments, with our names in them.

    `values` are the flags of the command. Lines on standard error say which
    names of Tensor2Tensor have no effect or another name. A name that is left
    out is a `UserError`.
    """
    if command not in TENSOR2TENSOR:
        return command, arguments
    result, notes = [], {}
    pieces = list(_split(arguments, values))
    for name, value, text in pieces:
        table = f"{command} --{name}"
        if table in TENSOR2TENSOR and value is not None:
            result += _translate_pairs(name, value, table, notes)
        elif name in values:  # our flags keep their meaning
            result.append(text)
        elif (here := find_row(command, name, value)[1]).startswith("kt-"):
            # Another command does what was asked, and has a table of its own.
            print(f"{command} becomes {here}.", file=sys.stderr)
            other, flag = here.split()
            rest = [each for _, _, each in pieces if each != text]
            return translate(other, find_module(other).FLAGS, [flag, *rest])
        else:
            result += _replace(command, name, value, text, notes)
    # The last flag counts: what a value of theirs means, not ours.
    result.sort(key=[here for _, here in TENSOR2TENSOR[command]].__contains__)
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
        text = rest.pop(0)
        match = _FLAG.fullmatch(text)
        name, value = match.groups() if match else ("", None)
        if match and value is None:
            if rest and re.match(r"[^-]|-\d", rest[0]):
                value = rest.pop(0)
                text = f"--{name}={value}"
            elif name.startswith("no") and not {name, name[2:]} & {*values}:
                name, value = name[2:], "false"
        yield name, value, text


def _translate_pairs(flag, text, table, notes):
    """Returns a flag with our names in its `name=value` pairs, and others."""
    pairs = [pair.strip().partition("=") for pair in text.split(",")]
    beam_size = {name: value for name, _, value in pairs}.get("beam_size", "4")
    kept, further = [], []
    for name, equals, value in pairs:
        for part in _replace(table, name, value, name + equals + value, notes):
            group = further if part.startswith("--") else kept
            group.append(part.replace("{beam_size}", beam_size))
    return [f"--{flag}={','.join(kept)}", *further]


def _replace(table, name, value, text, notes):
    """Returns a list of what stands for a name, or of its text if unknown."""
    prefix = "" if "--" in table else "--"
    pattern, here = find_row(table, name, value)
    kind, _, reason = here.partition(": ")
    is_off = value and value.lower() == "false" and kind in ("", "left out")
    if here == "accepted" or (is_off and find_row(table, name)[1]):
        return []
    if kind == "left out":
        raise UserError(
            f"`{prefix}{name}` must be what this command takes over from "
            f"Tensor2Tensor. Received: {text}. {reason}"
        )
    if kind == "no effect":
        note = "ignores", f", because {reason}"
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
    for table, rows in TENSOR2TENSOR.items():
        start, _, flag = table.partition(" ")
        prefix = f"{flag}=" if flag else "--"
        for names, here in rows if start == command else ():
            names = [prefix + name for name in names if name not in values]
            if names and not here.startswith("left out"):
                line = f"{', '.join(names)}: {here}"
                lines += textwrap.wrap(line, 74, subsequent_indent="  ")
    part = "".join(f"  {line}\n" for line in lines)
    return part and f"\nNames of tensor2tensor:\n{part}"
