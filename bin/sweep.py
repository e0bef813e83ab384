"""Trains several models one after another and compares them in one table.

    kt-sweep --table=3 --scale=tiny --train_steps=2000 --base_seeds=3 \\
        --problem=translate_files --data_dir=data --output_dir=sweep

--table=3 trains the rows of the paper's Table 3, and --table=4 its parser.
--hparams_sets=a,b trains any hparams sets. --grid and --random change one:

    kt-sweep --hparams_set=transformer_tiny \\
        --grid='dropout=0.1,0.3;num_layers=2,4' ...
    kt-sweep --hparams_set=transformer_tiny --random=20 \\
        --ranges='learning_rate=0.3..3.0 log;dropout=0.0..0.3' ...

Each row is a run in a directory of its own below --output_dir. kt-trainer and
kt-evaluate make it in processes of their own, whose messages are in its
log.txt. After each row the command writes table.md, table.csv and plot.png,
with the paper's figures beside ours. A row that fails is reported and skipped;
the exit status is then 1.

The same command continues a sweep that was stopped. Rows that are finished are
not trained again, and a row that was interrupted continues from its newest
checkpoint.
"""

import os
import shlex

from keras_transformer import fields
from keras_transformer import markdown
from keras_transformer import registry
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.sweep_flags import FLAGS
from keras_transformer.bin.sweep_flags import kind_of_rows
from keras_transformer.files.directories import check_directory
from keras_transformer.files.locks import lock_directory
from keras_transformer.sweep import spaces
from keras_transformer.sweep import variants
from keras_transformer.sweep.paper_table4 import quoted
from keras_transformer.sweep.record import check_settings
from keras_transformer.sweep.results import SPLITS
from keras_transformer.sweep.rows import make_rows
from keras_transformer.sweep.sweep import MARKDOWN_FILE
from keras_transformer.sweep.sweep import Sweep

# Settings that all calls in one directory share, apart from its rows.
SETTINGS = ("problem", "train_steps", "table", "hparams_sets", "hparams_set")
SETTINGS += ("grid", "ranges", "scale", "hparams", "random_seed", "precision")


def main(argv):
    flags.require(FLAGS, "output_dir", "problem", "data_dir")
    data_dir = os.path.abspath(FLAGS.data_dir)
    problem = registry.get_problem(FLAGS.problem, data_dir)
    rows = make_rows(
        _variants(problem),
        FLAGS.scale,
        FLAGS.hparams,
        FLAGS.train_steps,
        _seeds,
    )
    wanted = _wanted(rows)
    check_directory(FLAGS.output_dir, "`--output_dir`")
    _check(rows)
    sweep = _sweep(problem, rows)
    with lock_directory(FLAGS.output_dir, wait=False):
        settings = {name: FLAGS[name].value for name in SETTINGS}
        check_settings(FLAGS.output_dir, settings)
        failures = sweep.run(wanted, _given("usr_dir"), _given("precision"))
    with open(sweep.file(MARKDOWN_FILE), encoding="utf-8") as file:
        print(file.read(), end="")
    return 1 if failures else 0


def _variants(problem):
    """Returns the variants that the flags name."""
    kind = kind_of_rows()
    if kind == "hparams_sets":
        return variants.sets(problem, FLAGS.hparams_sets.split(","))
    if kind == "grid":
        points = spaces.grid(FLAGS.grid)
    elif kind == "random":
        points = spaces.draw(FLAGS.ranges, FLAGS.random, FLAGS.random_seed)
    elif FLAGS.table == "3":
        return variants.table3(problem)
    else:
        _check_parses(problem)
        hparams_set = FLAGS.hparams_set or "transformer_parsing"
        return variants.table4(problem, _semi_problem(), hparams_set)
    return variants.points(problem, FLAGS.hparams_set, points)


def _check_parses(problem):
    if problem.measure != "f1":
        raise ValueError(
            "`--table=4` must go with a parsing problem. Received: "
            f"--problem={problem.name}. Use parsing_wsj or parsing_files."
        )


def _semi_problem():
    """Returns the problem of Table 4's semi-supervised row, or None.

    That is the problem whose name ends with `_semi`, or the same problem with
    other data, which kt-datagen made from parsed text as well.
    """
    if not FLAGS.semi_data_dir:
        return None
    name = f"{FLAGS.problem}_semi"
    if name not in registry.problems.names():
        name = FLAGS.problem
    return registry.get_problem(name, os.path.abspath(FLAGS.semi_data_dir))


def _seeds(name):
    count = max(FLAGS.seeds, FLAGS.base_seeds if name == "base" else 1)
    return range(FLAGS.random_seed, FLAGS.random_seed + count)


def _wanted(rows):
    """Returns the rows that --rows names."""
    if not FLAGS.rows:
        return rows
    wanted = FLAGS.rows.split(",")
    names = [row.variant.name for row in rows]
    for name in wanted:
        if name not in names:
            raise ValueError(
                "`--rows` must name rows of the sweep. Received: "
                f"{fields.quote(name)}. The rows are: "
                f"{', '.join(dict.fromkeys(names))}."
            )
    return [row for row in rows if row.variant.name in wanted]


def _check(rows):
    """Checks that the data and the memory suffice for all rows.

    A faulty row thus fails before the rows above it are trained.
    """
    from keras_transformer.training import start

    for row in rows:
        problem = row.variant.problem
        start.check_data(problem, row.hparams)
        start.check_vocabularies(problem, row.hparams)
        start.check_memory(row.hparams, problem.vocabularies.sizes)


def _sweep(problem, rows):
    names = [row.variant.name for row in rows]
    return Sweep(
        FLAGS.output_dir,
        _title(),
        rows,
        _splits(problem),
        problem.measure,
        quoted=quoted(names) if FLAGS.table == "4" else (),
        base="base" if FLAGS.table == "3" else None,
    )


def _splits(problem):
    text_splits = [name for name in SPLITS if name in problem.splits]
    splits = FLAGS.splits.split(",") if FLAGS.splits else text_splits
    for split in splits:
        if split not in text_splits:
            raise ValueError(
                "`--splits` must name splits of the problem that kt-evaluate "
                f"takes. Received: {fields.quote(split)}. Use "
                f"{' or '.join(text_splits)}."
            )
    return tuple(splits)


def _title():
    """Returns the command in Markdown, without its directories."""
    changed_flags = [
        f"--{name}={FLAGS[name].value}"
        for name in (*SETTINGS, "random", "seeds", "base_seeds", "splits")
        if flags.is_changed(FLAGS, name)
    ]
    return markdown.code(f"kt-sweep {shlex.join(changed_flags)}")


def _given(name):
    """Returns a flag as a list for other commands, empty if not given."""
    value = FLAGS[name].value
    return [f"--{name}={value}"] if value else []


def run(argv=None):
    command.run(main, FLAGS, argv)


if __name__ == "__main__":
    run()
