"""Averages the last checkpoints of a run into a run of its own.

    kt-avg-checkpoints --output_dir=run --num_last_checkpoints=10
    kt-evaluate --output_dir=run/averaged

The mean of the weights is taken in float64, over the newest checkpoints that
were made at an evaluation. It decodes and evaluates like any other run, but
cannot be trained further. The directory written, by default averaged in
--output_dir, is printed to standard output.
"""

import sys

from keras_transformer.bin import flags

flags.define("output_dir", "num_last_checkpoints", "averaged_dir")
FLAGS = flags.FLAGS


def main(argv):
    flags.require("output_dir")
    from keras_transformer.runs.averaging import average_run
    from keras_transformer.runs.model_card import write_model_card
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)
    path = FLAGS.averaged_dir or run.file("averaged")
    averaged = average_run(run, FLAGS.num_last_checkpoints, path)
    write_model_card(path, averaged)
    steps = ", ".join(map(str, averaged.averaged_steps))
    print(f"Averaged the checkpoints of steps {steps}.", file=sys.stderr)
    print(path)


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
