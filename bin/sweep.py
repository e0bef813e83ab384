"""Trains several models one after another and compares them in one table.

    kt-sweep --table=3 --scale=tiny --train_steps=2000 \\
        --problem=translate_files --data_dir=data --output_dir=sweep

--table=3 trains the rows of the paper's Table 3, and --table=4 its parser.
--hparams_sets=a,b trains any hparams sets. --grid and --random change one:

    kt-sweep --hparams_set=transformer_tiny \\
        --grid='dropout=0.1,0.3;num_layers=2,4' ...
    kt-sweep --hparams_set=transformer_tiny --random=20 \\
        --ranges='learning_rate=0.3..3.0 log;dropout=0.0..0.3' ...

Each row is a run in a directory below --output_dir. kt-trainer and kt-evaluate
make it in other processes, and their messages are in its log.txt. After each
row the command writes table.md, with the paper's scores beside ours. A row that
fails is skipped, and the exit status is 1.

The same command continues a sweep that was stopped. Finished rows are not
trained again, and an interrupted row continues from its newest checkpoint.
"""

import os
import shlex
import signal
import subprocess
import sys

from keras_transformer import errors
from keras_transformer import registry
from keras_transformer.bin.kt_sweep import rows
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.errors import UserError
from keras_transformer.files import markdown
from keras_transformer.files.directories import check_directory
from keras_transformer.files.locks import lock_directory
from keras_transformer.files.writing import keep_settings

# Settings that all calls in one directory share, apart from its rows.
SETTINGS = ("problem", "train_steps", "table", "hparams_sets", "hparams_set")
SETTINGS += ("grid", "ranges", "scale", "hparams", "random_seed", "precision")
# Settings that may change, and are shown above the table.
CHANGEABLE = ("random", "seeds", "splits")
FLAGS = flags.define(
    """
Getting started:
  problem (text): Name of the problem. The suffix _rev swaps source and target,
    and _both stands for both directions together.
  data_dir (path): Directory of the generated data, with one folder for each
    problem.
  output_dir (path): Directory of the sweep: its table, and a run for each row.
  train_steps (count): Number of updates of each row. Default: train_steps of
    its hparams set.
  registry_help
Rows:
  table (3|4): Table of the paper to repeat: 3 for its models, or 4 for its
    parser. Default: none.
  hparams_sets (text): Names of hparams sets to train, separated by commas.
    Default: none.
  hparams_set (text, needs grid or random or table=4): Name of the hparams set
    that --grid or --random changes, or that --table=4 trains. Default:
    transformer_parsing for --table=4.
  grid (text): Values to combine, such as 'dropout=0.1,0.3;num_layers=2,4'.
    Default: none.
  random (count, maximum 10_000): Number of combinations to draw from --ranges.
    Default: none.
  ranges (text, needs random): Ranges or values to draw from, such as
    'learning_rate=0.3..3.0 log;num_layers=2..6;norm=pre,post'. Default: none.
  rows (text): Names of the rows to train now, separated by commas, such as
    base,a_h1. Default: all rows.
Recipe:
  scale (none|tiny, default none): Size of the models: none as the hparams set
    states, or tiny, which divides d_model, d_ff, d_k, d_v and warmup_steps by
    4, effective_batch_tokens by 40 and learning_rate by 2.
  hparams (pairs): Changes to the hparams sets of all rows, after --scale, such
    as attention_dropout=0.1.
  seeds (count, default 1, maximum 100): Number of seeds for each row.
  random_seed (seed, default 0): First seed of each row, and the seed that
    --random draws with.
  precision
Evaluation:
  splits (text): Splits to evaluate, separated by commas: dev, test or both.
    Default: the problem's.
Data:
  semi_data_dir (path, needs table=4): Directory of the generated data of the
    semi-supervised row of --table=4: the treebank and parsed text. Default:
    none, which leaves the row out.
  usr_dir
"""
)
TABLE_FILE = "table.md"
LOG_FILE = "log.txt"  # what the commands of a row print, in its directory
# The flags that define the rows of a sweep, of which it needs exactly one.
KINDS = ("table", "hparams_sets", "grid", "random")
MAX_SHOWN = 20  # names in an error, as many as Table 3 has rows


