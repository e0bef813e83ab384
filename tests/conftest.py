"""Variables that libraries read at their import, and a limit of file sizes."""

import os
import resource
import signal

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture
def limit_files():
    """A function that limits the size of files, as `ulimit -f` does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(
        resource.RLIMIT_FSIZE, (size, before[1])
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)
