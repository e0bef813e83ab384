"""The process in which kt-trainer and kt-evaluate make the rows of a sweep."""

import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import traceback

from keras_transformer.training.sweep.rows import LOG_FILE


class RowProcess:
    """Runs commands one after another in one process.

    A start of TensorFlow takes longer than the training of a small model, so
    rows share a process. A failed command may leave its memory occupied, and a
    crash ends the process, so the next command gets a new one.
    """

    def __init__(self):
        self._process = self._pipe = None
        self._has_trained = False

    def run(self, name, path, flags):
        """Runs a command, such as "trainer", on the run in a directory.

        Returns None, or a line on why the command failed.
        """
        # Only kt-trainer sets up the devices so that trainings can follow.
        if name == "trainer" and not self._has_trained:
            self.close()
            self._has_trained = True
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, other_end = context.Pipe()
            self._process = context.Process(target=_serve, args=(other_end,))
            self._process.start()
            other_end.close()
        log = os.path.join(path, LOG_FILE)
        self._pipe.send((name, [f"--output_dir={path}", *flags], log))
        try:
            status = self._pipe.recv()
        except EOFError:
            self._process.join()
            status = self._process.exitcode
        except KeyboardInterrupt as error:
            # Control-C on a terminal also reaches the process itself. A second
            # signal does no harm while it trains and saves.
            os.kill(self._process.pid, signal.SIGINT)
            self.close()
            error.add_note("The same command continues the sweep.")
            raise
        if status == 0:
            return None
        self.close()
        reason = f"ended with status {status}"
        if status < 0:
            reason = f"was ended by signal {-status}"
        return f"kt-{name} {reason}. {_read_last_line(log)}"

    def close(self):
        """Waits for the end of the process, if there is one."""
        if self._process:
            self._pipe.close()
            self._process.join()
        self._process = None
        self._has_trained = False


def _serve(pipe):
    """Runs the commands that arrive until the other end is closed."""
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            name, flags, log = pipe.recv()
            with open(log, "ab") as file:
                for descriptor in (1, 2):
                    os.dup2(file.fileno(), descriptor)
            pipe.send(_call(name, flags))
            _free_memory()


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


def _free_memory():
    """Forgets the model and its compiled functions."""
    if keras := sys.modules.get("keras"):
        keras.utils.clear_session()
    if jax := sys.modules.get("jax"):
        jax.clear_caches()


def _read_last_line(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line for line in map(str.strip, file) if line]
    return lines[-1] if lines else ""