def main(argv):
    flags.require(FLAGS, "output_dir", "problem", "data_dir")
    data_dir = os.path.abspath(FLAGS.data_dir)
    problem = registry.get_problem(FLAGS.problem, data_dir)
    seeds = range(FLAGS.random_seed, FLAGS.random_seed + FLAGS.seeds)
    if seeds[-1] > errors.LARGEST_SEED:
        first = flags.show(FLAGS, "random_seed")
        rule = (
            f"must not go beyond the seed {errors.LARGEST_SEED:,}, counted "
            f"from {first}"
        )
        flags.refuse(FLAGS, ["seeds"], rule, "Lower --random_seed.")
    all_rows = rows.make_rows(
        _make_models(problem),
        output_dir=FLAGS.output_dir,
        scale=FLAGS.scale,
        overrides=FLAGS.hparams,
        train_steps=FLAGS.train_steps,
        seeds=seeds,
    )
    names = _select("rows", "rows of the sweep", [row.name for row in all_rows])
    text_splits = [name for name in rows.SPLITS if name in problem.splits]
    rule = "splits of the problem that kt-evaluate takes"
    splits = _select("splits", rule, text_splits)
    check_directory(FLAGS.output_dir, "`--output_dir`")
    record = os.path.join(FLAGS.output_dir, "sweep.json")
    _check_runs(all_rows, is_new=not os.path.lexists(record))
    with lock_directory(FLAGS.output_dir, wait=False):
        keep_settings(record, {name: FLAGS[name].value for name in SETTINGS})
        failures, table = run_rows(all_rows, names, splits)
    print(table, end="")
    return 1 if failures else 0


def _check_runs(all_rows, is_new):
    """Checks that a run of each row can be made, or be continued."""
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.training import start

    def refuse(rule):
        flags.refuse(FLAGS, ["output_dir"], rule, "Name another directory.")

    if RunDirectory.exists(FLAGS.output_dir):
        refuse("must hold a run for each row, but is a run itself")
    if is_new and os.path.lexists(os.path.join(FLAGS.output_dir, TABLE_FILE)):
        refuse(f"must not hold a {TABLE_FILE} that no sweep wrote")
    for row in all_rows:
        # It would be trained further, and checkpoints of it deleted.
        if is_new and RunDirectory.exists(row.path):
            refuse(f"must not hold a run of yours, which {row.path} is")
    for row in all_rows:
        # A faulty row fails here, before the rows above it are trained. What is
        # checked does not depend on the seed.
        if row.seed == FLAGS.random_seed:
            start.check_data(row.problem, row.hparams)


def run_rows(all_rows, names, splits):
    """Trains and evaluates the named rows, and writes the table after each.

    Returns why rows failed, by the names of their directories, and the table.
    """
    # Imported here because it imports NumPy, which would slow --help down.
    from keras_transformer.bin.kt_sweep.results import read_results
    from keras_transformer.bin.kt_sweep.results import write_table

    path = os.path.join(FLAGS.output_dir, TABLE_FILE)
    settings = shlex.join(_show_changed(*SETTINGS, *CHANGEABLE))
    title = markdown.code(f"kt-sweep {settings}")
    quoted = rows.TABLE_4 if FLAGS.table == "4" else {}
    failures = {}
    # Kept: reading those of thousands of rows after each row would take hours.
    results = {row.path: (row, read_results(row)[0]) for row in all_rows}
    table = write_table(path, title, results.values(), failures, quoted)
    selected = [row for row in all_rows if row.name in names]
    for number, row in enumerate(selected, 1):
        commands = list_commands(row, splits)
        if not commands:
            continue
        os.makedirs(row.path, exist_ok=True)
        directory = os.path.basename(row.path)
        log = os.path.join(row.path, LOG_FILE)
        place = f"{directory}, {number} of {len(selected)}"
        print(f"{place}: the messages are in {log}", file=sys.stderr)
        for name, arguments in commands:
            if failure := run_command(name, row.path, arguments):
                failures[directory] = failure
                print(f"{directory} failed: {failure}", file=sys.stderr)
                break
        results[row.path] = row, read_results(row)[0]
        table = write_table(path, title, results.values(), failures, quoted)
    return failures, table


