"""The start, the help and the error messages that all commands share.

A command's module docstring is its manual. The module defines `FLAGS` (see
`flags`), `main`, and the `run` that its console script calls. `main` imports
slow modules itself, so that `--help` answers at once:

    def main(argv):
        flags.require(FLAGS, "problem")
        load_backend()
        from keras_transformer.training.trainer import Trainer
        ...

    run = command.make_script(main, FLAGS)
"""

import errno
import functools
import logging
import os
import signal
import sys
import textwrap

from absl import app
from absl import flags as absl_flags
from absl import logging as absl_logging

from keras_transformer import errors
from keras_transformer import registry
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import process
from keras_transformer.bin.shared import tensor2tensor
from keras_transformer.bin.shared import usr_dir
from keras_transformer.errors import UserError
from keras_transformer.errors import is_out_of_memory
from keras_transformer.files.writing import CANNOT_WRITE

HELP_FLAGS = {"-h", "-?", "-help", "--help", "--helpshort", "--helpfull"}
BAD_INPUT = 2  # exit status
TOO_MANY_FILES = {errno.EMFILE, errno.ENFILE}


def make_script(main, values):
    """Returns the function that a console script calls; see `run`.

    It runs at once in a module that `python -m` executes.
    """
    script = functools.partial(run, main, values)
    if main.__module__ == "__main__":
        script()
    return script


def run(main, values, argv=None):
    """Parses the flags, calls `main` and exits with the status it returns.

    None is status 0. An input error, a `UserError` or an `OSError` on a user's
    path, becomes one line on standard error and exit status 2. An exception of
    the code in --usr_dir has its traceback under such a line. Any other one is
    a bug with its traceback. Without `argv`, the process ends with this call.
    """
    # TensorFlow and gRPC read these when they are imported.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    process.name_temporary_directory()
    with (
        process.guard_streams() as has_output,
        process.raise_signals(is_process=argv is None) as stop,
    ):
        try:
            try:
                main, values, argv = _translate(main, values, argv)
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


def _translate(main, values, argv):
    """Puts our names in place of Tensor2Tensor's; may name another command."""
    program, *arguments = sys.argv if argv is None else argv
    name, arguments = tensor2tensor.translate(_command(main), values, arguments)
    if name != _command(main):
        module = tensor2tensor.find_module(name)
        main, values = module.main, module.FLAGS
    return main, values, [program, *arguments]


def _parse(main, values, has_output, argv):
    if not has_output:
        way_out = "Redirect it to a file, or to /dev/null."
        _fail(main, f"Standard output is closed. {way_out}")
    # The help of absl lists only its global flags, not the command's.
    if HELP_FLAGS & set(argv[1:]):
        print(make_manual(_module(main).__doc__, values))
        print(tensor2tensor.describe(_command(main), values), end="")
        sys.exit(0)
    # A second call in one process starts from the defaults, too.
    for name in values:
        values[name].unparse()
    try:
        # absl parses the rest, because `app.run` has flags, too.
        remaining = absl_flags.FLAGS(values(argv, known_only=True))
    except absl_flags.UnrecognizedFlagError as error:
        _fail(main, _describe_unknown(main, values, error.flagname))
    except UserError as error:
        _fail(main, error)
    except (absl_flags.Error, ValueError) as error:
        # The messages of absl itself do not say what to do.
        reason = str(error).removeprefix("ERROR:: ").rstrip(".")
        way_out = f"`{_command(main)} --help` lists all flags."
        _fail(main, f"Cannot read the flags: {reason}. {way_out}")
    # A command may take one list of paths without its flag, as `kt-plot` does.
    positional = getattr(_module(main), "POSITIONAL", None)
    if len(remaining) > 1 and positional and not values[positional].present:
        values[positional].parse(",".join(remaining[1:]))
        remaining = remaining[:1]
    if len(remaining) > 1:
        _fail(
            main,
            "Arguments must be flags. Received: "
            f"{errors.quote(' '.join(remaining[1:]))}. Write --name=value.",
        )
    return remaining


def _call(main, values, argv):
    # The library's log becomes plain lines on standard error.
    is_detailed = absl_logging.get_verbosity() > 0
    level = logging.DEBUG if is_detailed else logging.INFO
    logging.getLogger("keras_transformer").setLevel(level)
    # Otherwise their notes about missing devices and fonts would appear too.
    for library in ("jax", "matplotlib"):
        logging.getLogger(library).setLevel(logging.WARNING)
    handler = absl_logging.get_absl_handler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    # First, so that the user's problems and sets are registered for the rest.
    if values.usr_dir:
        usr_dir.load(values.usr_dir)
    if values.registry_help:
        print(list_registered())
        return 0
    flags.check_needs(values)
    return main(argv)


