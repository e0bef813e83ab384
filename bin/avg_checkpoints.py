"""Averages the last checkpoints of a run into a new run.

    kt-avg-checkpoints --output_dir=run --num_last_checkpoints=10
    kt-evaluate --output_dir=run/averaged

The command averages the weights of the newest checkpoints that were written at
an evaluation, in float64. The averaged run can be decoded, evaluated and
exported like any other run, but not trained further. The command prints the
new run's directory to standard output.
"""

import sys

from keras_transformer.bin import command
from keras_transformer.bin import flags

FLAGS = flags.define(
    "output_dir",
    flags.count(
        "num_last_checkpoints",
        5,
        "Number of checkpoints to average, counted from the newest.",
    ),
    flags.path(
        "averaged_dir",
        None,
        "Directory of the averaged run. Default: averaged, inside output_dir.",
    ),
)


def main(argv):
    flags.require(FLAGS, "output_dir")
    from keras_transformer.runs.averaging import average_run
    from keras_transformer.runs.model_card import write_model_card
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)
    path = FLAGS.averaged_dir or run.file("averaged")
    # Averaging needs only NumPy, so this command never loads the backend.
    averaged_run = average_run(run, FLAGS.num_last_checkpoints, path)
    write_model_card(path, averaged_run)
    steps = ", ".join(map(str, averaged_run.averaged_steps))
    # Only the path goes to standard output, for $(kt-avg-checkpoints ...).
    print(f"Averaged the checkpoints of steps {steps}.", file=sys.stderr)
    print(path)


def run(argv=None):
    command.run(main, FLAGS, argv)


if __name__ == "__main__":
    run()
