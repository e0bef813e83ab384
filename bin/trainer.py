"""Trains a model on a problem, or resumes a run that was stopped.

    kt-trainer --problem=translate_ende_toy --generate_data \\
        --data_dir=data --output_dir=run --hparams_set=transformer_tiny

The command writes checkpoints, metrics.csv, learning_curve.png, TensorBoard
logs and sample translations to the run's directory, --output_dir. kt-decoder
needs nothing else, and kt-evaluate also reads the problem's data. Progress goes
to standard error. The last metrics go to standard output as one line of JSON.

The same command resumes the run from its newest checkpoint; --output_dir alone
is enough. On Control-C or SIGTERM the command saves a checkpoint and exits; its
exit status is 128 plus the signal's number.

Training uses all GPUs of the machine. If the environment variable TF_CONFIG
lists several machines, it uses all of these; they must share --output_dir.
--effective_batch_tokens sets the number of tokens in an update, and
--batch_tokens the number of positions that a device takes at once. Devices
accumulate gradients over several rounds if need be. An update is the same on
any number of devices.

With KERAS_BACKEND=jax the command trains on JAX and needs no TensorFlow.
"""

import dataclasses
import json
import os
import sys

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend
from keras_transformer.engines import cluster
from keras_transformer.errors import UserError
from keras_transformer.runs.data_record import describe_data
from keras_transformer.training import profiler
from keras_transformer.training import start
from keras_transformer.training.options import TrainingOptions
from keras_transformer.training.recommendation import recommend

# Positions per side that --batch_tokens=auto takes at most, if they make up the
# whole update.
MAX_TOKENS = 25000
# Settings that every training run needs.
NEEDED = ("problem", "hparams_set", "data_dir")
MEASURES = ["bleu", "chrf", "ter", "f1", "loss"]
FLAGS = flags.define(
    flags.group(
        "Getting started",
        problem=flags.text(
            "Name of the problem. The suffix _rev swaps source and target, and "
            "_both stands for both directions together. Default: the problem "
            "of the run in output_dir."
        ),
        generate_data=flags.switch(
            "Generate the data first, unless data_dir holds it already."
        ),
        data_dir=flags.SHARED,
        output_dir=flags.SHARED,
        hparams_set=flags.text(
            "Name of the hparams set, which fixes the model and its training. "
            "Default: the set of the run in output_dir, or the values of the "
            "run in warm_start_from."
        ),
        hparams=flags.SHARED,
        train_steps=flags.count(
            "Total number of updates, which includes those before a resume. "
            "Default: train_steps of the hparams set."
        ),
        # In the first group, as it lists values of --problem and --hparams_set.
        registry_help=flags.SHARED,
    ),
    flags.group("Data", tmp_dir=flags.SHARED, usr_dir=flags.SHARED),
    flags.group(
        "Model",
        warm_start_from=flags.path(
            "Directory of a run with the same architecture, whose weights a "
            "new run starts from. Default: none."
        ),
        random_seed=flags.seed(
            "Seed of the initial weights, of dropout and of the order of the "
            "data. Default: the seed of the run in output_dir, or 0."
        ),
    ),
    flags.group(
        "Batch",
        batch_tokens=flags.count_or(
            "auto",
            "Maximum number of positions per side that a device processes at "
            "once, or auto for the most that fit into its memory. Default: "
            "batch_tokens of the hparams set.",
        ),
        effective_batch_tokens=flags.whole(
            "Mean number of tokens in an update, on any number of devices. "
            "Padding does not count. Source or target counts, whichever has "
            "more. Gradients are accumulated over as many rounds as needed. 0 "
            "makes an update of batch_tokens positions. Default: "
            "effective_batch_tokens of the hparams set."
        ),
    ),
    # The defaults are those of a `Trainer` in Python.
    flags.group(
        "Checkpoints",
        eval_frequency=flags.count(
            "Number of updates between two evaluations. Each evaluation writes "
            "a checkpoint.",
            default=TrainingOptions.eval_frequency,
        ),
        timed_checkpoint_minutes=flags.amount(
            "Minutes of training between two checkpoints for "
            "kt-avg-checkpoints --checkpoints=timed; 0 makes none. They are "
            "not evaluated.",
            default=TrainingOptions.timed_checkpoint_minutes,
        ),
        measure=flags.choice(
            MEASURES,
            "Figure on dev that decides which checkpoint is best: bleu, chrf, "
            "ter, f1 or loss. Default: the measure of the run in output_dir, "
            "or the problem's, which is bleu or f1.",
        ),
        keep_checkpoint_max=flags.count(
            "Number of newest evaluated checkpoints to keep, and of newest "
            "timed ones.",
            default=TrainingOptions.keep_checkpoint_max,
        ),
        keep_checkpoint_every_n_hours=flags.amount(
            "Hours of training between two checkpoints that are kept for ever; "
            "0 keeps none for ever.",
            default=TrainingOptions.keep_checkpoint_every_n_hours,
        ),
        save_checkpoints_secs=flags.amount(
            "Maximum number of seconds between two checkpoints, if evaluations "
            "are less frequent.",
            default=TrainingOptions.save_checkpoints_secs,
        ),
    ),
    flags.group(
        "Stopping",
        early_stopping_metric=flags.choice(
            ["none", "measure", *MEASURES],
            "Metric on dev that must improve for the training to continue: "
            "measure for that of --measure, loss, a score of the problem (ter "
            "only with --measure=ter), or none to train for all train_steps.",
            default=TrainingOptions.early_stopping_metric,
        ),
        early_stopping_patience=flags.count(
            "Number of evaluations in a row without an improvement after which "
            "the training stops.",
            default=TrainingOptions.early_stopping_patience,
        ),
    ),
    flags.group(
        "Devices",
        worker_gpu=flags.SHARED,
        precision=flags.SHARED,
        xla=flags.SHARED,
        device=flags.text(
            "Device that the training cost is computed for, such as P100, or "
            "its sustained FLOP/s, such as 9.5e12. Without it, the GPU is "
            "recognised by its name.",
            default=TrainingOptions.device,
        ),
    ),
    flags.group(
        "Debugging",
        profile_steps=flags.text(
            "First and last update to profile for TensorBoard, such as 10,20. "
            "Default: none."
        ),
    ),
)


