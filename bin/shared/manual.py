"""The help of a command, and the list of all problems and hparams sets."""

import textwrap

from keras_transformer import registry


def manual(description, values):
    """Returns the help of a command.

    Args:
        description: Docstring of the command's module.
        values: Flags of the command, as `flags.define` returns them.
    """
    lines = [description.strip()]
    # `flags._add` stores the titles of the groups as module names.
    for title, group in values.flags_by_module_dict().items():
        lines += ["", f"{title}:"]
        for flag in group:
            lines.append(f"  --{flag.name}")
            lines += textwrap.wrap(
                _help(flag),
                width=78,
                initial_indent=" " * 6,
                subsequent_indent=" " * 6,
            )
    return "\n".join(lines)


def _help(flag):
    # The help text of such a flag says itself what happens without it.
    if flag.default is None:
        return flag.help
    shown = str(flag.default)
    if isinstance(flag.default, bool):
        shown = shown.lower()
    elif isinstance(flag.default, float):
        shown = f"{flag.default:g}"
    return f"{flag.help} Default: {shown or 'none'}."


def registered():
    """Returns the list of all registered names, each with its summary."""
    lists = (
        (
            "--problem (the suffix _rev swaps source and target, and _both "
            "stands for both directions)",
            registry.problems,
        ),
        ("--hparams_set", registry.hparams_sets),
    )
    lines = []
    for title, entries in lists:
        lines.append(title)
        for name in entries.names():
            summary = (entries.get(name).__doc__ or "").strip().split("\n")[0]
            lines.append(f"  {name:<32} {summary}".rstrip())
    return "\n".join(lines)
