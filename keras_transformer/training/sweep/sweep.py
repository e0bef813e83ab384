"""A sweep: its rows one after another, their results, and their table."""

import dataclasses
import os
import statistics
import sys

from keras_transformer.errors import UserError
from keras_transformer.files import markdown
from keras_transformer.files.writing import atomic_write
from keras_transformer.runs import data_record
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.scores import list_entries
from keras_transformer.runs.scores import read_signature
from keras_transformer.search.options import DecodeOptions
from keras_transformer.training.sweep.rows import LOG_FILE
from keras_transformer.training.sweep.rows import PAPER
from keras_transformer.training.sweep.rows import SPLITS
from keras_transformer.visualization.picture import name_metric

MARKDOWN_FILE = "table.md"
RECORD_FILE = "sweep.json"  # its settings
# The columns of the paper's Table 3 that describe a model.
MODEL = ("num_layers", "d_model", "d_ff", "num_heads", "d_k", "d_v")
MODEL += ("dropout", "label_smoothing")
DEPTH = "num_decoder_layers"
# Headings other than the name of the column: the paper's symbols, and units.
HEADINGS = {
    "num_layers": "N",
    "num_heads": "h",
    "dropout": "P_drop",
    "label_smoothing": "ε_ls",
    "seconds": "minutes",
    "parameters": "10⁶ parameters",
    "paper_parameters": "paper 10⁶ parameters",
}
# The columns of our figures begin with these.
MEASURED = tuple(f"{split}_" for split in SPLITS)


@dataclasses.dataclass(frozen=True)
class Sweep:
    """Several models that are trained in one directory and compared."""

    directory: str
    title: str  # above the table
    rows: list  # of `Row`
    splits: tuple  # names of the splits that are evaluated
    measure: str  # name of the score that is shown, such as "bleu"
    # F1 of others, by their names, which the table shows above the rows.
    quoted: dict = dataclasses.field(default_factory=dict)

    def run(self, rows, run_command, flags=(), trainer_flags=()):
        """Trains and evaluates rows, and writes the table after each one.

        A row that was interrupted continues from its newest checkpoint.
        `run_command` runs "trainer" or "evaluate" on a directory with flags,
        and returns None or a line on why it failed. `flags` are for both, and
        `trainer_flags` for the first. Returns the reasons why rows failed, by
        their directories.
        """
        failures = {}
        self.write_table(failures)
        for number, row in enumerate(rows, 1):
            commands = self.list_commands(row, flags, trainer_flags)
            if not commands:
                continue
            path = self.file(row.directory)
            os.makedirs(path, exist_ok=True)
            log = os.path.join(path, LOG_FILE)
            place = f"{row.directory}, {number} of {len(rows)}"
            print(f"{place}: the messages are in {log}", file=sys.stderr)
            for name, command_flags in commands:
                if failure := run_command(name, path, command_flags):
                    failures[row.directory] = failure
                    line = f"{row.directory} failed: {failure}"
                    print(line, file=sys.stderr)
                    break
            self.write_table(failures)
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
        seconds = training.get("seconds", 0.0)
        minutes, last_step = row.hparams.train_minutes, row.hparams.train_steps
        if minutes and seconds >= 60 * minutes:
            last_step = step
        if {step, training.get("dev_step")} != {last_step}:
            return {}, ()
        scores = select_scores(run, step, row.problem)
        figures = {
            "steps": step,
            "seconds": seconds,
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

    def write_table(self, failures):
        """Writes the table of the rows that have figures."""
        figures = {
            row.directory: self.read_figures(row)[0] for row in self.rows
        }
        rows = [row for row in self.rows if figures[row.directory]]
        lines = [
            {"row": name, f"{PAPER}f1": f1} for name, f1 in self.quoted.items()
        ]
        lines += make_lines(rows, figures)
        parts = [self.title, *format_lines(lines)]
        parts += [f"{name} failed: {why}" for name, why in failures.items()]
        with atomic_write(self.file(MARKDOWN_FILE)) as file:
            file.write("\n\n".join(parts) + "\n")


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


def make_lines(rows, figures):
    """Returns a line of the table for each row, values by their columns.

    `figures` holds the measured columns of a row by its directory.
    """
    all_values = []
    for row in rows:
        values = dataclasses.asdict(row.hparams)
        values["d_k"], values["d_v"] = row.hparams.head_widths
        values[DEPTH] = row.hparams.decoder_depth
        all_values.append(values)
    # The other hyper-parameters that are not the same in all rows. They include
    # the depth of the decoder unless it is N in all rows.
    is_unequal = any(v[DEPTH] != v["num_layers"] for v in all_values)
    columns = [DEPTH] if is_unequal else []
    columns += [
        name
        for name in (all_values[0] if rows else ())
        if name not in (*MODEL, DEPTH, "train_steps")
        and len({values[name] for values in all_values}) > 1
    ]
    return [
        {"row": row.name, "seed": row.seed}
        | {name: values[name] for name in (*MODEL, *columns)}
        | {"steps": row.hparams.train_steps}
        | figures[row.directory]
        | row.paper
        for row, values in zip(rows, all_values)
    ]


def format_lines(lines):
    """Yields the table of lines as Markdown, and sentences on their seeds."""
    if not lines:
        return
    # The columns of the paper are at the end.
    columns = dict.fromkeys(column for line in lines for column in line)
    columns = sorted(columns, key=lambda column: column.startswith(PAPER))
    cells = [
        [_make_cell(name, line.get(name)) for name in columns] for line in lines
    ]
    head = list(map(_make_heading, columns))
    yield markdown.table(head, cells, numbers=True)
    for name in dict.fromkeys(line["row"] for line in lines):
        seeds = [line for line in lines if line["row"] == name]
        if len(seeds) > 1:
            spreads = [
                f"{name_metric(column)} {min(values):.2f} to "
                f"{max(values):.2f}, mean {statistics.mean(values):.2f}"
                for column in columns
                if column.startswith(MEASURED)
                and None not in (values := [one.get(column) for one in seeds])
            ]
            yield f"{name}, {len(seeds)} seeds: {'; '.join(spreads)}."


def _make_heading(column):
    is_figure = column.startswith((*MEASURED, PAPER))
    return HEADINGS.get(column, name_metric(column) if is_figure else column)


def _make_cell(column, value):
    if value is None:
        return ""
    if column.endswith("parameters"):
        return f"{value / 1e6:.4g}"
    if column == "seconds":
        return f"{value / 60:.1f}"
    if column.startswith((*MEASURED, PAPER)):
        return f"{value:.{2 if column.endswith('perplexity') else 1}f}"
    return str(value)
