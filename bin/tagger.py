"""Trains a tagger, which gives a parser's words their parts of speech.

    kt-tagger --output_dir=parser/averaged \\
        --train_trees=wsj:02-21 --dev_trees=wsj:22

Parsers write XX for the part of speech of every word, unless their
linearization is the tagged one. The tagger reads the parts of speech from the
outputs of the parser's encoder. It belongs to one checkpoint, by default the
newest, and the parser stays as it is. From then on, the trees of kt-decoder,
kt-evaluate and `load` have parts of speech. Exported models lack the tagger.

The command prints the tagger's file to standard output and, with --dev_trees,
the share of their words with the right part of speech to standard error.
"""

import sys

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.errors import UserError

FLAGS = flags.define(
    output_dir=flags.SHARED,
    checkpoint_step=flags.SHARED,
    train_trees=flags.SHARED,
    dev_trees=flags.paths(
        "Files or directories of the development trees. Default: none."
    ),
    random_seed=flags.seed(
        "Seed of the initial weights, the dropout and the choice of words.",
        default=0,
    ),
)


def main(argv):
    flags.require(FLAGS, "output_dir", "train_trees")
    from keras_transformer.data.progress import Progress
    from keras_transformer.files.directories import check_directory
    from keras_transformer.runs import weights
    from keras_transformer.runs.run_directory import TAGGERS
    from keras_transformer.trees.treebank import read_tagged_sentences

    run = model_flags.open_run(FLAGS.output_dir, FLAGS.checkpoint_step)
    _check_needs_tags(run)
    check_directory(run.file(TAGGERS), "The directory of the tagger")
    step = run.checkpoints.find(FLAGS.checkpoint_step)
    train, dev = (
        read_tagged_sentences(paths) if paths else []
        for paths in (FLAGS.train_trees, FLAGS.dev_trees)
    )
    load_backend()
    from keras_transformer.decoding.encoder_heads import save_tagger
    from keras_transformer.training import pos_tagger_training

    model = weights.load_model(run, step)
    num_updates = pos_tagger_training.NUM_UPDATES
    with Progress("updates", num_updates) as progress:
        tagger = pos_tagger_training.train_tagger(
            model,
            run.source_vocabulary,
            train,
            FLAGS.random_seed,
            progress.add,
            num_updates,
        )
    if dev:
        accuracy = pos_tagger_training.tag_accuracy(tagger, dev)
        num_words = sum(len(words) for words, _ in dev)
        print(
            f"{accuracy:.1%} of {num_words:,} words of dev have the right part "
            "of speech.",
            file=sys.stderr,
        )
    print(save_tagger(tagger, run, step))


def _check_needs_tags(run):
    from keras_transformer.trees.target_text import find_linearization

    linearization = find_linearization(run.vocabulary)
    if linearization in (None, "tagged"):
        fault = "writes the parts of speech itself"
        if linearization is None:
            fault = "was not trained to parse"
        raise UserError(
            "A tagger needs a parser whose parts of speech are XX. "
            f"Received: output_dir={run.path!r}, whose model {fault}. Name "
            "another run."
        )


run = command.make_script(main, FLAGS)
