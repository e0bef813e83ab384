"""Variables that libraries read at their import, and a limit of file sizes."""

import gc
import os
import resource
import shutil
import signal
import sys

import hypothesis
import pytest

# Each run tries the same examples, however loaded the machine is.
hypothesis.settings.register_profile(
    "tests", derandomize=True, database=None, deadline=None, max_examples=40
)
hypothesis.settings.load_profile("tests")

# Whatever the shell sets: what the log says depends on the processor, and tests
# read what commands write to standard error.
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
os.environ.setdefault("MPLBACKEND", "Agg")
# Two workers of pytest have a core each, so more threads would only wait.
for name in ("TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# TensorFlow and its graphs are millions of objects, which Python would search
# again and again. Those of the imports live until the end, so it need not.
gc.disable()


def pytest_collection_finish(session):
    """Makes garbage collections and graphs of TensorFlow cheaper."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()
    if session.config.option.markexpr == "not slow":
        compile_graphs_as_they_are()


def compile_graphs_as_they_are():
    """Spares TensorFlow the rewriting of graphs, most of which run once.

    It changes no result. Processes that tests start and tests that are slow
    run graphs as users do.
    """
    if "tensorflow" in sys.modules:
        import tensorflow as tf

        tf.config.optimizer.set_experimental_options(
            {"disable_meta_optimizer": True}
        )


PEAKS = []  # of the memory of the workers, in MiB


def pytest_sessionfinish(session):
    """Lets a worker of pytest-xdist report the peak of its memory."""
    # Linux counts in KiB, and macOS in bytes.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit
    getattr(session.config, "workeroutput", {})["peak"] = peak


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    PEAKS.append(getattr(node, "workeroutput", {}).get("peak", 0))


def pytest_terminal_summary(terminalreporter):
    if PEAKS:
        terminalreporter.write_line(
            f"Peak memory of a worker: {max(PEAKS):,} MiB"
        )


@pytest.fixture(scope="session", autouse=True)
def vocabulary_sharing():
    """Makes tests share the vocabularies that they train."""
    import shared_vocabularies

    with pytest.MonkeyPatch.context() as patch:
        shared_vocabularies.share_vocabularies(patch)
        yield


@pytest.fixture(scope="session")
def engine_sharing():
    """Makes tests share compiled functions; None if they compile nothing."""
    if "keras" not in sys.modules:
        yield None
        return
    import keras
    import shared_compilations

    with pytest.MonkeyPatch.context() as patch:
        shared_compilations.share_searches(patch)
        on_tensorflow = keras.backend.backend() == "tensorflow"
        yield on_tensorflow and shared_compilations.EngineSharing(patch)


@pytest.fixture(autouse=True)
def free_engines(engine_sharing):
    yield
    if engine_sharing:
        engine_sharing.release()
        engine_sharing.forget_gradients()


@pytest.fixture
def limit_files():
    """A function that limits the size of files, as `ulimit -f` does."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(
        resource.RLIMIT_FSIZE, (size, hard_limit)
    )
    signal.signal(signal.SIGXFSZ, handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Ends a limit of file sizes before pytest writes the test's result."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        return (yield)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def show(capsys):
    """A function that prints a report even if the test passes."""

    def show_report(report):
        with capsys.disabled():
            print(f"\n{report}")

    return show_report


@pytest.fixture(scope="module")
def chromium():
    """Returns a browser, or skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("needs Chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
