"""Draws one metric of several runs into one picture, with a curve per run.

    kt-plot run_base run_big --metric=dev_bleu --picture=bleu.png

The command reads metrics.csv of each run; a run may still be training. Common
metrics are train_loss, dev_loss, dev_bleu, tokens_per_second and gradient_norm.
If you name an unknown metric, the error lists all. The ending of --picture
decides the format: .png, .pdf or .svg.
"""

import sys

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.visualization.curves import plot_comparison
from keras_transformer.visualization.picture import check_picture_path

FLAGS = flags.define(
    """
  output_dir (paths): Directories of the runs to draw, separated by commas; or
    name them without a flag, separated by spaces.
  metric (text, default dev_bleu): Column of metrics.csv to draw.
  x_axis (step|seconds|epoch|pairs, default step): Horizontal axis: step,
    seconds of training, or epoch. With pairs, each run is a point at its number
    of training pairs, and the runs in one directory are joined to a curve.
  picture (path): Picture to write, a .png, .pdf or .svg file. Default: the
    metric with .png, such as dev_bleu.png.
"""
)
POSITIONAL = "output_dir"


def main(argv):
    flags.require(FLAGS, "output_dir", "metric")
    path = FLAGS.picture or f"{FLAGS.metric}.png"
    check_picture_path(path, "`--picture`")
    plot_comparison(FLAGS.output_dir, FLAGS.metric, FLAGS.x_axis, path)
    print(f"Picture: {path}", file=sys.stderr)


run = command.make_script(main, FLAGS)
