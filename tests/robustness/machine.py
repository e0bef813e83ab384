"""Runs a row in the test's process or in one of its own, and judges it."""

import contextlib
import dataclasses
import fnmatch
import importlib
import io
import keyword
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback

from processes import environment
from rows import BAD_INPUT

SECONDS = 120  # after which a row counts as hanging
PAUSE = 0.01
# What is wrong, a full stop or a colon, and more about it or the way out.
LINE = re.compile(r"(?P<name>kt-[a-z-]+): error: \S[^\n]*?[.:] \S[^\n]*[.?]\n")
# Takes from root the right to pass over the permissions of files.
AS_USER = (
    "setpriv",
    "--inh-caps=-all",
    "--bounding-set=-dac_override,-dac_read_search",
)
# A run keeps a copy of its checkpoint for CTranslate2.
CONVERTED = "*/checkpoints/ckpt-*.converted-*"
LEAKS = ("<class", "NoneType", "object at 0x", "Errno", "<_io.", "Traceback")


@dataclasses.dataclass
class Outcome:
    """What a command did."""

    status: int
    out: str
    err: str
    changed: set  # names of the files that are new, different or gone
    left: list  # names of what is left in TMPDIR
    cpu_seconds: float
    seconds: float


class HangError(BaseException):
    """A command did not end in time; no `except Exception` may catch it."""


def arguments(row, box):
    """Returns the name of the command's module, and the flags."""
    name, *flags = shlex.split(row.command)
    return _module(name), [box.fill(flag) for flag in flags]


def _module(name):
    module = name.removeprefix("kt-").replace("-", "_")
    # The module of kt-import cannot have the name of a keyword.
    return f"{module}_" if keyword.iskeyword(module) else module


def run_here(row, box, patch):
    """Runs a row in the test's process.

    Args:
        row: A `Row` that needs no process of its own.
        box: A `Box`.
        patch: A `pytest.MonkeyPatch`.
    """
    module, flags = arguments(row, box)
    command = importlib.import_module(f"keras_transformer.bin.{module}")
    temporary = _temporary(box)
    streams = {
        "stdin": io.TextIOWrapper(io.BytesIO(row.stdin)),
        "stdout": io.TextIOWrapper(io.BytesIO(), write_through=True),
        "stderr": io.TextIOWrapper(
            io.BytesIO(), errors="backslashreplace", write_through=True
        ),
    }
    for name, stream in streams.items():
        patch.setattr(sys, name, stream)
    for name, value in row.variables:
        patch.setenv(name, value)
    patch.setenv("TMPDIR", temporary)
    patch.setattr(tempfile, "tempdir", temporary)
    patch.chdir(box.path)
    before, start = box.contents(), time.monotonic()
    cpu_seconds = time.process_time()
    with _alarm(), _signals():
        status = _status(command, [row.name, *flags])
    return Outcome(
        status,
        *(
            streams[name].buffer.getvalue().decode()
            for name in ("stdout", "stderr")
        ),
        _changes(before, box.contents()),
        os.listdir(temporary),
        time.process_time() - cpu_seconds,
        time.monotonic() - start,
    )


def _status(command, words):
    try:
        command.run(words)
    except SystemExit as error:
        return error.code or 0
    except HangError:
        raise
    except BaseException:
        # As Python does for an exception that nobody catches.
        traceback.print_exc()
        return 1
    return 0


@contextlib.contextmanager
def _alarm():
    def end(number, frame):
        raise HangError

    handler = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)


