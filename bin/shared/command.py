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

import contextlib
import difflib
import functools
import importlib
import logging
import os
import signal
import sys

from absl import app
from absl import flags as absl_flags
from absl import logging as absl_logging

from keras_transformer import fields
from keras_transformer.bin.shared import failures
from keras_transformer.bin.shared import manual
from keras_transformer.bin.shared import signals
from keras_transformer.bin.shared import streams
from keras_transformer.bin.shared import usr_dir
from keras_transformer.bin.shared.compilation_cache import cache_directory
from keras_transformer.files.standard_error import silence_stderr

HELP_FLAGS = {"-h", "-?", "-help", "--help", "--helpshort", "--helpfull"}
BAD_INPUT = 2  # exit status
BACKENDS = ("tensorflow", "jax")


def run(main, values, argv=None):
    """Parses the flags, calls `main` and exits with its status.

    Bad input, which is a `ValueError` of this package or an `OSError` on a
    user's path, becomes one line on standard error and exit status 2. An
    exception of the code in --usr_dir has its traceback under such a line.
    Every other exception is a bug and keeps its traceback.

    Args:
        main: Function of the remaining arguments that returns the exit status,
            where None means 0.
        values: Flags of the command, as `flags.define` returns them.
        argv: List of the program name and its arguments. Defaults to the
            arguments of the process, which then ends with this call.
    """
    # TensorFlow and gRPC read these when they are imported.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    with (
        streams.guarded() as has_output,
        signals.raised(is_process=argv is None) as stop,
    ):
        try:
            try:
                app.run(
                    functools.partial(_call, main, values),
                    argv,
                    functools.partial(_parse, main, values, has_output),
                )
            finally:
                # Flushed here, a full disk can still be reported below.
                sys.stdout.flush()
        except BaseException as error:
            _end(main, values, stop, error)
            raise


def load_backend(module="keras"):
    """Imports Keras and its backend without their start-up messages.

    XLA caches compiled programs in `~/.cache/keras_transformer` if it can, so
    the next process need not compile them again.

    Args:
        module: Name of the module to import. Defaults to "keras".

    Raises:
        ValueError: If the backend is not TensorFlow or JAX, or is not
            installed.
    """
    backend()
    # As defaults only, so that the user's own settings win.
    if cache := cache_directory():
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{cache}/jax")
        os.environ.setdefault(
            "TF_XLA_FLAGS", f"--tf_xla_persistent_cache_directory={cache}/xla"
        )
    try:
        # TensorFlow 2.21 ignores `TF_CPP_MIN_LOG_LEVEL` until its log is set
        # up. Keras imports Matplotlib for plots that no command draws, which
        # would take a tenth of the time of the import.
        with silence_stderr(), _missing("matplotlib"):
            importlib.import_module(module)
    except (ImportError, ValueError) as error:
        raise ValueError(
            "Keras needs TensorFlow, or JAX with KERAS_BACKEND=jax. Received: "
            f"{error}. Install it, or set KERAS_BACKEND."
        ) from error
    # Without KERAS_BACKEND, the file ~/.keras/keras.json decides.
    if module == "keras":
        _check_backend(sys.modules["keras"].config.backend())


def backend():
    """Returns the backend that `KERAS_BACKEND` names.

    Raises:
        ValueError: If it is not TensorFlow or JAX.
    """
    return _check_backend(os.environ.get("KERAS_BACKEND") or "tensorflow")


@contextlib.contextmanager
def _missing(module):
    """Makes a module appear not to be installed, unless it is loaded."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None
    try:
        yield
    finally:
        del sys.modules[module]


def _check_backend(name):
    if name not in BACKENDS:
        raise ValueError(
            f"`KERAS_BACKEND` must be one of {', '.join(BACKENDS)}. Received: "
            f"KERAS_BACKEND={fields.shorten(name)}. Set it to one of them."
        )
    return name


def _parse(main, values, has_output, argv):
    if not has_output:
        _fail(
            main,
            "Standard output must be open. Received: a closed one. Redirect it "
            "to a file, or to /dev/null.",
        )
    # absl's own help lists only its global flags, not those of the command.
    if HELP_FLAGS & set(argv[1:]):
        print(manual.manual(_module(main).__doc__, values))
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
                f"{fields.quote(' '.join(remaining[1:]))}. Write --name=value."
            )
    except absl_flags.UnrecognizedFlagError as error:
        _fail(main, _unknown(main, values, error.flagname))
    except (absl_flags.Error, ValueError) as error:
        _fail(main, _about_flags(main, error))
    return remaining


def _call(main, values, argv):
    # The library's log becomes plain lines on standard error.
    logging.getLogger("keras_transformer").setLevel(logging.INFO)
    handler = absl_logging.get_absl_handler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    # First, so that the user's problems and sets are registered for
    # everything that follows.
    if values.usr_dir:
        usr_dir.load(values.usr_dir)
    if values.registry_help:
        print(manual.registered())
        return 0
    return main(argv)


def _end(main, values, stop, error):
    """Ends the process as an exception demands, or returns if it is a bug."""
    if stop.number or isinstance(error, KeyboardInterrupt):
        # No traceback: the user asked for it. The notes say what was kept.
        if notes := failures.notes(error):
            print(f"{_command(main)}: stopped.{notes}", file=sys.stderr)
        sys.exit(128 + (stop.number or signal.SIGINT))
    if isinstance(error, streams.OutputError):
        sys.exit(1) if error.is_closed_pipe else _fail(main, error)
    if line := failures.explain(error):
        _fail(main, f"{line}{failures.notes(error)}")
    if user_error := usr_dir.explain(error, values["usr_dir"].value):
        _fail(main, *user_error.args)


def _fail(main, message, trace=""):
    # One line, so that a log or a calling script can take it as a whole.
    line = " ".join(str(message).split())
    print(f"{_command(main)}: error: {line}\n{trace}", file=sys.stderr, end="")
    sys.exit(BAD_INPUT)


def _about_flags(main, error):
    message = str(error)
    if "Received: " in message:
        return message
    # absl's own messages state neither the rule nor what to do.
    return (
        f"Flags must be written as --name=value. Received: {message}. "
        f"`{_command(main)} --help` lists all flags."
    )


def _unknown(main, values, name):
    matches = difflib.get_close_matches(name, values)
    suggestion = " or ".join(f"--{match}" for match in matches)
    return (
        f"Every flag must exist. Received: --{name}. "
        + (f"Did you mean {suggestion}? " if matches else "")
        + f"`{_command(main)} --help` lists all flags."
    )


def _module(main):
    return sys.modules[main.__module__]


def _command(main):
    # From the file, so that `python -m` shows the name of the script too.
    file = os.path.basename(_module(main).__file__)
    return "kt-" + os.path.splitext(file)[0].replace("_", "-")
