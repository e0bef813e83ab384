"""A sweep: its rows one after another, their results, and the report."""

import dataclasses
import os
import sys

from keras_transformer.errors import UserError
from keras_transformer.files.records import read_record
from keras_transformer.files.records import write_record
from keras_transformer.runs import data_record
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.scores import read_scores
from keras_transformer.runs.scores import read_signature
from keras_transformer.search.options import DecodeOptions
from keras_transformer.training.sweep import table
from keras_transformer.training.sweep.rows import LOG_FILE
from keras_transformer.training.sweep.rows import SPLITS

MARKDOWN_FILE = "table.md"
CSV_FILE = "table.csv"
PLOT_FILE = "plot.png"
RECORD_FILE = "sweep.json"


@dataclasses.dataclass(frozen=True)
class Result:
    """The results of a row so far."""

    is_trained: bool = False  # whether it has all updates and their evaluation
    seconds: float = 0.0  # of all updates, without evaluations
    parameters: int = 0
    perplexity: float | None = None  # on dev, of the newest checkpoint
    # Of that checkpoint: split to score by name.
    scores: dict = dataclasses.field(default_factory=dict)


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

        A row that was interrupted continues from its newest checkpoint.
        `run_command` runs "trainer" or "evaluate" on a directory with flags,
        and returns None or a line on why it failed. `flags` are for both, and
        `trainer_flags` for the first. Returns the reasons why rows failed, by
        their directories.
        """
        failures = {}
        self.write_report(failures)
        for number, row in enumerate(rows, 1):
            name = row.directory
            if self.is_finished(row):
                continue
            log = self.file(os.path.join(name, LOG_FILE))
            place = f"{number} of {len(rows)}"
            _report(f"{name}, {place}: the messages are in {log}")
            failure = self._run_row(row, run_command, flags, trainer_flags)
            if failure:
                failures[name] = failure
                _report(f"{name} failed: {failure}")
            self.write_report(failures)
        return failures

    def is_finished(self, row):
        """Returns whether a row needs neither training nor evaluation."""
        result = self.read_result(row)
        return result.is_trained and set(self.splits) <= result.scores.keys()

    def _run_row(self, row, run_command, flags, trainer_flags):
        path = self.file(row.directory)
        os.makedirs(path, exist_ok=True)
        failure = None
        # The data may have moved since the run recorded its place.
        flags = [f"--data_dir={row.variant.problem.data_dir}", *flags]
        if not self.read_result(row).is_trained:
            recipe = [
                f"--problem={row.variant.problem.name}",
                f"--hparams_set={row.variant.hparams_set}",
                f"--hparams={row.overrides}",
                f"--random_seed={row.seed}",
                # The newest checkpoint is evaluated, and rows may be many.
                "--keep_checkpoint_max=1",
            ]
            trainer_flags = [*recipe, *flags, *trainer_flags]
            failure = run_command("trainer", path, trainer_flags)
        for split in self.splits:
            if not failure and split not in self.read_result(row).scores:
                split_flags = [f"--split={split}", *flags]
                failure = run_command("evaluate", path, split_flags)
        return failure

    def read_result(self, row):
        """Reads the `Result` of a row from the directory of its run."""
        path = self.file(row.directory)
        if not RunDirectory.exists(path):
            return Result()
        run = RunDirectory(path)
        steps = run.checkpoints.steps
        # As kt-trainer reads the record.
        seed = run.record.get("random_seed", 0)
        if not steps or (run.hparams, seed) != (row.hparams, row.seed):
            return Result()
        problem = row.variant.problem
        if changed := data_record.find_changed_data(run, problem):
            raise UserError(
                f"The {changed} of the data in {problem.directory} are no "
                f"longer those that {run.path} records. Use the earlier data, "
                "or another --output_dir."
            )
        step = steps[-1]
        training = run.read_training(step)
        is_evaluated = training.get("dev_step") == step
        return Result(
            step == row.hparams.train_steps and is_evaluated,
            training.get("seconds", 0.0),
            run.count_parameters(step),
            training["dev"]["perplexity"] if is_evaluated else None,
            select_scores(run, step, problem),
        )

    def file(self, name):
        """Returns the path of a file or of a row's run."""
        return os.path.join(self.directory, name)

    def write_report(self, failures):
        """Writes the table and the picture of the results so far."""
        results = {row.directory: self.read_result(row) for row in self.rows}
        lines = table.make_lines(self.rows, results, self.measure, self.quoted)
        table.write_csv(self.file(CSV_FILE), lines)
        measured = [line for line in lines if "dev_perplexity" in line]
        # Lines without a seed quote figures.
        quoted = [line for line in lines if "seed" not in line]
        shown = [*quoted, *measured] or lines
        title = self.title
        if len(shown) < len(lines):
            title += f" Rows without figures yet are only in {CSV_FILE}."
        table.write_markdown(self.file(MARKDOWN_FILE), title, shown, failures)
        if measured:
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


def select_scores(run, step, problem):
    """Returns the scores by split that kt-evaluate measures without flags."""
    search = dataclasses.asdict(DecodeOptions.from_hparams(run.hparams))
    measure = {"case": "mixed", "tok": problem.bleu_tokenizer}
    scores = {}
    for split, entries in read_scores(run).items():
        # kt-evaluate may have had other texts, checkpoints or options, too.
        for entry in entries:
            signature = read_signature("".join(entry["lines"][:1]))
            parts = [part.partition(":") for part in signature.split("|")]
            if (
                split in SPLITS
                and entry["step"] == step
                and _agree(entry["decode"], search)
                and _agree({name: value for name, _, value in parts}, measure)
            ):
                scores[split] = entry
    return scores


def _agree(values, defaults):
    return all(defaults.get(n, value) == value for n, value in values.items())
