"""A sweep: its rows one after another, and the report on them."""

import dataclasses
import os
import sys

from keras_transformer.errors import UserError
from keras_transformer.files.records import read_record
from keras_transformer.files.records import write_record
from keras_transformer.training.sweep import table
from keras_transformer.training.sweep.results import is_trained
from keras_transformer.training.sweep.results import read_result
from keras_transformer.training.sweep.rows import LOG_FILE

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
    base: str | None = None  # as for `table.plot_lines`

    def run(self, rows, run_command, flags=(), trainer_flags=()):
        """Trains and evaluates rows, and writes the report after each one.

        `run_command` runs "trainer" or "evaluate" on a directory with flags,
        and returns None or a line on why it failed. `flags` are for both, and
        `trainer_flags` for the first. Returns the reasons why rows failed, by
        their directories.
        """
        failures = {}
        self.write_report(failures)
        for number, row in enumerate(rows, 1):
            name = row.directory
            path = self.file(name)
            if is_finished(row, path, self.splits):
                continue
            _report(
                f"{name}, {number} of {len(rows)}: the messages are in "
                f"{os.path.join(path, LOG_FILE)}"
            )
            failure = run_row(
                row, path, self.splits, run_command, flags, trainer_flags
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
        """Writes the table and the picture of the results so far."""
        results = {
            row.directory: read_result(row, self.file(row.directory))
            for row in self.rows
        }
        lines = table.make_lines(self.rows, results, self.measure, self.quoted)
        table.write_csv(self.file(CSV_FILE), lines)
        # Lines without a seed quote figures.
        shown = [
            line
            for line in lines
            if "dev_perplexity" in line or "seed" not in line
        ] or lines
        title = self.title
        if len(shown) < len(lines):
            title += f" Rows without figures yet are only in {CSV_FILE}."
        table.write_markdown(self.file(MARKDOWN_FILE), title, shown, failures)
        if any("dev_perplexity" in line for line in shown):
            table.plot_lines(shown, self.file(PLOT_FILE), self.base)


def check_settings(directory, settings):
    """Checks that a directory holds no other sweep, and records this one.

    The settings, by flag, are those that all calls have to share.
    """
    path = os.path.join(directory, RECORD_FILE)
    if not os.path.lexists(path):
        write_record(path, settings)
        return
    earlier = read_record(path, {str: (str, int, None)})
    for name, value in settings.items():
        if earlier.get(name) != value:
            raise UserError(
                f"`--{name}` must not change in the directory of a sweep. "
                f"Received: {_show(name, value)}, but {directory} was started "
                f"with {_show(name, earlier.get(name))}. Repeat the earlier "
                "command, or use another --output_dir."
            )


def _show(name, value):
    return f"no --{name}" if value is None else f"--{name}={value}"


def _report(line):
    print(line, file=sys.stderr, flush=True)


def run_row(row, path, splits, run_command, flags=(), trainer_flags=()):
    """Trains and evaluates a row, unless this has been done.

    A row that was interrupted continues from its newest checkpoint. See
    `Sweep.run` for the other arguments. Returns None, or a line on why the row
    failed.
    """
    os.makedirs(path, exist_ok=True)
    failure = None
    # The data may have moved since the run recorded its place.
    flags = [f"--data_dir={row.variant.problem.data_dir}", *flags]
    if not is_trained(row, read_result(row, path)):
        trainer_flags = [*_recipe_flags(row), *flags, *trainer_flags]
        failure = run_command("trainer", path, trainer_flags)
    for split in splits:
        if not failure and split not in read_result(row, path).scores:
            evaluate_flags = [f"--split={split}", *flags]
            failure = run_command("evaluate", path, evaluate_flags)
    return failure


def is_finished(row, path, splits):
    """Returns whether a row needs neither training nor evaluation."""
    result = read_result(row, path)
    return is_trained(row, result) and set(splits) <= result.scores.keys()


def _recipe_flags(row):
    return [
        f"--problem={row.variant.problem.name}",
        f"--hparams_set={row.variant.hparams_set}",
        f"--hparams={row.overrides}",
        f"--random_seed={row.seed}",
        # The newest checkpoint is evaluated; a full sweep has many rows.
        "--keep_checkpoint_max=1",
    ]
