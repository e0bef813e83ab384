"""The results of a row, read from the directory of its run."""

import dataclasses

from keras_transformer.runs.model_card.facts import changed_data
from keras_transformer.runs.model_card.facts import num_parameters
from keras_transformer.runs.model_card.scores import read_scores
from keras_transformer.runs.model_card.scores import signature
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions

SPLITS = ("dev", "test")  # those that kt-evaluate takes


@dataclasses.dataclass(frozen=True)
class Result:
    """What a row has reached; a figure that is not measured yet is absent."""

    step: int  # number of updates done
    seconds: float  # of all updates, without evaluations
    parameters: int
    perplexity: float | None  # on dev, of the newest checkpoint
    scores: dict  # of that checkpoint: split to score by name


def read_result(row, path):
    """Reads the result of a row.

    Args:
        row: The `Row`.
        path: Path of its run's directory, which need not exist.

    Returns:
        A `Result`, or None if there is no checkpoint of this training.

    Raises:
        ValueError: If the run was trained on other data, or if a file of it is
            not as it was written.
    """
    if not RunDirectory.exists(path):
        return None
    run = RunDirectory(path)
    steps = run.checkpoints.steps
    seed = run.record.get("random_seed", 0)  # as kt-trainer reads the record
    if not steps or (run.hparams, seed) != (row.hparams, row.seed):
        return None
    _check_data(run, row.variant.problem)
    step = steps[-1]
    training = run.training_until(step)
    is_evaluated = training.get("dev_step") == step
    return Result(
        step,
        training.get("seconds", 0.0),
        num_parameters(run, step),
        training["dev"]["perplexity"] if is_evaluated else None,
        scores_of(run, step, row.variant.problem),
    )


def is_trained(row, result):
    """Returns whether a row has all its updates and their evaluation."""
    return (
        result is not None
        and result.step == row.hparams.train_steps
        and result.perplexity is not None
    )


def _check_data(run, problem):
    """Checks that a run was trained on the data that a problem has now."""
    if changed := changed_data(run, problem):
        raise ValueError(
            "The data of a row must not change in a sweep. Received: "
            f"{problem.directory}, whose {changed} differ from what {run.path} "
            "records. Use the earlier data, or another --output_dir."
        )


def scores_of(run, step, problem):
    """Returns the scores that kt-evaluate measures without further flags.

    Args:
        run: A `RunDirectory`.
        step: Step of the checkpoint.
        problem: The `Problem` of the run.

    Returns:
        A dictionary of the name of a split to its scores by name.
    """
    scores = {}
    for split, entries in read_scores(run).items():
        # kt-evaluate may also have scored other texts and checkpoints, or have
        # had other options.
        entries = [
            entry
            for entry in entries
            if entry["step"] == step
            and _is_own_search(entry, run.hparams)
            and _is_own_measure(entry, problem)
        ]
        if split in SPLITS and entries:
            scores[split] = entries[-1]
    return scores


def _is_own_search(entry, hparams):
    own = dataclasses.asdict(DecodeOptions.from_hparams(hparams))
    return all(
        value == own.get(name, value) for name, value in entry["decode"].items()
    )


def _is_own_measure(entry, problem):
    """Returns whether the first measure is that of kt-evaluate by default."""
    own = {"case": "mixed", "tok": problem.bleu_tokenizer}
    first = signature("".join(entry["lines"][:1]))
    options = (option.partition(":") for option in first.split("|"))
    return all(value == own.get(name, value) for name, _, value in options)
