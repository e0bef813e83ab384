"""The results of the rows of a sweep, read from their runs, and the table."""

import dataclasses
import itertools
import statistics

from keras_transformer.bin.kt_sweep.rows import SPLITS
from keras_transformer.files import markdown
from keras_transformer.files.writing import write_file
from keras_transformer.runs.data_record import check_same_data
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.scores import list_entries
from keras_transformer.runs.scores import read_signature
from keras_transformer.search.options import DecodeOptions
from keras_transformer.visualization.picture import name_metric

DEPTH = "num_decoder_layers"
# The columns of the paper's Table 3 that describe a model, and its symbols.
MODEL = {"num_layers": "N", "d_model": "d_model", "d_ff": "d_ff"}
MODEL |= {"num_heads": "h", "d_k": "d_k", "d_v": "d_v"}
MODEL |= {"dropout": "P_drop", "label_smoothing": "ε_ls"}
# How numbers are written, by the last word of their column.
FORMATS = {"parameters": ".4g", "perplexity": ".2f"}


def read_results(row):
    """Returns the results of a row by column, and its evaluated splits.

    Both are empty until the row has all updates and their evaluation.
    """
    if not RunDirectory.exists(row.path):
        return {}, ()
    run = RunDirectory(row.path)
    step = max(run.checkpoints.steps, default=None)
    # As kt-trainer reads the record.
    seed = run.record.get("random_seed", 0)
    if step is None or (run.hparams, seed) != (row.hparams, row.seed):
        return {}, ()
    check_same_data(run, row.problem)
    training = run.read_training(step)
    minutes = training.get("seconds", 0.0) / 60
    limit = row.hparams.train_minutes
    is_over = minutes >= limit if limit else step == row.hparams.train_steps
    if not is_over or training.get("dev_step") != step:
        return {}, ()
    results = {
        "steps": str(step),
        "minutes": minutes,
        "10⁶ parameters": run.count_parameters(step) / 1e6,
        "dev perplexity": training["dev"]["perplexity"],
    }
    scores = select_scores(run, step, row.problem)
    measure = row.problem.measure
    for split, entry in scores.items():
        # A problem need not report its measure.
        if measure in entry:
            results[f"{split} {name_metric(measure)}"] = entry[measure]
    return results, scores.keys()


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
        # The two unions are equal if the dictionaries agree in what both have.
        if split in SPLITS and defaults | options == options | defaults:
            scores[split] = entry
    return scores


def write_table(path, title, results, failures, quoted):
    """Writes and returns the table of rows with results, and why rows failed.

    `results` is as in `make_lines`. `failures` are reasons by the name of a
    row's directory. `quoted` is F1 of others by their names, which the table
    shows above the rows.
    """
    lines = [{"row": name, "paper F1": f1} for name, f1 in quoted.items()]
    lines += make_lines([pair for pair in results if pair[1]])
    parts = [title, *format_lines(lines)]
    parts += [f"{name} failed: {why}" for name, why in failures.items()]
    text = "\n\n".join(parts) + "\n"
    write_file(path, text)
    return text


def make_lines(results):
    """Returns the lines of the table, each a dictionary of its columns.

    `results` is a list of pairs: a row, and its results by their columns.
    """
    # The architecture has the numbers that a 0 stands for.
    all_values = [
        dataclasses.asdict(row.hparams) | row.hparams.architecture
        for row, _ in results
    ]
    columns = MODEL | {DEPTH: DEPTH}
    if all(values[DEPTH] == values["num_layers"] for values in all_values):
        del columns[DEPTH]
    # The other hyper-parameters that are not the same in all rows.
    for name in dict.fromkeys(itertools.chain(*all_values)):
        is_constant = len({values.get(name) for values in all_values}) == 1
        if not is_constant and name not in (DEPTH, "train_steps"):
            columns.setdefault(name, name)
    return [
        {"row": row.name, "seed": str(row.seed)}
        | {columns[n]: str(values[n]) for n in columns if n in values}
        | measured
        | {f"paper {name}": value for name, value in row.paper.items()}
        for (row, measured), values in zip(results, all_values)
    ]


def format_lines(lines):
    """Yields the table of lines as Markdown, and sentences on their seeds."""
    if not lines:
        return
    # The columns of the paper are at the end.
    columns = dict.fromkeys(column for line in lines for column in line)
    columns = sorted(columns, key=lambda column: column.startswith("paper "))
    cells = [[_make_cell(line, column) for column in columns] for line in lines]
    yield markdown.table(columns, cells, numbers=True)
    for name, group in itertools.groupby(lines, lambda line: line["row"]):
        seeds = list(group)
        if len(seeds) > 1:
            spreads = [
                f"{column} {min(values):.2f} to {max(values):.2f}, mean "
                f"{statistics.mean(values):.2f}"
                for column in columns
                if column.split()[0] in SPLITS
                and None not in (values := [one.get(column) for one in seeds])
            ]
            yield f"{name}, {len(seeds)} seeds: {'; '.join(spreads)}."


def _make_cell(line, column):
    value = line.get(column, "")
    if isinstance(value, str):
        return value
    return format(value, FORMATS.get(column.split()[-1], ".1f"))
