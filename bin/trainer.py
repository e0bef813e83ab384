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

import json
import sys

from keras_transformer.bin.kt_trainer.trainer_flags import FLAGS
from keras_transformer.bin.kt_trainer.trainer_flags import read_arguments
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend
from keras_transformer.training.start import MissingSetting
from keras_transformer.training.train import train


def main(argv):
    flags.require(FLAGS, "output_dir")
    # Before the data, which can take hours to generate.
    read_backend()
    try:
        trainer = train(**read_arguments(), load_backend=load_backend)
    except MissingSetting as error:
        flags.require(FLAGS, error.name)
        raise
    # One machine prints the line, however many take part.
    if trainer.backend.is_chief:
        print(json.dumps({"step": trainer.step, **trainer.results}))
    if not trainer.stop_signal:
        return 0
    print(
        f"kt-trainer: stopped. The checkpoint of step {trainer.step} is kept. "
        "The same command resumes the run.",
        file=sys.stderr,
    )
    # A shell uses the same number for a process that a signal ended.
    return 128 + trainer.stop_signal


run = command.make_script(main, FLAGS)