def list_commands(row, splits):
    """Lists the commands that a row still needs, each with its flags."""
    from keras_transformer.bin.kt_sweep.results import read_results

    results, evaluated = read_results(row)
    # The data may have moved since the run recorded its place.
    shared = [f"--data_dir={row.problem.data_dir}", *_show_changed("usr_dir")]
    recipe = [
        f"--problem={row.problem.name}",
        f"--hparams_set={row.hparams_set}",
        f"--hparams={rows.join_changes(row.changes, ',')}",
        f"--random_seed={row.seed}",
        # The newest checkpoint is evaluated, and rows may be many.
        "--keep_checkpoint_max=1",
        *_show_changed("precision"),
    ]
    commands = [] if results else [("trainer", [*recipe, *shared])]
    return commands + [
        ("evaluate", [f"--split={split}", *shared])
        for split in splits
        if split not in evaluated
    ]


def run_command(name, path, arguments):
    """Runs a command, such as "trainer", on a run in a process of its own.

    A crash or a lack of memory then ends only one row, and frees its memory.
    Returns None, or a line on why the command failed.
    """
    # The process imports what this one does; -m alone would look into . first.
    command = [sys.executable, "-P", "-m", f"keras_transformer.bin.{name}"]
    with open(os.path.join(path, LOG_FILE), "ab+") as log:
        start = log.tell()
        process = subprocess.Popen(
            [*command, f"--output_dir={path}", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        try:
            status = process.wait()
        except KeyboardInterrupt as error:
            # Control-C on a terminal also reaches the process itself. A second
            # signal does no harm while it trains and saves.
            process.send_signal(signal.SIGINT)
            process.wait()
            error.add_note("The same command continues the sweep.")
            raise
        log.seek(start)
        messages = log.read().decode(errors="replace").strip()
    if status == 0:
        return None
    reason = f"ended with status {status}"
    if status < 0:
        reason = f"was ended by signal {-status}"
    last_line = messages.rpartition("\n")[2]
    return f"kt-{name} {reason}. {last_line}".rstrip()


def _make_models(problem):
    """Returns the models that the flags name; checks that the flags agree."""
    kinds = [name for name in KINDS if FLAGS[name].value]
    if len(kinds) != 1:
        received = " and ".join(flags.show(FLAGS, name) for name in kinds)
        raise UserError(
            f"A sweep must have one of --{', --'.join(KINDS)}. Received: "
            f"{received or 'none of them'}. Give one of them."
        )
    if FLAGS.hparams_sets:
        names = FLAGS.hparams_sets.split(",")
        return [rows.Row(name, problem, name) for name in names]
    if FLAGS.table == "3":
        return rows.make_table3(problem)
    if FLAGS.table == "4":
        data_dir = FLAGS.semi_data_dir and os.path.abspath(FLAGS.semi_data_dir)
        hparams_set = FLAGS.hparams_set or "transformer_parsing"
        return rows.make_table4(problem, data_dir, hparams_set)
    flags.require(FLAGS, "hparams_set", by=kinds[0])
    if FLAGS.grid:
        points = rows.list_grid(FLAGS.grid)
    else:
        flags.require(FLAGS, "ranges", by="random")
        points = rows.draw_points(FLAGS.ranges, FLAGS.random, FLAGS.random_seed)
    return [
        rows.Row(rows.join_changes(one, "_"), problem, FLAGS.hparams_set, one)
        for one in points
    ]


def _select(flag, rule, known):
    """Returns the names that a flag lists, or by default the known ones."""
    known, value = dict.fromkeys(known), FLAGS[flag].value
    names = dict.fromkeys(value.split(",")) if value else known
    for name in names:
        if name not in known:
            example = ", for example" if len(known) > MAX_SHOWN else ""
            raise UserError(
                f"`--{flag}` must name {rule}. Received: {errors.quote(name)}. "
                f"Use {' or '.join(list(known)[:MAX_SHOWN])}{example}."
            )
    return names.keys()


def _show_changed(*names):
    """Returns which of the flags were changed from their defaults, as text."""
    changed = [name for name in names if flags.is_changed(FLAGS, name)]
    return [flags.show(FLAGS, name) for name in changed]


run = command.make_script(main, FLAGS)
