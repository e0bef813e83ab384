"""A sweep: its rows one after another, their results, and the report."""

import dataclasses
import os
import sys

from keras_transformer.errors import UserError
from keras_transformer.runs import data_record
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.scores import list_entries
from keras_transformer.runs.scores import read_signature
from keras_transformer.search.options import DecodeOptions
from keras_transformer.training.sweep import table
from keras_transformer.training.sweep.rows import LOG_FILE
from keras_transformer.training.sweep.rows import SPLITS

MARKDOWN_FILE = "table.md"
PLOT_FILE = "plot.png"
RECORD_FILE = "sweep.json"  # its settings


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Several models that are trained in one directory and compared."""

    directory: str
    title: str  # above the Markdown table
    rows: list  # of `Row`
    splits: tuple  # names of the splits that are evaluated
    measure: str  # name of the score that is shown, such as "bleu"
    quoted: tuple | list = ()  # as for `table.make_lines`
    base: str | None = None  # as for `table.plot_lines`

    def run(self, rows, run_command, flags=(), trainer_flags=()):
        """Trains and evaluates rows, and writes the report after each one.

        A row that was interrupted continues from its newest checkpoint.
        `run_command` runs "trainer" or "evaluate" on a directory with flags,
        and returns None or a line on why it failed. `flags` are for both, and
        `trainer_flags` for the first. Returns the reasons why rows failed, by
        their directories.
        """
        failures = {}
        self.write_report(failures)
        for number, row in enumerate(rows, 1):
            commands = self.list_commands(row, flags, trainer_flags)
            if not commands:
                continue
            path = self.file(row.directory)
            os.makedirs(path, exist_ok=True)
            log = os.path.join(path, LOG_FILE)
            place = f"{row.directory}, {number} of {len(rows)}"
            _report(f"{place}: the messages are in {log}")
            for name, command_flags in commands:
                if failure := run_command(name, path, command_flags):
                    failures[row.directory] = failure
                    _report(f"{row.directory} failed: {failure}")
                    break
            self.write_report(failures)
        return failures

    def list_commands(self, row, flags=(), trainer_flags=()):
        """Lists the commands that a row still needs, each with its flags."""
        figures, splits = self.read_figures(row)
        # The data may have moved since the run recorded its place.
        flags = [f"--data_dir={row.problem.data_dir}", *flags]
        recipe = [
            f"--problem={row.problem.name}",
            f"--hparams_set={row.hparams_set}",
            f"--hparams={row.overrides}",
            f"--random_seed={row.seed}",
            # The newest checkpoint is evaluated, and rows may be many.
            "--keep_checkpoint_max=1",
        ]
        training = ("trainer", [*recipe, *flags, *trainer_flags])
        return [training] * (not figures) + [
            ("evaluate", [f"--split={split}", *flags])
            for split in self.splits
            if split not in splits
        ]

    def read_figures(self, row):
        """Returns the measured columns of a row, and its evaluated splits.

        Both are empty until the row has all updates and their evaluation.
        """
        path = self.file(row.directory)
        if not RunDirectory.exists(path):
            return {}, ()
        run = RunDirectory(path)
        step = max(run.checkpoints.steps, default=None)
        # As kt-trainer reads the record.
        seed = run.record.get("random_seed", 0)
        if step is None or (run.hparams, seed) != (row.hparams, row.seed):
            return {}, ()
        if changed := data_record.find_changed_data(run, row.problem):
            raise UserError(
                f"The {changed} of the data in {row.problem.directory} are no "
                f"longer those that {run.path} records. Use the earlier data, "
                "or another --output_dir."
            )
        training = run.read_training(step)
        minutes, last_step = row.hparams.train_minutes, row.hparams.train_steps
        if minutes and training.get("seconds", 0.0) >= 60 * minutes:
            last_step = step
        if {step, training.get("dev_step")} != {last_step}:
            return {}, ()
        scores = select_scores(run, step, row.problem)
        figures = {
            "steps": step,
            "seconds": training.get("seconds", 0.0),
            "parameters": run.count_parameters(step),
            "dev_perplexity": training["dev"]["perplexity"],
        }
        # A problem need not report its measure.
        figures |= {
            f"{split}_{self.measure}": entry[self.measure]
            for split, entry in scores.items()
            if self.measure in entry
        }
        return figures, scores.keys()

    def file(self, name):
        """Returns the path of a file or of a row's run."""
        return os.path.join(self.directory, name)

    def write_report(self, failures):
        """Writes the table and the picture of the rows that have figures."""
        figures = {
            row.directory: self.read_figures(row)[0] for row in self.rows
        }
        rows = [row for row in self.rows if figures[row.directory]]
        lines = table.make_lines(rows, figures, self.quoted)
        path = self.file(MARKDOWN_FILE)
        table.write_markdown(path, self.title, lines, failures)
        if rows:
            table.plot_lines(lines, self.file(PLOT_FILE), self.base)


def select_scores(run, step, problem):
    """Returns the scores by split that kt-evaluate measures without flags."""
    defaults = dataclasses.asdict(DecodeOptions.from_hparams(run.hparams))
    defaults |= {"case": "mixed", "tok": problem.bleu_tokenizer}
    scores = {}
    for split, entry in list_entries(run, step):
        # kt-evaluate may have had other texts or options, too.
        signature = read_signature("".join(entry["lines"][:1]))
        parts = [part.partition(":") for part in signature.split("|")]
        options = entry["decode"] | {name: value for name, _, value in parts}
        if split in SPLITS and all(
            defaults.get(name, value) == value
            for name, value in options.items()
        ):
            scores[split] = entry
    return scores


def _report(line):
    print(line, file=sys.stderr, flush=True)
