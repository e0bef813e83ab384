"""SIGTERM as an exception, so that a stopped command still tidies up."""

import contextlib
import signal
import threading


class Terminated(KeyboardInterrupt):
    """The end of a command by SIGTERM, as Control-C ends it by SIGINT."""


@contextlib.contextmanager
def sigterm_raises():
    """Makes SIGTERM raise `Terminated`.

    A second SIGTERM ends the process at once.
    """

    def stop(number, frame):
        signal.signal(number, signal.SIG_DFL)
        raise Terminated

    # Only the main thread may set a handler.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)


def exit_status(interrupt):
    """Returns the exit status of a command that a signal ended.

    It is 128 plus the signal's number, as in a shell.

    Args:
        interrupt: The `KeyboardInterrupt`.
    """
    is_term = isinstance(interrupt, Terminated)
    return 128 + (signal.SIGTERM if is_term else signal.SIGINT)