def _end(main, values, stop, error):
    """Ends the process as an exception demands, or returns if it is a bug."""
    if stop.number or isinstance(error, KeyboardInterrupt):
        # No traceback: the user asked for it. The notes say what was kept.
        if notes := _join_notes(error):
            print(f"{_command(main)}: stopped.{notes}", file=sys.stderr)
        status = 128 + (stop.number or signal.SIGINT)
        if stop.is_process and hasattr(_module(main), "ENDS_AT_ONCE"):
            process.end_at_once(status)
        sys.exit(status)
    if isinstance(error, process.OutputError):
        sys.exit(1) if error.is_closed_pipe else _fail(main, error)
    if line := explain(error):
        _fail(main, f"{line}{_join_notes(error)}")
    if user_error := usr_dir.explain(error, values["usr_dir"].value):
        _fail(main, *user_error.args)


def explain(error):
    """Returns the line about an exception, or None if it is a bug.

    Bad input is a `UserError`, an `OSError`, or a lack of memory.
    """
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        return _explain_system_error(error)
    if is_out_of_memory(error):
        reason = " ".join(str(error).split())
        reason = f": {reason[:200]}" if reason else ""
        return f"Out of memory{reason}. Use a smaller batch or a smaller model."
    return None


def _explain_system_error(error):
    if error.errno is None:
        return str(error)
    reason, path = error.strerror, os.fspath(error.filename or "")
    if error.errno in TOO_MANY_FILES:
        return f"{reason}. Raise the limit, for example with `ulimit -n 4096`."
    if path.startswith(process.NO_DIRECTORY):
        rule = "No temporary directory can be written."
        return f"{rule} Set TMPDIR to one that can."
    event = "Cannot read or write"
    advice = "Check the paths, the streams and the disk."
    if error.errno in CANNOT_WRITE:
        event = f"Cannot write {path or 'to standard output'}"
        advice = "Make room or choose another disk, then start again."
    elif path:
        event = f"Cannot use {path}"
        advice = "Check the path and its permissions."
    return f"{event}: {reason}. {advice}"


def _join_notes(error):
    return "".join(f" {note}" for note in getattr(error, "__notes__", ()))


def _fail(main, message, trace=""):
    # One line, so that a log or a calling script can take it as a whole.
    line = " ".join(str(message).split())
    print(f"{_command(main)}: error: {line}\n{trace}", file=sys.stderr, end="")
    sys.exit(BAD_INPUT)


def _describe_unknown(main, values, name):
    if (new_name := flags.RENAMED.get(name)) in values:
        return f"--{name} is now called --{new_name}. Use the new name."
    matches = errors.did_you_mean(f"--{name}", [f"--{one}" for one in values])
    way_out = f"`{_command(main)} --help` lists all flags."
    return f"Unknown flag --{name}. {matches}{way_out}"


def _module(main):
    return sys.modules[main.__module__]


def _command(main):
    # From the file, so that `python -m` shows the name of the script too.
    folder, file = os.path.split(_module(main).__file__)
    if os.path.basename(folder) != "bin":
        return file  # a script of the checkout
    # The file of a command whose name is a keyword ends in an underscore.
    stem = os.path.splitext(file)[0].rstrip("_")
    return "kt-" + stem.replace("_", "-")


def make_manual(description, values):
    """Returns the help of a command, from its module's docstring."""
    lines = [description.strip()]
    for title, group in flags.group_by_title(values).items():
        lines += ["", f"{title}:"]
        for flag in group:
            text = "\n".join(textwrap.wrap(_describe(flag), width=72))
            lines += [f"  --{flag.name}", textwrap.indent(text, " " * 6)]
    return "\n".join(lines)


def _describe(flag):
    # The help text of such a flag already says what happens without it.
    if flag.default is None:
        return flag.help
    shown = str(flag.default)
    if isinstance(flag.default, bool):
        shown = shown.lower()
    elif isinstance(flag.default, float):
        shown = f"{flag.default:g}"
    return f"{flag.help} Default: {shown or 'none'}."


def list_registered():
    """Returns the list of all registered names, each with its summary."""
    lists = {
        "--problem (the suffix _rev swaps source and target, and _both stands "
        "for both directions)": registry.problems,
        "--hparams_set": registry.hparams_sets,
    }
    lines = []
    for title, entries in lists.items():
        lines.append(title)
        for name in entries.names():
            summary = (entries.get(name).__doc__ or "").strip().split("\n")[0]
            lines.append(f"  {name:<32} {summary}".rstrip())
    return "\n".join(lines)
