"""Trains a model on a problem, or resumes a run that was stopped.

    kt-trainer --problem=translate_ende_toy --generate_data \\
        --data_dir=data --output_dir=run --hparams_set=transformer_tiny

The command writes checkpoints, metrics.csv, learning_curve.png, TensorBoard
logs and sample translations to the run's directory, --output_dir. kt-decoder
needs nothing else, and kt-evaluate also reads the problem's data. Progress goes
to standard error. The last metrics go to standard output as one line of JSON.

The same command resumes the run from its newest checkpoint; --output_dir alone
is enough. On Control-C, SIGTERM or when the terminal is closed (SIGHUP), the
command saves a checkpoint and exits; its exit status is 128 plus the signal's
number.

Training uses all GPUs of the machine. If the environment variable TF_CONFIG
lists several machines, it uses all of these; they must share --output_dir.
--effective_batch_tokens sets the number of tokens in an update, and
--batch_tokens the number of positions that a device takes at once. Devices
accumulate gradients over several rounds if need be. An update is the same on
any number of devices.

With KERAS_BACKEND=jax the command trains on JAX and needs no TensorFlow.
"""

import json
import sys

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend
from keras_transformer.scoring.measures import MEASURES
from keras_transformer.training.options import parse_profile_steps
from keras_transformer.training.start import MissingSetting
from keras_transformer.training.train import train

FLAGS = flags.define(
    f"""
Getting started:
  problem (text): Name of the problem. The suffix _rev swaps source and target,
    and _both stands for both directions together. Default: the problem of the
    run in output_dir.
  generate_data (switch): Generate the data first, unless data_dir holds it
    already.
  data_dir
  output_dir
  hparams_set (text): Name of the hparams set, which fixes the model and its
    training. Default: the values of the run in output_dir or in
    warm_start_from.
  hparams
  train_steps (count): Total number of updates, which includes those before a
    resume. Default: the run's, or else the hparams set's.
  train_minutes (amount, minimum 0.001): Minutes of training, however many
    updates they suffice for. The learning rate falls as a cosine of this time,
    to 0 at its end. Compiling counts; evaluations, checkpoints and pauses do
    not. Default: --train_steps decides.
  registry_help
Data:
  tmp_dir
  usr_dir
Model:
  warm_start_from (path): Directory of a run with the same architecture; a new
    run starts from its weights. Default: none.
  random_seed (seed): Seed of the initial weights, of dropout and of the order
    of the data. Default: the seed of the run in output_dir, or 0.
Batch:
  batch_tokens (count or auto): Maximum number of positions per side that a
    device processes at once, or auto for the most that fit into its memory.
    Default: batch_tokens of the hparams set.
  effective_batch_tokens (whole): Mean number of tokens in an update, on any
    number of devices. Padding does not count. Source or target counts,
    whichever has more. Gradients are accumulated over as many rounds as needed.
    0 makes an update of batch_tokens positions. Default: effective_batch_tokens
    of the hparams set.
Checkpoints:
  eval_frequency (count, default 1000): Number of updates between two
    evaluations. Each evaluation writes a checkpoint.
  eval_steps (whole): Maximum number of batches of an evaluation; 0 only writes
    the checkpoint. Default: all of dev.
  timed_checkpoint_minutes (amount, default 0): Minutes of training between two
    checkpoints for kt-avg-checkpoints --checkpoints=timed; 0 makes none. They
    are not evaluated.
  measure ({"|".join(MEASURES)}|loss): Metric on dev that decides which
    checkpoint is best. Default: the measure of the run in output_dir, or the
    problem's, which is bleu, exact_match or f1.
  keep_checkpoint_max (count, default 20): Number of newest evaluated
    checkpoints to keep, and of newest timed ones.
  keep_checkpoint_every_n_hours (amount, default 0): Hours of training between
    two checkpoints that are kept for ever; 0 keeps none for ever.
  save_checkpoints_secs (amount, default 600): Maximum number of seconds between
    two checkpoints, if evaluations are less frequent.
Stopping:
  early_stopping_metric (none|measure|{"|".join(MEASURES)}|loss, default none):
    Metric on dev that must improve for the training to continue: measure for
    the score that --measure names, loss, another score of the problem, or none
    to train for all train_steps.
  early_stopping_patience (count, default 10): Number of evaluations in a row
    without an improvement after which the training stops.
Devices:
  worker_gpu
  precision
  xla
  device (text, default ""): Device that the training cost is computed for, such
    as P100, or its sustained FLOP/s, such as 9.5e12. Without it, the GPU is
    recognised by its name.
Debugging:
  profile_steps (text): First and last update to profile for TensorBoard, such
    as 10,20. Default: none.
"""
)


def main(argv):
    flags.require(FLAGS, "output_dir")
    # Before the data, which can take hours to generate.
    read_backend()
    try:
        trainer = train(**_read_arguments(), load_backend=load_backend)
    except MissingSetting as error:
        flags.require(FLAGS, error.name)
        raise
    # One machine prints the line, however many take part.
    if trainer.backend.is_chief:
        print(json.dumps({"step": trainer.step, **trainer.results}))
    if not trainer.stop_signal:
        return 0
    kept = "No update was done. The same command begins the run."
    if trainer.step:
        kept = f"The checkpoint of step {trainer.step} is kept. "
        kept += "The same command resumes the run."
    print(f"kt-trainer: stopped. {kept}", file=sys.stderr)
    # A shell uses the same number for a process that a signal ended.
    return 128 + trainer.stop_signal


def _read_arguments():
    """Returns the arguments of `train` that the flags state, a dictionary."""
    names = [name for name in FLAGS if name not in flags.EVERYWHERE]
    values = {name: FLAGS[name].value for name in names}
    generates = values.pop("generate_data")
    values["tmp_dir"] = flags.find_tmp_dir(FLAGS) if generates else None
    values["profile_steps"] = parse_profile_steps(FLAGS.profile_steps)
    values["overrides"] = values["hparams"]
    values["hparams"] = values.pop("hparams_set")
    return values


run = command.make_script(main, FLAGS)
