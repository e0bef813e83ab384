"""Training, started by one function."""

import dataclasses
import math
import os
import sys
import typing

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.data.generation import generation
from keras_transformer.errors import UserError
from keras_transformer.formats.demo import find_directory
from keras_transformer.runs.data_record import describe_data
from keras_transformer.training import start
from keras_transformer.training.backends.cluster import read_cluster
from keras_transformer.training.options import StartOptions
from keras_transformer.training.options import TrainingOptions

if typing.TYPE_CHECKING:
    from collections.abc import Callable

    from keras_transformer.problem import Problem
    from keras_transformer.training.trainer import Trainer

# Positions per side that batch_tokens="auto" takes at most, if they make up the
# whole update.
MAX_TOKENS = 25000
# Numbers of pairs from which docs/which_recipe.md recommends another set.
FEW_PAIRS = 500_000  # for a model as wide as base
MANY_PAIRS = 2_000_000  # for a narrower one
WIDE = 512  # d_model of base
# The flags of kt-trainer for at most this many pairs of training.
RECIPES = {
    20_000: (
        "--hparams_set=transformer_low_resource "
        "--hparams=consistency=r_drop,dropout=0.2,batch_tokens=1024"
    ),
    60_000: "--hparams_set=transformer_low_resource",
    MANY_PAIRS: "--hparams_set=transformer_low_resource --hparams=dropout=0.1",
    math.inf: "--hparams_set=transformer_base",
}
# Settings that every run needs.
NEEDED = ("problem", "hparams_set", "data_dir")


def train(
    problem: "Problem | str | None",
    hparams: hparam.HParams | str | None,
    output_dir: str,
    load_backend: "Callable[[], object] | None" = None,
    **options: typing.Any,
) -> "Trainer":
    """Begins a run or resumes it, and trains its model; kt-trainer calls this.

    All settings, the data, the memory and the directory are checked before the
    backend is loaded. A run that exists is resumed from its newest checkpoint
    and keeps its settings. SIGINT, SIGTERM and SIGHUP end the training after an
    update, with a checkpoint, so this must be called from the main thread.

    Args:
        problem: A `Problem` or its name. None is the problem of the run.
        hparams: An `HParams` or the name of an hparams set. None is for the
            hyper-parameters of the run, or of `warm_start_from`, which the
            option `overrides` then changes.
        output_dir: Directory of the run.
        load_backend: Function that imports Keras when all checks are passed.
            Defaults to None, for a plain import.
        **options: Fields of `StartOptions`, such as `train_steps`, and of
            `TrainingOptions`, such as `eval_frequency`.

    Returns:
        The `Trainer` after its last update. It has the metrics of the last
        evaluation, `results`, and the signal that stopped it, `stop_signal`.

    Raises:
        UserError: If a setting is missing, wrong or not the run's, if data,
            memory or disk do not suffice, or if the loss is not finite.

    Example:

        trainer = train("copy", "transformer_tiny", "run", data_dir="data")
        trainer.results["dev_bleu"]
    """
    chosen = StartOptions(**options)
    start.check_recorded_paths(chosen)
    # Only the chief writes, and the other machines share the directory.
    is_chief = read_cluster().worker == 0
    with start.lock_run(output_dir, is_chief):
        run = start.open_earlier_run(output_dir)
        # A run that saved no checkpoint starts over, so that its settings can
        # be corrected; nothing is lost.
        is_new = not (run and run.checkpoints.steps)
        settings = _merge_settings(problem, hparams, chosen, run)
        # A run that ended before its first checkpoint still records it.
        origin = find_directory(settings["warm_start_from"])
        chosen = dataclasses.replace(chosen, warm_start_from=origin)
        hparams = _make_hparams(hparams, settings, chosen, run, is_new)
        train_steps = hparam.find_train_steps(hparams, chosen.train_steps)
        problem = _open_problem(
            problem, settings, chosen.tmp_dir, is_new, output_dir
        )
        measure = settings["measure"] or problem.measure
        start.check_data(problem, hparams, output_dir if is_chief else None)
        start.check_metrics(problem, measure, chosen.early_stopping_metric)
        record = _make_record(problem, settings)
        if is_new:
            record |= _check_beginning(problem, hparams, chosen, is_chief)
        else:
            start.check_resumed(run, problem, record, hparams, measure)
        # Loading the backend takes seconds, so bad input has failed above.
        if load_backend:
            load_backend()
        from keras_transformer.training.trainer import Trainer

        hparams, backend = _make_backend(
            problem, hparams, record, chosen, is_new
        )
        open_run = start.create_run if is_new and is_chief else start.resume_run
        run = open_run(output_dir, problem, record, hparams, measure)
        names = [field.name for field in dataclasses.fields(TrainingOptions)]
        of_trainer = {name: getattr(chosen, name) for name in names}
        trainer = Trainer(problem, run, backend, **of_trainer)
        trainer.train(train_steps)
    return trainer


def _open_problem(problem, settings, tmp_dir, is_new, output_dir):
    """Returns the problem; generates its data first if there is a `tmp_dir`."""
    if isinstance(problem, str | None):
        name, data_dir = settings["problem"], settings["data_dir"]
        problem = registry.get_problem(name, data_dir)
    # A run that resumes needs its data as they are, even if the text changed.
    has_data = not is_new and generation.read_manifest(problem.directory)
    if tmp_dir is not None and not has_data:
        start.check_separate(output_dir, problem)
        problem.generate(tmp_dir)
    return problem


