"""Output lines that survive a stop, so that a later process can continue."""

import contextlib
import hashlib
import itertools
import os
import pathlib

from keras_transformer.errors import UserError
from keras_transformer.files import locks
from keras_transformer.files import reading
from keras_transformer.files import writing

PARTIAL = ".partial"  # the suffix of an output that is not complete

_RECORD_SHAPE = {
    "settings": {str: (str, int, float, bool, None)},
    "inputs": {str: str},
    "lines": int,
    "alarms?": int,
    "bytes": int,
    "sha256": str,
}


@contextlib.contextmanager
def open_resumable(path, settings, resume=False, added=()):
    """Opens an output whose lines stay if the process stops before the end.

    Until the output is complete its name is `path.partial`. After an error, a
    signal or a kill its lines stay there, and a call with `resume=True` appends
    to them. Beside it, `path.partial.json` says how many lines are complete and
    what they were made from. The notes of an error say what is kept.

    `settings` holds everything that the lines depend on except the text: str,
    numbers, booleans or None by name. Earlier versions did not record those
    with a name in `added`. Yields a `PartialFile`. Raises a
    `UserError` if there are lines but no `resume`, or if they do not fit.
    """
    writing.check_writable(path)
    path = writing.resolve_link(path)
    partial = path + PARTIAL
    with locks.open_locked(
        partial, "wb", shown=path, keep=True, buffering=0
    ) as file:
        output = None
        try:
            output = PartialFile(path, file, settings, resume, added)
            writing.keep_mode(path, partial)
            try:
                yield output
                output.finish()
            except BaseException as error:
                output.leave(error)
                raise
        finally:
            # Only while the lock is held, so that the file is ours.
            locks.close_before_move(file)
            if os.path.exists(partial) and not os.path.getsize(partial):
                os.remove(partial)
            if output and not os.path.exists(partial):
                pathlib.Path(f"{partial}.json").unlink(missing_ok=True)


class PartialFile:
    """Writes lines that can be continued; `open_resumable` opens it.

    `num_lines` is the number of its lines, and `num_alarms` of alarms about
    them, which the writer adds up. Both include those of earlier processes.
    """

    def __init__(self, path, file, settings, resume, added=()):
        self._path = path
        self._partial = path + PARTIAL
        self._record_path = f"{self._partial}.json"
        self._file = file
        self._hash = hashlib.sha256()
        self._hashes_of_inputs = {}
        self._record = self._read_record()
        self.num_lines = self._record["lines"]
        self.num_alarms = self._record.get("alarms", 0)
        if self.num_lines and not resume:
            raise UserError(
                f"{self._partial} holds {self.num_lines:,} lines of an "
                "unfinished output. Add --resume to continue from there, or "
                f"remove {self._partial}."
            )
        if self.num_lines:
            self._check(settings, added)
        self._truncate()
        if not self.num_lines:
            self._record["settings"] = settings
            self._write_record()

    def skip(self, name, lines):
        """Returns an iterator of the lines that still have to be processed.

        The lines before them, of an input called `name`, are read and must
        equal those of the earlier process.
        """
        hash = self._hashes_of_inputs[name] = hashlib.sha256()
        lines = iter(lines)
        for line in itertools.islice(lines, self.num_lines):
            hash.update(f"{line}\n".encode())
        earlier = self._record.get("inputs", {}).get(name)
        if self.num_lines and hash.hexdigest() != earlier:
            raise self._misfit_error(f"other text in {name}")
        return lines

    def writelines(self, lines, **inputs):
        """Writes lines, each with its line feed, which then survive a stop.

        `inputs` are the lines that they were made from, by the name of their
        input, one for each line.
        """
        lines = list(lines)
        content = "".join(lines).encode()
        with writing.explain_disk_errors(self._path):
            remaining = memoryview(content)
            while remaining:
                remaining = remaining[self._file.write(remaining) :]
            # The record must not reach the disk before the lines.
            os.fsync(self._file.fileno())
        self._hash.update(content)
        for name, texts in inputs.items():
            for text in texts:
                self._hashes_of_inputs[name].update(f"{text}\n".encode())
        self.num_lines += len(lines)
        self._record["bytes"] += len(content)
        self._write_record()

    def finish(self):
        locks.close_before_move(self._file)
        writing.move(self._partial, self._path)

    def leave(self, error):
        """Removes an incomplete line, and adds a note on the lines kept."""
        if not os.path.exists(self._partial):
            error.add_note(f"{self._path} is complete.")
            return
        # The error may have come at any moment, so only the file is reliable.
        self._record = self._read_record()
        self._truncate()
        num_lines = self._record["lines"]
        if num_lines:
            error.add_note(
                f"The first {num_lines:,} lines are kept in {self._partial}; "
                "the same command with --resume continues from there."
            )
        elif isinstance(error, KeyboardInterrupt):
            error.add_note("No lines were complete, so none are kept.")

    def _check(self, settings, added):
        earlier = self._record["settings"]
        added = set(added) - earlier.keys()
        settings = {n: settings[n] for n in settings if n not in added}
        for name in {**settings, **earlier}:
            if settings.get(name) != earlier.get(name):
                raise self._misfit_error(
                    f"{name}={settings.get(name)} instead of "
                    f"{name}={earlier.get(name)}"
                )
        with open(self._partial, "rb") as file:
            left = self._record["bytes"]
            while left > 0 and (content := file.read(min(left, 2**20))):
                self._hash.update(content)
                left -= len(content)
        if left or self._hash.hexdigest() != self._record["sha256"]:
            raise self._misfit_error("lines that were changed afterwards")

    def _misfit_error(self, received):
        return UserError(
            "`--resume` must have the text and the settings that the kept "
            f"lines were made with. Received: {received}, for {self._partial}. "
            f"Restore them, or remove {self._partial} to start again."
        )

    def _truncate(self):
        # A stop in the middle of `writelines` leaves more than was recorded.
        os.ftruncate(self._file.fileno(), self._record["bytes"])
        self._file.seek(0, os.SEEK_END)

    def _read_record(self):
        path = self._record_path
        if not os.fstat(self._file.fileno()).st_size:
            if os.path.lexists(path):  # it is replaced only if it is ours
                reading.read_record(path, _RECORD_SHAPE, "Move it elsewhere.")
            return {"lines": 0, "bytes": 0}
        if not os.path.exists(path):
            raise UserError(
                f"The unfinished output {self._partial} has no record {path}. "
                f"Restore the record, or remove {self._partial} to start again."
            )
        remedy = f"Remove {self._partial} to start again."
        record = reading.read_record(path, _RECORD_SHAPE, remedy)
        return record if record["lines"] > 0 else {"lines": 0, "bytes": 0}

    def _write_record(self):
        inputs = self._hashes_of_inputs.items()
        self._record.update(
            inputs={name: hash.hexdigest() for name, hash in inputs},
            lines=self.num_lines,
            alarms=self.num_alarms,
            sha256=self._hash.hexdigest(),
        )
        writing.write_record(self._record_path, self._record)
