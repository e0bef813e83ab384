"""The process in which kt-trainer and kt-evaluate make the rows of a sweep."""

import collections
import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import traceback

from keras_transformer.training.sweep.rows import LOG_FILE

PATIENCE = 60  # seconds in which a process must free its memory, or end


class RowProcess:
    """Runs commands one after another in one process.

    A start of TensorFlow takes longer than the training of a small model, so
    rows share a process. A failed command may leave its memory occupied, and a
    crash ends the process, so the next command gets a new one. It also gets a
    new one if the process died or got stuck after the previous command.
    """

    def __init__(self):
        self._process = self._pipe = self._first = None

    def run(self, name, path, flags):
        """Runs a command, such as "trainer", on the run in a directory.

        Returns None, or a line on why the command failed.
        """
        # Only kt-trainer sets up the devices so that trainings can follow.
        if name == "trainer" != self._first or not self._is_ready():
            self.close()
            context = multiprocessing.get_context("spawn")
            self._pipe, other_end = context.Pipe()
            self._process = context.Process(target=_serve, args=(other_end,))
            self._process.start()
            self._first = name
            other_end.close()
        log = os.path.join(path, LOG_FILE)
        try:
            self._pipe.send((name, [f"--output_dir={path}", *flags], log))
            status = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            status = self._process.exitcode or 1
        except KeyboardInterrupt as error:
            # Control-C on a terminal also reaches the process itself. A second
            # signal does no harm while it trains and saves.
            os.kill(self._process.pid, signal.SIGINT)
            self._pipe.close()
            self._process.join()
            error.add_note("The same command continues the sweep.")
            raise
        if status == 0:
            return None
        self.close()
        reason = f"ended with status {status}"
        if status < 0:
            reason = f"was ended by signal {-status}"
        with open(log, encoding="utf-8", errors="replace") as file:
            last_line = collections.deque(filter(str.strip, file), maxlen=1)
        return f"kt-{name} {reason}. {''.join(last_line).strip()}"

    def _is_ready(self):
        """Returns whether a process waits for the next command."""
        if self._process:
            with contextlib.suppress(EOFError, OSError):
                is_free = self._pipe.poll(PATIENCE) and self._pipe.recv()
                return is_free and self._process.is_alive()
        return False

    def close(self):
        """Ends the process, if there is one."""
        if self._process:
            self._pipe.close()
            self._process.join(PATIENCE)
            self._process.kill()
            self._process.join()
        self._process = None


def _serve(pipe):
    """Runs the commands that arrive until the other end is closed."""
    with contextlib.suppress(EOFError, ConnectionError, KeyboardInterrupt):
        while True:
            name, flags, log = pipe.recv()
            with open(log, "ab") as file:
                for descriptor in (1, 2):
                    os.dup2(file.fileno(), descriptor)
            pipe.send(_call(name, flags))
            # Forgets the model and its compiled functions.
            if keras := sys.modules.get("keras"):
                keras.utils.clear_session()
            if jax := sys.modules.get("jax"):
                jax.clear_caches()
            pipe.send(True)  # which `_is_ready` waits for


def _call(name, flags):
    """Returns the exit status of a command."""
    command = importlib.import_module(f"keras_transformer.bin.{name}")
    try:
        command.run([name, *flags])
    except SystemExit as ending:
        return ending.code or 0
    except Exception:
        traceback.print_exc()
    return 1