def main(argv):
    flags.require(FLAGS, "output_dir")
    _check_recorded_paths()
    # Before the data, which can take hours to generate.
    read_backend()
    # Only the chief writes, and the other machines share the directory.
    is_chief = cluster.read_cluster().worker == 0
    with start.lock_run(FLAGS.output_dir, is_chief):
        return _train(is_chief)


def _train(is_chief):
    earlier_run = start.open_earlier_run(FLAGS.output_dir)
    settings = _merge_settings(earlier_run)
    _require(settings, earlier_run)
    # A run that saved no checkpoint starts over, so that its flags can be
    # corrected; nothing is lost.
    is_new = not start.has_checkpoint(FLAGS.output_dir)
    hparams = _make_hparams(settings["hparams_set"], earlier_run, is_new)
    options = _make_options(settings)
    start.check_device(options["device"])
    # The run records this path, and another command may start elsewhere.
    data_dir = os.path.abspath(settings["data_dir"])
    problem = registry.get_problem(settings["problem"], data_dir)
    if FLAGS.generate_data:
        problem.generate(flags.find_tmp_dir(FLAGS))
    start.check_data(problem, hparams)
    measure = settings["measure"] or problem.measure
    start.check_metrics(problem, measure, options["early_stopping_metric"])
    start.check_vocabularies(problem, hparams)
    path = FLAGS.output_dir if is_chief else None
    start.check_memory(hparams, problem.vocabularies.sizes, path)
    record = _make_record(problem, settings)
    if is_new:
        record |= _check_beginning(
            problem, hparams, options["warm_start_from"], is_chief
        )
    else:
        start.check_resumed(earlier_run, problem, record, hparams, measure)
    # Loading the backend takes seconds, so bad input has failed above.
    load_backend()
    from keras_transformer.engines.make_engine import make_engine
    from keras_transformer.engines.make_engine import resolve_precision
    from keras_transformer.training.trainer import Trainer

    record["precision"] = resolve_precision(record["precision"])
    if FLAGS.batch_tokens == "auto" and is_new:
        hparams = _fit_batch_tokens(problem, hparams, record["precision"])
    engine = make_engine(
        hparams, record["precision"], FLAGS.worker_gpu, FLAGS.xla
    )
    open_run = start.create_run if is_new and is_chief else start.resume_run
    run = open_run(FLAGS.output_dir, problem, record, hparams, measure)
    trainer = Trainer(problem, run, engine, **options)
    results = trainer.train(FLAGS.train_steps or hparams.train_steps)
    # One machine prints the line, however many take part.
    if is_chief:
        print(json.dumps({"step": trainer.step, **results}))
    return _report_stop(trainer)


def _check_beginning(problem, hparams, origin, is_chief):
    """Checks what a new run starts from; returns its entries of `run.json`."""
    start.check_warm_start(hparams, origin)
    if origin:
        return {"warm_start_from": os.path.abspath(origin)}
    # The recommended recipes are for translation.
    if is_chief and problem.measure == "bleu":
        splits = describe_data(problem)["splits"]
        if advice := recommend(splits["train"]["pairs"], hparams.d_model):
            print(advice, file=sys.stderr)
    return {}