def _merge_settings(problem, hparams, options, earlier_run):
    """Returns the settings by name; those given win over `run.json`."""
    is_named = isinstance(problem, str | None)
    given = {
        "problem": problem if is_named else problem.name,
        "hparams_set": None if isinstance(hparams, hparam.HParams) else hparams,
        "data_dir": options.data_dir if is_named else problem.data_dir,
        "random_seed": options.random_seed,
        "measure": options.measure,
        "warm_start_from": options.warm_start_from or None,
    }
    if options.data_dir and not is_named:
        raise UserError(
            "`data_dir` must be the problem's. Received: data_dir="
            f"{options.data_dir!r} and a Problem. Leave it out, or name the "
            "problem."
        )
    if options.precision != "auto" or not earlier_run:
        given["precision"] = options.precision
    given = {name: value for name, value in given.items() if value is not None}
    record = earlier_run.record if earlier_run else {}
    # The first versions recorded no precision, since they computed in float32.
    defaults = {"random_seed": 0, "precision": "float32"}
    defaults |= {"measure": None, "warm_start_from": ""}
    settings = {**dict.fromkeys(NEEDED), **defaults, **record, **given}
    missing = [name for name in NEEDED if not settings[name]]
    if "hparams_set" in missing and (
        hparams or earlier_run or options.warm_start_from
    ):
        missing.remove("hparams_set")
    if missing:
        raise start.MissingSetting(missing[0])
    # The run records this path, and another command may start elsewhere.
    settings["data_dir"] = os.path.abspath(settings["data_dir"])
    return settings


def _make_hparams(hparams, settings, options, earlier_run, is_new):
    hparams_set = settings["hparams_set"]
    if earlier_run and not hparams:
        # The values may differ from the set, which may also have changed since.
        hparams = earlier_run.hparams
    elif not hparams and not hparams_set:
        # The weights that the run starts with include any adapters.
        other = start.open_warm_start(options.warm_start_from)
        hparams = other.hparams.without_lora()
    elif not isinstance(hparams, hparam.HParams):
        hparams = registry.get_hparams(hparams_set)
        if not is_new:
            train_steps = earlier_run.hparams.train_steps
            hparams = dataclasses.replace(hparams, train_steps=train_steps)
    hparams = hparam.parse_overrides(hparams, options.overrides)
    tokens = options.batch_tokens
    if tokens == "auto":
        # A new run checks its data with the most that auto can choose.
        tokens = MAX_TOKENS if is_new else earlier_run.hparams.batch_tokens
    changes = {
        "batch_tokens": tokens,
        "effective_batch_tokens": options.effective_batch_tokens,
        "train_minutes": options.train_minutes,
        "train_steps": options.train_steps,
    }
    changes = {name: v for name, v in changes.items() if v is not None}
    return dataclasses.replace(hparams, **changes)


def _make_record(problem, settings):
    """Returns the entries of `run.json` that stay the same when resuming."""
    return {
        "problem": problem.name,
        "hparams_set": settings["hparams_set"],
        "random_seed": settings["random_seed"],
        **problem.vocabularies.hashes,
        "corpus_weights": problem.corpus_weights,
        "precision": settings["precision"],
    }


def _make_backend(problem, hparams, record, options, is_new):
    """Returns the backend and its hparams; completes the record of the run."""
    # Imported here because it imports Keras and its backend.
    from keras_transformer.training.backends.make_backend import make_backend
    from keras_transformer.training.backends.make_backend import (
        resolve_precision,
    )

    precision = record["precision"] = resolve_precision(record["precision"])
    if options.batch_tokens == "auto" and is_new:
        hparams = _fit_batch_tokens(problem, hparams, precision, options.xla)
    backend = make_backend(hparams, precision, options.worker_gpu, options.xla)
    return hparams, backend


def _fit_batch_tokens(problem, hparams, precision, xla):
    """Returns the hparams with the largest batch that fits into memory."""
    from keras_transformer.training.backends.largest_batch import (
        largest_batch_tokens,
    )

    max_tokens = MAX_TOKENS
    if hparams.effective_batch_tokens:
        max_tokens = problem.update_positions(hparams)
    tokens = largest_batch_tokens(
        hparams, problem.vocabularies.sizes, precision, max_tokens, xla
    )
    # An evaluation has batches of this size and leaves no sentence out.
    longest = max(side.lengths.max() for side in problem.token_pairs("dev"))
    return dataclasses.replace(hparams, batch_tokens=max(tokens, int(longest)))


def _check_beginning(problem, hparams, options, is_chief):
    """Checks what a new run starts from; returns its entries of `run.json`."""
    origin = start.check_warm_start(hparams, options.warm_start_from)
    if origin:
        return origin
    # The recommended recipes are for translation.
    if is_chief and problem.measure == "bleu":
        splits = describe_data(problem)["splits"]
        if advice := recommend(splits["train"]["pairs"], hparams.d_model):
            print(advice, file=sys.stderr)
    return {}


def recommend(num_pairs, d_model):
    """Returns a message that recommends another set, or None if this one fits.

    >>> print(recommend(29000, 512))
    29,000 pairs are few for a model of d_model 512. Consider \
--hparams_set=transformer_low_resource; see docs/which_recipe.md.
    >>> recommend(29000, 256)
    """
    if d_model >= WIDE and num_pairs < FEW_PAIRS:
        amount = "few"
    elif d_model < WIDE and num_pairs > MANY_PAIRS:
        amount = "many"
    else:
        return None
    flags = next(RECIPES[limit] for limit in RECIPES if num_pairs <= limit)
    return (
        f"{num_pairs:,} pairs are {amount} for a model of d_model {d_model}. "
        f"Consider {flags}; see docs/which_recipe.md."
    )
