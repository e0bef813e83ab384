"""Draws a figure of several runs into one picture, a curve for each.

    kt-plot --runs=run_base,run_big --metric=dev_bleu --plot_to_file=bleu.png

Reads metrics.csv of the runs, which may be going on. Figures are for example
train_loss, dev_loss, dev_bleu, tokens_per_second, gradient_norm; an unknown one
lists all. The ending of --plot_to_file, .png, .pdf or .svg, says the format.
"""

import sys

from keras_transformer.bin import flags

flags.define("runs", "metric", "x_axis", "plot_to_file")
FLAGS = flags.FLAGS


def main(argv):
    flags.require("runs", "plot_to_file")
    from keras_transformer.visualization.comparison import plot_comparison

    plot_comparison(FLAGS.runs, FLAGS.metric, FLAGS.x_axis, FLAGS.plot_to_file)
    print(f"Picture: {FLAGS.plot_to_file}", file=sys.stderr)


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