def _report_stop(trainer):
    """Returns the exit status, and reports what was kept after a signal."""
    if not trainer.stop_signal:
        return 0
    print(
        f"kt-trainer: stopped. The checkpoint of step {trainer.step} is kept. "
        "The same command resumes the run.",
        file=sys.stderr,
    )
    # A shell uses the same number for a process that a signal ended.
    return 128 + trainer.stop_signal


def _check_recorded_paths():
    for name in ("data_dir", "warm_start_from"):
        path = FLAGS[name].value
        try:
            os.path.abspath(path or "/").encode()
        except UnicodeEncodeError as error:
            raise UserError(
                f"The path of `{name}` must be UTF-8, because run.json records "
                f"it. Received: {name}={path!r} in {os.getcwd()!r}. Rename the "
                "directory, or make a link to it."
            ) from error


def _merge_settings(earlier_run):
    """Returns the settings of a run by name; flags win over `run.json`."""
    from_flags = {
        name: FLAGS[name].value
        for name in (*NEEDED, "random_seed", "measure")
        if FLAGS[name].value is not None  # 0 is a seed
    }
    if FLAGS.precision != "auto" or not earlier_run:
        from_flags["precision"] = FLAGS.precision
    record = earlier_run.record if earlier_run else {}
    # The first versions recorded no precision, since they computed in float32.
    defaults = {"random_seed": 0, "precision": "float32", "measure": None}
    return {"hparams_set": None, **defaults, **record, **from_flags}


def _require(settings, earlier_run):
    missing = [name for name in NEEDED if not settings.get(name)]
    # The hparams can be those of the run whose weights this one starts with.
    if "hparams_set" in missing and (earlier_run or FLAGS.warm_start_from):
        missing.remove("hparams_set")
    flags.require(FLAGS, *missing)


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


def _make_hparams(hparams_set, earlier_run, is_new):
    # The registered set may have changed since the run began.
    is_unchanged = not FLAGS.hparams_set and not FLAGS.hparams
    if earlier_run and (is_unchanged or not hparams_set):
        hparams = earlier_run.hparams
    elif hparams_set:
        hparams = registry.get_hparams(hparams_set)
    else:
        # The weights that the run starts with include any adapters.
        other = start.open_warm_start(FLAGS.warm_start_from)
        hparams = other.hparams.without_lora()
    hparams = hparam.parse_overrides(hparams, FLAGS.hparams)
    tokens = FLAGS.batch_tokens
    if tokens == "auto":
        # A new run checks its data with the most that auto can choose.
        tokens = MAX_TOKENS if is_new else earlier_run.hparams.batch_tokens
    batch = {
        "batch_tokens": tokens,
        "effective_batch_tokens": FLAGS.effective_batch_tokens,
    }
    batch = {name: value for name, value in batch.items() if value is not None}
    hparams = dataclasses.replace(hparams, **batch)
    _check_decay(hparams)
    return hparams


def _check_decay(hparams):
    train_steps = FLAGS.train_steps or hparams.train_steps
    if 0 < hparams.decay_steps < train_steps:
        raise UserError(
            "`train_steps` must be at most `decay_steps`, after which the "
            f"learning rate is 0. Received: train_steps={train_steps}, "
            f"decay_steps={hparams.decay_steps}. Set --train_steps, or "
            f"--hparams=decay_steps={train_steps}."
        )


def _make_options(settings):
    # Every option has a flag of its name.
    names = [option.name for option in dataclasses.fields(TrainingOptions)]
    options = {name: FLAGS[name].value for name in names}
    options["profile_steps"] = profiler.parse_steps(FLAGS.profile_steps)
    # A run that ended before its first checkpoint still records it.
    recorded = settings.get("warm_start_from", "")
    options["warm_start_from"] = FLAGS.warm_start_from or recorded
    return options


def _fit_batch_tokens(problem, hparams, precision):
    """Returns the hparams with the largest batch that fits into memory."""
    from keras_transformer.engines.largest_batch import largest_batch_tokens

    max_tokens = MAX_TOKENS
    if hparams.effective_batch_tokens:
        max_tokens = problem.update_positions(hparams)
    tokens = largest_batch_tokens(
        hparams, problem.vocabularies.sizes, precision, max_tokens, FLAGS.xla
    )
    # An evaluation has batches of this size and leaves no sentence out.
    longest = max(side.lengths.max() for side in problem.token_pairs("dev"))
    return dataclasses.replace(hparams, batch_tokens=max(tokens, int(longest)))


run = command.make_script(main, FLAGS)
