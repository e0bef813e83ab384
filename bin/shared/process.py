"""The signals and the standard streams of a command's process."""

import atexit
import contextlib
import errno
import functools
import io
import os
import signal
import sys
import tempfile
import threading

from keras_transformer.files.signals import list_stop_signals

# Stands for a temporary directory where none can be written.
NO_DIRECTORY = os.path.join(os.devnull, "temporary")


class Stop:
    """The first signal that asks a command to end."""

    def __init__(self, is_process):
        self.is_process = is_process  # whether the process ends afterwards
        self.number = None  # of the signal; None as long as none has arrived

    def receive(self, number, frame):
        """Raises what Control-C does; a second signal ends the process."""
        self.number = number
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    def receive_again(self, unraisable):
        """Repeats a signal whose exception was lost in a destructor."""
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(unraisable)
            return
        signal.signal(self.number, self.receive)
        # Raised later, because the destructor and this hook must end first,
        # which takes a while on a busy machine.
        timer = threading.Timer(0.1, os.kill, (os.getpid(), self.number))
        timer.daemon = True
        timer.start()


def name_temporary_directory():
    """Lets libraries ask for a temporary directory where there is none.

    TensorFlow and others do so when they are imported, but need none. A file in
    it is an error of the system, which `command.explain` explains.
    """
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        tempfile.tempdir = NO_DIRECTORY


@contextlib.contextmanager
def raise_signals(is_process):
    """Makes the first stop signal raise an exception; yields a `Stop`.

    If the process ends with the context, a later signal, while a backend shuts
    down, ends it at once. The `Stop` records a signal even if a library turns
    the exception into another one during its import.
    """
    stop = Stop(is_process)
    # Only the main thread may set a handler.
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handlers = {
        number: signal.signal(number, stop.receive)
        for number in list_stop_signals()
    }
    hook, sys.unraisablehook = sys.unraisablehook, stop.receive_again
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if is_process else handler)
        sys.unraisablehook = hook


def end_at_once(status):
    """Ends the process without waiting for its threads, but tidies up."""
    sys.stdout.flush()
    sys.stderr.flush()
    atexit._run_exitfuncs()  # they remove temporary directories
    os._exit(status)


class OutputError(Exception):
    """Standard output takes no more; the argument is the stream's `OSError`.

    This is not an `OSError`, so nothing mistakes it for an error of a file.
    """

    def __init__(self, error):
        super().__init__(
            f"Cannot write to standard output: {error.strerror}. Redirect it "
            "to a file on a disk with room."
        )
        # A reader such as `head` closes the pipe when it has seen enough.
        self.is_closed_pipe = error.errno == errno.EPIPE


@contextlib.contextmanager
def guard_streams():
    """Makes the standard streams safe to use; yields whether output is open.

    - A closed descriptor becomes /dev/null. Otherwise the next file that is
      opened would take its place, and messages would go into that file.
    - Standard output is UTF-8 in every locale, as all input is, and keeps the
      bytes of a path that is not. A failed write raises an `OutputError`.
    - Errors of standard error are ignored: a lost message must not stop work.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    before = sys.stdout, sys.stderr
    # Python sets the stream of a closed descriptor to None.
    output, messages = (stream or open(os.devnull, "w") for stream in before)
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(encoding="utf-8", errors="surrogateescape")
    sys.stdout = _Guarded(output, _raise)
    sys.stderr = _Guarded(messages, lambda error: None)
    try:
        yield before[0] is not None
    finally:
        sys.stdout, sys.stderr = before


def _raise(error):
    raise OutputError(error) from error


class _Guarded:
    """A text stream whose errors a function handles."""

    def __init__(self, stream, handle):
        self._stream = stream
        self._handle = handle

    def __getattr__(self, name):
        attribute = getattr(self._stream, name)
        if name in ("write", "writelines", "flush"):
            return functools.partial(self._try, attribute)
        return attribute

    def _try(self, function, *arguments):
        try:
            return function(*arguments)
        except OSError as error:
            # As the Python manual advises: the rest, and the flush at the exit
            # of the process, goes to /dev/null and raises no second error.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            return self._handle(error)
