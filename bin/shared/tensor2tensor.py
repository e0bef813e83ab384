"""Puts our flags in place of Tensor2Tensor's, as its tables say."""

import importlib
import re
import sys
import textwrap

from keras_transformer.bin.shared.tensor2tensor_names import TABLES
from keras_transformer.errors import UserError

_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)


def translate(command, values, arguments):
    """Returns a command and its arguments, with our names in them.

    `values` are the flags of the command. Lines on standard error say which
    names of Tensor2Tensor have no effect or another name. A name that is
    refused is a `UserError`.
    """
    if command not in TABLES:
        return command, arguments
    table, result, notes = TABLES[command], [], {}
    for name, value, argument in _split(arguments, values):
        if name in table.pairs and value is not None:
            result += _translate_pairs(name, value, table.pairs[name], notes)
        elif name is None or name in values:  # our flags keep their meaning
            result.append(argument)
        else:
            result += _replace("--", name, value, argument, table, notes)
    # The last flag counts: what a value of theirs means, not ours.
    result.sort(key=lambda text: text in table.names.values())
    for (verb, reason), names in notes.items():
        line = f"{command} {verb} {', '.join(names)}{reason}."
        print(line, file=sys.stderr)
    others = [each for each in result if each.startswith("kt-")]
    if not others:
        return command, result
    # Another command does what was asked, with the flags that it knows.
    other, first = others[0].split()
    values = find_module(other).FLAGS
    pieces = list(_split(result, values))
    rest = [f"--{name}" for name, *_ in pieces if name and name not in values]
    without = f" without {', '.join(rest)}" if rest else ""
    print(f"{command} becomes {others[0]}{without}.", file=sys.stderr)
    return other, [first, *(text for name, _, text in pieces if name in values)]


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
    results = []
    for name, equals, value in pairs:
        pair = name + equals + value
        results += _replace("", name, value, pair, table, notes)
    results = [text.replace("{beam_size}", beam_size) for text in results]
    further = [text for text in results if text.startswith("--")]
    kept = [text for text in results if text not in further]
    return [f"--{flag}={','.join(kept)}", *further]


def _replace(prefix, name, value, text, table, notes):
    """Returns a list of what stands for a name, or of its text if unknown."""
    word = (value or "true").lower()
    if (new := table.names.get(f"{name}={word}")) is not None:
        return [new] if new else []
    if new := table.names.get(name):
        if not prefix:
            notes.setdefault(("reads", ""), []).append(f"{name} as {new}")
        return [prefix + new + ("" if value is None else f"={value}")]
    if reason := find_reason(table.ignored, name):
        note = "ignores", f", because {reason}"
        notes.setdefault(note, []).append(prefix + name)
        return []
    reason = find_reason(table.refused, name)
    if word == "false" and (reason or f"{name}=true" in table.names):
        return []
    if reason:
        raise UserError(
            f"`{prefix}{name}` must be what this command takes over from "
            f"Tensor2Tensor. Received: {text}. {reason}"
        )
    return [text]


def find_reason(patterns, name):
    """Returns the reason why a name is ignored or refused, or None."""
    for reason, text in patterns.items():
        if any(re.fullmatch(pattern, name) for pattern in text.split()):
            return reason
    return None


def describe(command, values):
    """Returns the part of a command's help about Tensor2Tensor's names."""
    if command not in TABLES:
        return ""
    names, ignored, _, pairs = TABLES[command]
    lines = [
        f"--{name}: {f'--{new}' if new in values else new or 'accepted'}"
        for name, new in names.items()
    ]
    ignored = [n for n in " ".join(ignored.values()).split() if n not in values]
    if ignored:
        lines.append(f"Without effect: --{', --'.join(ignored)}")
    for flag, table in pairs.items():
        lines.append(f"In --{flag}: {', '.join(table.names)}")
    lines = [textwrap.fill(line, 76, subsequent_indent="  ") for line in lines]
    part = textwrap.indent("\n".join(lines), "  ")
    return f"\nNames of tensor2tensor:\n{part}\n"
