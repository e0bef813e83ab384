"""Variables that libraries read at their import, and a limit of file sizes."""

import gc
import os
import resource
import signal

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
os.environ.setdefault("MPLBACKEND", "Agg")
# TensorFlow and its graphs are millions of objects, which Python would search
# again and again. Those of the imports live until the end, so it need not.
gc.disable()


def pytest_collection_finish():
    """Makes garbage collections rarer and cheaper."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


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
