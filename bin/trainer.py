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
    held = _held_record()
    for name in ("problem", "hparams_set", "data_dir"):
        if not held:
            flags.require(name)
    hparams = _hparams(held)
    data_dir = os.path.abspath(FLAGS.data_dir or held["data_dir"])
    problem = registry.get_problem(FLAGS.problem or held["problem"], data_dir)
    if FLAGS.generate_data:
        problem.generate(FLAGS.tmp_dir)
    _check_batches(problem, hparams)
    run = _open_run(problem, hparams, held)

    flags.load_tensorflow()
    from keras_transformer.training import Trainer

    trainer = Trainer(
        problem, run, FLAGS.eval_frequency, FLAGS.keep_checkpoint_max
    )
    results = trainer.train(FLAGS.train_steps or hparams.train_steps)
    print(json.dumps({"step": trainer.step, **results}))
    return 128 + trainer.stop_signal if trainer.stop_signal else 0


def _held_record():
    path = os.path.join(FLAGS.output_dir, "run.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _hparams(held):
    if held and not FLAGS.hparams_set and not FLAGS.hparams:
        path = os.path.join(FLAGS.output_dir, "hparams.json")
        with open(path, encoding="utf-8") as file:
            return hparam.from_json(file.read())
    named = FLAGS.hparams_set or held["hparams_set"]
    return hparam.parse_overrides(registry.get_hparams(named), FLAGS.hparams)


def _check_batches(problem, hparams):
    # Here, so that nothing is written for a run that cannot begin.
    problem.batches("train", hparams.batch_tokens, hparams.max_length)
    problem.batches("dev", hparams.batch_tokens)


def _open_run(problem, hparams, held):
    from keras_transformer.run_directory import RunDirectory

    record = {
        "problem": problem.name,
        "hparams_set": FLAGS.hparams_set or held["hparams_set"],
        "random_seed": FLAGS.random_seed,
        "vocabulary_sha256": problem.vocabulary.sha256,
    }
    if held:
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
