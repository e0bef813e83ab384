"""A sweep: its rows one after another, and the report on them."""

import dataclasses
import json
import os
import sys

from keras_transformer.errors import UserError
from keras_transformer.files.records import read_record
from keras_transformer.files.writing import atomic_write
from keras_transformer.sweep import plot
from keras_transformer.sweep import runner
from keras_transformer.sweep import table
from keras_transformer.sweep.results import read_result

MARKDOWN_FILE = "table.md"
CSV_FILE = "table.csv"
PLOT_FILE = "plot.png"
RECORD_FILE = "sweep.json"


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Several models that are trained in one directory and compared."""

    directory: str
    title: str  # above the Markdown table
    rows: list  # of `Row`
    splits: tuple  # names of the splits that are evaluated
    measure: str  # name of the score that is shown, such as "bleu"
    quoted: tuple = ()  # as for `table.make_lines`
    base: str | None = None  # as for `plot.plot_lines`

    def run(self, rows, flags=(), trainer_flags=()):
        """Trains and evaluates rows, and writes the report after each one.

        Returns why rows failed, by their directories.
        """
        failures = {}
        self.write_report(failures)
        for number, row in enumerate(rows, 1):
            name = row.directory
            path = self.file(name)
            if runner.is_finished(row, path, self.splits):
                continue
            _report(
                f"{name}, {number} of {len(rows)}: the messages are in "
                f"{os.path.join(path, runner.LOG_FILE)}"
            )
            failure = runner.run_row(
                row, path, self.splits, flags, trainer_flags
            )
            if failure:
                failures[name] = failure
                _report(f"{name} failed: {failure}")
            self.write_report(failures)
        return failures

    def file(self, name):
        """Returns the path of a file or of a row's run."""
        return os.path.join(self.directory, name)

    def write_report(self, failures):
        """Writes the table and the picture of what the rows have reached."""
        results = {
            row.directory: read_result(row, self.file(row.directory))
            for row in self.rows
        }
        lines = table.make_lines(self.rows, results, self.measure, self.quoted)
        table.write_csv(self.file(CSV_FILE), lines)
        table.write_markdown(
            self.file(MARKDOWN_FILE), self.title, lines, failures
        )
        if any("dev_perplexity" in line for line in lines):
            plot.plot_lines(lines, self.file(PLOT_FILE), self.base)


def check_settings(directory, settings):
    """Checks that a directory holds no other sweep, and records this one.

    The settings, by flag, are those that all calls have to share.
    """
    path = os.path.join(directory, RECORD_FILE)
    if not os.path.lexists(path):
        with atomic_write(path) as file:
            file.write(json.dumps(settings, indent=2) + "\n")
        return
    earlier = read_record(path, {str: (str, int, None)})
    for name, value in settings.items():
        if earlier.get(name) != value:
            raise UserError(
                f"`--{name}` must not change in the directory of a sweep. "
                f"Received: {_show(name, value)}, but {directory} was begun "
                f"with {_show(name, earlier.get(name))}. Repeat the earlier "
                "command, or use another --output_dir."
            )


def _show(name, value):
    return f"no --{name}" if value is None else f"--{name}={value}"


def _report(line):
    print(line, file=sys.stderr, flush=True)
