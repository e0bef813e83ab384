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
"""

import json
import os

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
    "eval_frequency",
    "keep_checkpoint_max",
    "random_seed",
)
FLAGS = flags.FLAGS


def main(argv):
    flags.require("output_dir")
    known = _known()
    if not known:
        flags.require("problem", "hparams_set", "data_dir")
    given = {
        name: FLAGS[name].value
        for name in ("problem", "hparams_set", "data_dir", "random_seed")
        if FLAGS[name].value is not None
    }
    settings = {"random_seed": 0, **known, **given}
    hparams = _hparams(settings, is_new=not known)
    problem = registry.get_problem(
        settings["problem"], os.path.abspath(settings["data_dir"])
    )
    if FLAGS.generate_data:
        problem.generate(FLAGS.tmp_dir)
    _check_batches(problem, hparams)
    run = _open_run(problem, hparams, settings, is_new=not known)
    flags.load_tensorflow()
    from keras_transformer.training import Trainer

    trainer = Trainer(
        problem, run, FLAGS.eval_frequency, FLAGS.keep_checkpoint_max
    )
    results = trainer.train(FLAGS.train_steps or hparams.train_steps)
    print(json.dumps({"step": trainer.step, **results}))
    return 128 + trainer.stop_signal if trainer.stop_signal else 0


def _known():
    """What the run's directory says of the run; nothing for a new one."""
    path = os.path.join(FLAGS.output_dir, "run.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _hparams(settings, is_new):
    if is_new or FLAGS.hparams_set or FLAGS.hparams:
        named = registry.get_hparams(settings["hparams_set"])
        return hparam.parse_overrides(named, FLAGS.hparams)
    path = os.path.join(FLAGS.output_dir, "hparams.json")
    with open(path, encoding="utf-8") as file:
        return hparam.from_json(file.read())


def _check_batches(problem, hparams):
    # Here, so that nothing is written for a run that cannot begin.
    problem.batches("train", hparams.batch_tokens, hparams.max_length)
    problem.batches("dev", hparams.batch_tokens)


def _open_run(problem, hparams, settings, is_new):
    from keras_transformer.run_directory import RunDirectory

    record = {
        "problem": problem.name,
        "hparams_set": settings["hparams_set"],
        "random_seed": settings["random_seed"],
        "vocabulary_sha256": problem.vocabulary.sha256,
    }
    if not is_new:
        run = RunDirectory(FLAGS.output_dir)
        run.check_same(record, hparams)
        return run
    record["data_dir"] = problem.data_dir
    return RunDirectory.create(
        FLAGS.output_dir, record, hparams, problem.vocabulary.model_bytes
    )


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
