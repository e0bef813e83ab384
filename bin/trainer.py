"""Trains a model on a problem, or goes on with a training that was stopped.

    kt-trainer --problem=translate_ende_toy --generate_data \\
        --data_dir=data --output_dir=run --hparams_set=transformer_tiny

The run's directory (--output_dir) receives checkpoints, metrics.csv,
learning_curve.png, TensorBoard logs and sample translations, and all that
kt-decoder and kt-evaluate need. The same command resumes a run, from its
newest checkpoint; so does --output_dir alone. Progress goes to standard
error, the figures of the last evaluation to standard output as JSON.
Control-C and SIGTERM save a checkpoint first; the exit status is then 128 plus
the signal's number.

Trains on all GPUs of the machine, and with the environment variable TF_CONFIG
on several machines, which share --output_dir. --batch_tokens is what one device
takes at once, --effective_batch_tokens what an update sees: the rest is
gradient accumulation, and the update is the same on any number of devices.
With KERAS_BACKEND=jax it trains on JAX, and needs no TensorFlow.
"""

import dataclasses
import json
import os
import time

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.bin import flags

flags.define(
    "problem",
    "data_dir",
    "tmp_dir",
    "output_dir",
    "hparams_set",
    "hparams",
    "generate_data",
    "train_steps",
    "batch_tokens",
    "effective_batch_tokens",
    "precision",
    "xla",
    "worker_gpu",
    "warm_start_from",
    "eval_frequency",
    "early_stopping_metric",
    "early_stopping_patience",
    "keep_checkpoint_max",
    "keep_checkpoint_every_n_hours",
    "save_checkpoints_secs",
    "profile_steps",
    "random_seed",
)
FLAGS = flags.FLAGS
SECONDS_TO_WAIT = 60  # for the chief to make the run's directory


def main(argv):
    flags.require("output_dir")
    from keras_transformer.runs.run_directory import RunDirectory

    is_new = not RunDirectory.exists(FLAGS.output_dir)
    earlier_run = None if is_new else RunDirectory(FLAGS.output_dir)
    if is_new:
        flags.require("problem", "hparams_set", "data_dir")
    given = {
        name: FLAGS[name].value
        for name in ("problem", "hparams_set", "data_dir", "random_seed")
        if FLAGS[name].value is not None
    }
    record = {} if is_new else earlier_run.record
    settings = {"random_seed": 0, **record, **given}
    hparams = _hparams(settings, earlier_run)
    options = _options()
    problem = registry.get_problem(
        settings["problem"], os.path.abspath(settings["data_dir"])
    )
    if FLAGS.generate_data:
        problem.generate(FLAGS.tmp_dir)
    _check_batches(problem, hparams)
    _check_warm_start(problem, hparams)
    flags.load_backend()
    from keras_transformer.engines.make_engine import make_engine
    from keras_transformer.engines.precision import resolve_precision
    from keras_transformer.training.trainer import Trainer

    if FLAGS.precision != "auto" or is_new:
        settings["precision"] = resolve_precision(FLAGS.precision)
    precision = settings.setdefault("precision", "float32")
    if FLAGS.batch_tokens == "auto" and is_new:
        hparams = _fitting(problem, hparams, precision)
    engine = make_engine(hparams, precision, FLAGS.worker_gpu, FLAGS.xla)
    run = _open_run(problem, hparams, settings, engine.is_chief, is_new)
    trainer = Trainer(problem, run, engine, **options)
    results = trainer.train(FLAGS.train_steps or hparams.train_steps)
    if engine.is_chief:
        print(json.dumps({"step": trainer.step, **results}))
    return 128 + trainer.stop_signal if trainer.stop_signal else 0


def _hparams(settings, earlier_run):
    hparams = earlier_run and earlier_run.hparams
    if not earlier_run or FLAGS.hparams_set or FLAGS.hparams:
        hparams = registry.get_hparams(settings["hparams_set"])
        hparams = hparam.parse_overrides(hparams, FLAGS.hparams)
    names = ("batch_tokens", "effective_batch_tokens")
    given = {name: FLAGS[name].value for name in names}
    if given["batch_tokens"] == "auto":
        # What was found then; for now, anything that fits the update.
        most = given["effective_batch_tokens"] or None
        given["batch_tokens"] = (
            earlier_run.hparams.batch_tokens if earlier_run else most
        )
    overrides = [f"{n}={v}" for n, v in given.items() if v is not None]
    return hparam.parse_overrides(hparams, ",".join(overrides))


def _options():
    names = (
        "eval_frequency",
        "keep_checkpoint_max",
        "keep_checkpoint_every_n_hours",
        "save_checkpoints_secs",
        "early_stopping_metric",
        "early_stopping_patience",
        "warm_start_from",
    )
    options = {name: FLAGS[name].value for name in names}
    return {**options, "profile_steps": _profile_steps()}


def _profile_steps():
    if not FLAGS.profile_steps:
        return ()
    try:
        first, last = map(int, FLAGS.profile_steps.split(","))
    except ValueError:
        first, last = 0, 0
    if not 1 <= first <= last:
        raise ValueError(
            "`--profile_steps` must be the first and the last update to "
            f"profile. Received: --profile_steps={FLAGS.profile_steps}. Write "
            "for example --profile_steps=10,20."
        )
    return first, last


def _check_batches(problem, hparams):
    # Here, so that nothing is written for a run that cannot begin.
    update_tokens = hparams.effective_batch_tokens or hparams.batch_tokens
    problem.batches(
        "train", update_tokens, hparams.max_length, packed=hparams.packed
    )
    problem.evaluation_batches(hparams.batch_tokens)


def _check_warm_start(problem, hparams):
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.runs.weights import check_warm_start

    if FLAGS.warm_start_from:
        other = RunDirectory(FLAGS.warm_start_from)
        check_warm_start(problem.vocabulary, hparams, other)


def _fitting(problem, hparams, precision):
    """The hparams with the largest batch that fits into a device's memory."""
    from keras_transformer.engines.largest_batch import largest_batch_tokens

    tokens = largest_batch_tokens(
        hparams, problem.vocabulary.vocab_size, precision, FLAGS.xla
    )
    return dataclasses.replace(hparams, batch_tokens=tokens)


def _open_run(problem, hparams, settings, is_chief, is_new):
    from keras_transformer.runs.model_card import describe_data
    from keras_transformer.runs.run_directory import RunDirectory

    record = {
        "problem": problem.name,
        "hparams_set": settings["hparams_set"],
        "random_seed": settings["random_seed"],
        "vocabulary_sha256": problem.vocabulary.sha256,
        "precision": settings["precision"],
    }
    if is_new and is_chief:
        record["data_dir"] = problem.data_dir
        record["data"] = describe_data(problem)
        return RunDirectory.create(
            FLAGS.output_dir, record, hparams, problem.vocabulary.model_bytes
        )
    end = time.monotonic() + SECONDS_TO_WAIT
    while not RunDirectory.exists(FLAGS.output_dir) and time.monotonic() < end:
        time.sleep(0.1)  # until the chief has made it
    run = RunDirectory(FLAGS.output_dir)
    run.check_same(record, hparams)
    run.hparams = hparams  # what may differ is as it was asked for now
    return run


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
