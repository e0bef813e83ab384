"""The signals that ask a process to end."""

import signal


def list_stop_signals():
    """Returns SIGINT, SIGTERM and, unless it is ignored, SIGHUP.

    SIGHUP says that the terminal was closed. `nohup` makes a process ignore it,
    and Windows has none.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)
    if hangup and signal.getsignal(hangup) != signal.SIG_IGN:
        numbers.append(hangup)
    return numbers
