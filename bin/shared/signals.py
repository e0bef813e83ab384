"""SIGINT and SIGTERM as exceptions, so that a stopped command tidies up."""

import contextlib
import os
import signal
import sys
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """The end of a command by SIGTERM, as Control-C ends it by SIGINT."""


class Stop:
    """The first signal that asks a command to end."""

    def __init__(self):
        self.number = None  # of the signal; None as long as none has arrived

    def receive(self, number, frame):
        """Raises the exception of a signal; a second one ends the process."""
        self.number = number
        signal.signal(number, signal.SIG_DFL)
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    def receive_again(self, unraisable):
        """Repeats a signal whose exception was lost in a destructor."""
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(unraisable)
            return
        signal.signal(self.number, self.receive)
        # Later, because the destructor and this hook must have ended by then,
        # which takes a while on a busy machine.
        timer = threading.Timer(0.1, os.kill, (os.getpid(), self.number))
        timer.daemon = True
        timer.start()


@contextlib.contextmanager
def raise_signals(is_process):
    """Makes the first SIGINT or SIGTERM raise an exception; yields a `Stop`.

    If the process ends with the context, a signal after it, while a backend
    shuts down, ends the process at once. The `Stop` knows of a signal even if a
    library, while it is imported, turned the exception into another one.
    """
    stop = Stop()
    # Only the main thread may set a handler.
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handlers = {
        number: signal.signal(number, stop.receive) for number in _SIGNALS
    }
    hook, sys.unraisablehook = sys.unraisablehook, stop.receive_again
    try:
        yield stop
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if is_process else handler)
        sys.unraisablehook = hook
