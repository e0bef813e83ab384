"""Flags that commands share, and the way every command starts and fails.

A command defines its flags with `define` and starts with `run`; its `main`
names with `require` the flags it cannot do without, and calls
`load_backend` before it imports what needs Keras:

    flags.define("problem", "data_dir")
    FLAGS = flags.FLAGS

    def main(argv):
        flags.require("problem")
        flags.load_backend()
        from keras_transformer.training.trainer import Trainer
        ...

    def run():
        flags.run(main)
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
from absl import flags
from absl import logging as absl_logging

from keras_transformer import registry
from keras_transformer.bin.flag_table import FLAG_TABLE

FLAGS = flags.FLAGS


def define(*names):
    """Define the named flags, and those that every command has.

    A flag that is defined already stays as it is, so that two commands can be
    imported in one process.
    """
    for name in (*names, "usr_dir", "registry_help"):
        definer, default, text = FLAG_TABLE[name]
        if name not in FLAGS:
            definer(name, default, help=text)


def require(*names):
    """Raise a `ValueError` that names the first of these flags not given."""
    for name in names:
        if not FLAGS[name].value:
            raise ValueError(
                f"`--{name}` must be given. Received: no --{name}. Add "
                f"--{name}=VALUE: {FLAG_TABLE[name][2]}"
            )


def load_backend(module="keras"):
    """Import Keras and its backend without the messages that they start with.

    `TF_CPP_MIN_LOG_LEVEL` does not reach what TensorFlow 2.21 writes before its
    log is set up, so standard error is closed to it for as long as that takes.
    What XLA compiles is kept for the next run, in `~/.cache/keras_transformer`.
    """
    cache = os.path.expanduser("~/.cache/keras_transformer")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{cache}/jax")
    os.environ.setdefault(
        "TF_XLA_FLAGS", f"--tf_xla_persistent_cache_directory={cache}/xla"
    )
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


def run(main, argv=None):
    """Parse the flags, call `main` and leave with its exit status.

    Bad input - a `ValueError` of this package, an `OSError` on a user's path -
    becomes one line on standard error and exit status 2. Everything else is a
    fault of ours and keeps its traceback.

    Args:
        main: function of the arguments that no flag took. Its module's
            docstring is the command's manual; it imports what is slow to import
            itself, so that `--help` answers at once.
        argv: program name and arguments. Default: those of the process.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    parser = functools.partial(_parse, main)
    try:
        try:
            app.run(functools.partial(_call, main), argv, parser)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # As the Python manual advises, so that the flush at exit is silent.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _parse(main, argv):
    if _asks_for_help(argv):
        print(_manual(main))
        sys.exit(0)
    for name in _defined():
        FLAGS[name].unparse()
    try:
        arguments = FLAGS(argv)
        if len(arguments) > 1:
            raise ValueError(
                "Arguments must be flags. Received: "
                f"{' '.join(arguments[1:])}. Write --name=value."
            )
    except flags.UnrecognizedFlagError as error:
        _fail(main, _unknown(main, error.flagname))
    except (flags.Error, ValueError) as error:
        _fail(main, error)
    return arguments


def _call(main, argv):
    # What the library logs, as plain lines on standard error.
    logging.getLogger("keras_transformer").setLevel(logging.INFO)
    handler = absl_logging.get_absl_handler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    try:
        if FLAGS.usr_dir:
            registry.import_usr_dir(FLAGS.usr_dir)
        if FLAGS.registry_help:
            print(_registered())
            return 0
        return main(argv)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        raise
    except OSError as error:
        _fail(main, _about_path(error))
    except ValueError as error:
        if not _is_ours(error):
            raise
        _fail(main, error)


def _fail(main, error):
    print(f"{_command(main)}: error: {_one_line(error)}", file=sys.stderr)
    sys.exit(2)


def _one_line(error):
    return " ".join(str(error).split())


def _about_path(error):
    if error.filename is None:
        return error
    return (
        f"{error.strerror}. Received: {os.fspath(error.filename)!r}. "
        "Check the path and its permissions."
    )


def _is_ours(error):
    """Whether this package raised the error, rather than a library."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    module = frame.f_globals.get("__name__", "")
    return module.startswith("keras_transformer.") or module == "__main__"


def _unknown(main, name):
    matches = difflib.get_close_matches(name, _defined())
    suggestion = " or ".join(f"--{match}" for match in matches)
    return (
        f"Flags must be known. Received: --{name}. "
        + (f"Did you mean {suggestion}? " if matches else "")
        + f"`{_command(main)} --help` lists all."
    )


def _asks_for_help(argv):
    names = {"-h", "-?", "-help", "--help", "--helpshort", "--helpfull"}
    return any(argument in names for argument in argv[1:])


def _manual(main):
    lines = [_module(main).__doc__.strip(), "", "Flags:"]
    for name in _defined():
        lines.append(f"  --{name}")
        lines += textwrap.wrap(
            _help(name), 78, initial_indent=" " * 6, subsequent_indent=" " * 6
        )
    return "\n".join(lines)


def _help(name):
    _, default, text = FLAG_TABLE[name]
    if default is None:
        return text
    shown = str(default).lower() if isinstance(default, bool) else default
    return f"{text} Default: {shown if shown != '' else 'none'}."


def _registered():
    lists = (
        ("--problem (a trailing _rev swaps the languages)", registry.problems),
        ("--hparams_set", registry.hparams_sets),
    )
    lines = []
    for title, entries in lists:
        lines.append(title)
        for name in entries.names():
            summary = (entries.get(name).__doc__ or "").strip().split("\n")[0]
            lines.append(f"  {name:<32} {summary}".rstrip())
    return "\n".join(lines)


def _defined():
    return [name for name in FLAG_TABLE if name in FLAGS]


def _module(main):
    return sys.modules[main.__module__]


def _command(main):
    file = os.path.basename(_module(main).__file__)
    return "kt-" + os.path.splitext(file)[0].replace("_", "-")
