"""Generates the data of a problem: its vocabulary and its token arrays.

    kt-datagen --problem=translate_files --data_dir=data --vocab_size=8000 \\
        --train_source=train.en --train_target=train.de \\
        --dev_source=dev.en --dev_target=dev.de
    kt-datagen --problem=parsing_files --data_dir=data \\
        --train_trees=wsj:02-21 --dev_trees=wsj:22 --test_trees=wsj:23

Writes to the problem's own folder in --data_dir, once: the same command again
does nothing. --problem takes one name or several with commas between them; a
problem and its _rev share their data. Only translate_files and parsing_files
take files and --vocab_size; the other problems know theirs, or download them to
--tmp_dir. A summary goes to standard output, progress to standard error.
"""

import itertools
import os
import time

from keras_transformer import registry
from keras_transformer.bin import flags

_SPLITS = ("train", "dev", "test")
_FILES = [f"{s}_{side}" for s in _SPLITS for side in ("source", "target")]
_TREES = [f"{split}_trees" for split in _SPLITS]
_OF_TREES = ["linearization", "augmentation_rounds", "skip_bad"]

_REASONS = {
    "empty_side": "dropped for an empty side",
    "bad_trees": "bad trees left out",
}

flags.define("problem", "data_dir", "tmp_dir", *_FILES, *_TREES)
flags.define(*_OF_TREES, "vocab_size")
FLAGS = flags.FLAGS


def main(argv):
    flags.require("problem", "data_dir")
    names = [name.strip() for name in FLAGS.problem.split(",")]
    problems = [registry.get_problem(name, FLAGS.data_dir) for name in names]
    _check_flags(problems)
    for problem in problems:
        _give_files(problem)
        _generate(problem)


def _check_flags(problems):
    """Checks that some problem takes each flag that was given."""
    sides = {side for p in problems for side in getattr(p, "sides", ())}
    for name in (*_FILES, *_TREES, *_OF_TREES, "vocab_size"):
        side = "trees" if name in _OF_TREES else name.split("_")[1]
        is_taken = side in sides or (sides and name == "vocab_size")
        if FLAGS[name].value != FLAGS[name].default and not is_taken:
            taker = "parsing_files" if side == "trees" else "translate_files"
            raise ValueError(
                f"`--{name}` must go with {taker}. Received: "
                f"--{name}={FLAGS[name].value} with "
                f"--problem={FLAGS.problem}. Remove it, or use "
                f"--problem={taker}."
            )


def _give_files(problem):
    sides = getattr(problem, "sides", ())
    files = {
        split: tuple(FLAGS[f"{split}_{side}"].value for side in sides)
        for split in _SPLITS
    }
    if not any(map(any, files.values())):
        return
    of_trees = {name: FLAGS[name].value for name in _OF_TREES}
    settings = of_trees if "trees" in sides else {}
    problem.use_files(files, FLAGS.vocab_size, **settings)


def _generate(problem):
    before = _time_of_manifest(problem)
    start = time.monotonic()
    manifest = problem.generate(FLAGS.tmp_dir)
    seconds = time.monotonic() - start
    print(f"{problem.data_name} in {problem.directory}")
    print(f"  vocabulary {manifest['vocab_size']:,}")
    for split, counts in manifest["splits"].items():
        print(f"  {split:<5} {_summary(counts)}")
    for line in itertools.chain(*getattr(problem, "bad", {}).values()):
        print(f"  left out: {line}")
    if before == _time_of_manifest(problem):
        print("  Nothing to do: these data were there already.")
    else:
        num_pairs = sum(_num_read(c) for c in manifest["splits"].values())
        print(
            f"  Made in {seconds:.1f} s, {num_pairs / seconds:,.0f} pairs/s "
            "with the training of the vocabulary."
        )


def _summary(counts):
    return (
        f"{counts['pairs']:,} pairs, {counts['source_tokens']:,} source and "
        f"{counts['target_tokens']:,} target tokens; "
        + ", ".join(
            f"{number:,} {_REASONS[reason]}"
            for reason, number in counts["dropped"].items()
        )
    )


def _num_read(counts):
    return counts["pairs"] + sum(counts["dropped"].values())


def _time_of_manifest(problem):
    path = os.path.join(problem.directory, "manifest.json")
    return os.stat(path).st_mtime_ns if os.path.exists(path) else None


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
