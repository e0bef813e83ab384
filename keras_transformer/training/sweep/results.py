"""The results of a row, read from the directory of its run."""

import dataclasses

from keras_transformer.errors import UserError
from keras_transformer.runs import data_record
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.scores import read_scores
from keras_transformer.runs.scores import read_signature
from keras_transformer.search.options import DecodeOptions

SPLITS = ("dev", "test")  # those that kt-evaluate takes


@dataclasses.dataclass(frozen=True)
class Result:
    """The results of a row so far; figures not yet measured are absent."""

    step: int  # number of updates done
    seconds: float  # of all updates, without evaluations
    parameters: int
    perplexity: float | None  # on dev, of the newest checkpoint
    scores: dict  # of that checkpoint: split to score by name


def read_result(row, path):
    """Reads the `Result` of a row, or None without a checkpoint of this run."""
    if not RunDirectory.exists(path):
        return None
    run = RunDirectory(path)
    steps = run.checkpoints.steps
    seed = run.record.get("random_seed", 0)  # as kt-trainer reads the record
    if not steps or (run.hparams, seed) != (row.hparams, row.seed):
        return None
    problem = row.variant.problem
    if changed := data_record.find_changed_data(run, problem):
        raise UserError(
            f"The {changed} of the data in {problem.directory} are no longer "
            f"those that {run.path} records. Use the earlier data, or another "
            "--output_dir."
        )
    step = steps[-1]
    training = run.read_training(step)
    is_evaluated = training.get("dev_step") == step
    return Result(
        step,
        training.get("seconds", 0.0),
        run.count_parameters(step),
        training["dev"]["perplexity"] if is_evaluated else None,
        select_scores(run, step, problem),
    )


def is_trained(row, result):
    """Returns whether a row has all its updates and their evaluation."""
    return (
        result is not None
        and result.step == row.hparams.train_steps
        and result.perplexity is not None
    )


def select_scores(run, step, problem):
    """Returns the scores by split that kt-evaluate measures without flags."""
    scores = {}
    for split, entries in read_scores(run).items():
        # kt-evaluate may have had other texts, checkpoints or options, too.
        entries = [
            entry
            for entry in entries
            if entry["step"] == step
            and _has_default_search(entry, run.hparams)
            and _has_default_measure(entry, problem)
        ]
        if split in SPLITS and entries:
            scores[split] = entries[-1]
    return scores


def _has_default_search(entry, hparams):
    default = dataclasses.asdict(DecodeOptions.from_hparams(hparams))
    return all(
        value == default.get(name, value)
        for name, value in entry["decode"].items()
    )


def _has_default_measure(entry, problem):
    default = {"case": "mixed", "tok": problem.bleu_tokenizer}
    first = read_signature("".join(entry["lines"][:1]))
    options = (option.partition(":") for option in first.split("|"))
    return all(value == default.get(name, value) for name, _, value in options)
