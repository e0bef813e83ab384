"""Commands: each module is one command, started by its console script."""

import sys


def _report(kind, error, trace):
    # Control-C may come while a command still imports its modules. Python then
    # ends the process as SIGINT does, and a traceback would tell nothing.
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _report
