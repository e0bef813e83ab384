"""The start, the help and the error messages that all commands share.

A command's module docstring is its manual. The module defines `FLAGS` (see
`flags`), `main`, and a `run` that its console script calls. `main` imports slow
modules itself, so that `--help` answers at once:

    def main(argv):
        flags.require(FLAGS, "problem")
        command.load_backend()
        from keras_transformer.training.trainer import Trainer
        ...

    def run(argv=None):
        command.run(main, FLAGS, argv)
"""

import difflib
import functools
import importlib
import logging
import os
import sys
import textwrap
import traceback

from absl import app
from absl import flags as absl_flags
from absl import logging as absl_logging

from keras_transformer import registry
from keras_transformer.bin import signals

HELP_FLAGS = {"-h", "-?", "-help", "--help", "--helpshort", "--helpfull"}
BAD_INPUT = 2  # exit status


def run(main, values, argv=None):
    """Parses the flags, calls `main` and exits with its status.

    Bad input, which is a `ValueError` of this package or an `OSError` on a
    user's path, becomes one line on standard error and exit status 2. Every
    other exception is a bug and keeps its traceback.

    Args:
        main: Function of the remaining arguments that returns the exit status,
            where None means 0.
        values: Flags of the command, as `flags.define` returns them.
        argv: List of the program name and its arguments. Defaults to the
            arguments of the process.
    """
    # TensorFlow and gRPC read these when they are imported.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    try:
        try:
            app.run(
                functools.partial(_call, main, values),
                argv,
                functools.partial(_parse, main, values),
            )
        finally:
            # A reader such as `head` may have closed the pipe by the last
            # flush. Flushed here, the error can still be caught below.
            sys.stdout.flush()
    except BrokenPipeError:
        # As the Python manual advises: the flush at exit then writes to
        # /dev/null and raises no second error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def load_backend(module="keras"):
    """Imports Keras and its backend without their start-up messages.

    XLA caches compiled programs in `~/.cache/keras_transformer`, so the next
    process need not compile them again.

    Args:
        module: Name of the module to import. Defaults to "keras".

    Raises:
        ValueError: If neither TensorFlow nor JAX is installed.
    """
    # As defaults only, so that the user's own settings win.
    cache = os.path.expanduser("~/.cache/keras_transformer")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{cache}/jax")
    os.environ.setdefault(
        "TF_XLA_FLAGS", f"--tf_xla_persistent_cache_directory={cache}/xla"
    )
    # TensorFlow 2.21 ignores `TF_CPP_MIN_LOG_LEVEL` until its log is set up.
    # Its C++ code writes to descriptor 2 and not to `sys.stderr`, so the
    # descriptor itself points to /dev/null during the import.
    saved = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(
            "Keras needs TensorFlow, or JAX with KERAS_BACKEND=jax. Received: "
            f"no module {error.name}. Install it, or set KERAS_BACKEND."
        ) from error
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _parse(main, values, argv):
    # absl's own help lists only its global flags, not those of the command.
    if HELP_FLAGS & set(argv[1:]):
        print(_manual(main, values))
        sys.exit(0)
    # A second call in one process starts from the defaults, too.
    for name in values:
        values[name].unparse()
    try:
        # absl parses the rest, because `app.run` has flags of its own.
        remaining = absl_flags.FLAGS(values(argv, known_only=True))
        if len(remaining) > 1:
            raise ValueError(
                "Arguments must be flags. Received: "
                f"{' '.join(remaining[1:])}. Write --name=value."
            )
    except absl_flags.UnrecognizedFlagError as error:
        _fail(main, _unknown(main, values, error.flagname))
    except (absl_flags.Error, ValueError) as error:
        _fail(main, error)
    return remaining


def _call(main, values, argv):
    # The library's log becomes plain lines on standard error.
    logging.getLogger("keras_transformer").setLevel(logging.INFO)
    handler = absl_logging.get_absl_handler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    try:
        # First, so that the user's problems and sets are registered for
        # everything that follows.
        if values.usr_dir:
            registry.import_usr_dir(values.usr_dir)
        if values.registry_help:
            print(_registered())
            return 0
        with signals.sigterm_raises():
            return main(argv)
    except KeyboardInterrupt as interrupt:
        # No traceback: the user asked for it. The notes say what was kept.
        if notes := _notes(interrupt):
            print(f"{_command(main)}: stopped.{notes}", file=sys.stderr)
        sys.exit(signals.exit_status(interrupt))
    except BrokenPipeError:
        raise  # an OSError, but not about a path; `run` handles it
    except OSError as error:
        _fail(main, _about_path(error))
    except ValueError as error:
        # A ValueError of a library is probably our bug, not bad input.
        if not _is_ours(error):
            raise
        _fail(main, error)


def _fail(main, error):
    # One line, so that a log or a calling script can take it as a whole.
    line = " ".join(str(error).split())
    print(f"{_command(main)}: error: {line}{_notes(error)}", file=sys.stderr)
    sys.exit(BAD_INPUT)


def _notes(error):
    """Returns the notes of an exception, each after a space."""
    return "".join(f" {note}" for note in getattr(error, "__notes__", ()))


def _about_path(error):
    if error.filename is None:
        return error
    message = ValueError(
        f"{error.strerror}. Received: {os.fspath(error.filename)!r}. "
        "Check the path and its permissions."
    )
    for note in getattr(error, "__notes__", ()):
        message.add_note(note)
    return message


def _is_ours(error):
    """Returns whether this package, and not a library, raised the error."""
    # The last frame is the one that contains the `raise`.
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    module = frame.f_globals.get("__name__", "")
    return module.startswith("keras_transformer.") or module == "__main__"


def _unknown(main, values, name):
    matches = difflib.get_close_matches(name, values)
    suggestion = " or ".join(f"--{match}" for match in matches)
    return (
        f"Every flag must exist. Received: --{name}. "
        + (f"Did you mean {suggestion}? " if matches else "")
        + f"`{_command(main)} --help` lists all flags."
    )


def _manual(main, values):
    lines = [_module(main).__doc__.strip()]
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


def _registered():
    lists = (
        (
            "--problem (the suffix _rev swaps source and target)",
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


def _module(main):
    return sys.modules[main.__module__]


def _command(main):
    # From the file, so that `python -m` shows the name of the script too.
    file = os.path.basename(_module(main).__file__)
    return "kt-" + os.path.splitext(file)[0].replace("_", "-")
