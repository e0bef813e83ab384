"""Joins the parses of several parsers into one tree for each sentence.

    kt-join-parses --parses=a.tsv,b.tsv,c.tsv --joined=joined.trees

Each file holds the parses of one parser for the same text, as kt-decoder writes
them: a line for each sentence with its tree, or with several trees and their
scores. The latter is better:

    kt-decoder --output_dir=a/averaged --beam_size=21 --alpha=0 \\
        --decode_hparams=num_hypotheses=21 --write_scores \\
        --decode_from_file=news.txt --decode_to_file=a.tsv

The parsers may have different vocabularies and linearizations, or be other
programs. Each has the same weight, which its trees share in proportion to their
probabilities. The joined tree has the brackets that do not cross and that the
parsers agree on most.

The file appears when it is complete. Without --joined, the trees go to standard
output.
"""

import contextlib
import sys

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.text_io import check_output

FLAGS = flags.define(
    parses=flags.paths(
        "Files of parses, one for each parser, separated by commas."
    ),
    joined=flags.path(
        "File to write the joined trees to. Default: standard output."
    ),
)


def main(argv):
    flags.require(FLAGS, "parses")
    from keras_transformer.data import text_files
    from keras_transformer.data.progress import Progress
    from keras_transformer.files import writing
    from keras_transformer.trees.joining import join_parses

    for path in FLAGS.parses:
        text_files.check_exists(path)
    output = contextlib.nullcontext(sys.stdout)
    if FLAGS.joined:
        check_output("joined", FLAGS, ["parses"])
        output = writing.atomic_write(FLAGS.joined)
    with output as file, Progress("sentences", results=file) as progress:
        for tree in join_parses(FLAGS.parses):
            file.write(f"{tree or ''}\n")
            progress.add(1)


run = command.make_script(main, FLAGS)