@contextlib.contextmanager
def _signals():
    """Restores the handlers of signals that a command replaces."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, handlers, strict=True):
            signal.signal(number, handler)


def run_apart(row, box):
    """Runs a row as a process of its own, with its streams and signals."""
    temporary = _temporary(box)
    variables = {"TMPDIR": temporary, **dict(row.variables)}
    words = _words(*arguments(row, box))
    if row.user and os.geteuid() == 0:
        words = [*AS_USER, *words]
    if row.shell or row.limits:
        # A process with limits could not write how much of the code it covers.
        limits = row.limits and f"unset COVERAGE_PROCESS_CONFIG; {row.limits}"
        script = f'set -o pipefail; {limits} "$@" {row.shell}'
        if not row.shell.startswith("|"):
            script = f'{limits} exec "$@" {row.shell}'
        words = ["bash", "-c", script, "bash", *words]
    with contextlib.ExitStack() as stack:
        if row.beside:
            stack.enter_context(_running(row, box, variables))
        before, start = box.contents(), time.monotonic()
        cpu_seconds = _cpu_seconds_of_children()
        process, files = _start(words, box, row.stdin, variables, stack)
        if row.signal:
            number, moment = row.signal
            _wait(process, files[1], moment)
            process.send_signal(number)
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise HangError from error
        return Outcome(
            process.returncode,
            *map(_read, files),
            _changes(before, box.contents()),
            os.listdir(temporary),
            _cpu_seconds_of_children() - cpu_seconds,
            time.monotonic() - start,
        )


def _words(module, flags):
    module = f"keras_transformer.bin.{module}"
    return [sys.executable, "-m", module, *map(os.fsencode, flags)]


def _start(words, box, stdin, variables, stack):
    files = [
        stack.enter_context(tempfile.TemporaryFile(dir=f"{box.path}/.."))
        for _ in range(3)
    ]
    files[0].write(stdin)
    files[0].seek(0)
    process = subprocess.Popen(
        words,
        stdin=files[0],
        stdout=files[1],
        stderr=files[2],
        cwd=box.path,
        env=environment(__file__, **variables),
    )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process, files[1:]


@contextlib.contextmanager
def _running(row, box, variables):
    """Runs another command until the block ends."""
    name, *flags = map(box.fill, shlex.split(row.beside))
    # Its temporary files are none of those that the row leaves.
    variables = {**variables, "TMPDIR": f"{box.path}.beside"}
    os.mkdir(variables["TMPDIR"])
    with contextlib.ExitStack() as stack:
        words = _words(_module(name), flags)
        process, files = _start(words, box, b"", variables, stack)
        _wait(process, files[1], row.until)
        yield


def _wait(process, file, moment):
    """Waits for some seconds, or for words on standard error."""
    if not isinstance(moment, str):
        time.sleep(moment)
        return
    end = time.monotonic() + SECONDS
    while moment not in _read(file):
        if process.poll() is not None:
            raise AssertionError(f"No {moment!r} but:\n{_read(file)}")
        if time.monotonic() > end:
            raise HangError
        time.sleep(PAUSE)


def _read(file):
    size = os.fstat(file.fileno()).st_size
    return os.pread(file.fileno(), size, 0).decode(errors="backslashreplace")


def _temporary(box):
    path = f"{box.path}.tmp"
    os.mkdir(path)
    return path


def _cpu_seconds_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _changes(before, after):
    return {
        name
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


def _message(row, err):
    """Returns what precedes the message, and the message."""
    lines = err.splitlines(keepends=True) or [""]
    if row.traceback:
        return "", lines[0]
    return "".join(lines[:-1]), lines[-1]


def judge(row, outcome):
    """Asserts that an outcome keeps the promise for a row."""
    shown = f"{row}\nstatus {outcome.status}\n{outcome.out}{outcome.err}"
    assert outcome.status == row.status, shown
    above, last = _message(row, outcome.err)
    if row.status == BAD_INPUT and not row.silent:
        match = LINE.fullmatch(last)
        assert match and match["name"] == row.name, shown
        assert not above or row.before and row.before in above, shown
    else:
        assert "error:" not in outcome.err, shown
        assert not (row.silent and outcome.err), shown
    leaks = [leak for leak in LEAKS if leak in outcome.err]
    assert not leaks or row.traceback, shown
    for word in row.says:
        assert word in outcome.err, f"{word!r} is not in: {shown}"
    assert row.prints in outcome.out, shown
    assert row.prints or not row.status or not outcome.out, shown
    unexpected = [
        name
        for name in outcome.changed
        if not any(
            fnmatch.fnmatch(name, pattern)
            for pattern in (*row.writes, CONVERTED)
        )
    ]
    assert not unexpected, f"{sorted(unexpected)} changed: {shown}"
    assert not outcome.left, f"{outcome.left} left in TMPDIR: {shown}"
