"""Generates the data of a problem: its vocabulary and its token arrays.

    kt-datagen --problem=translate_files --data_dir=data --vocab_size=8000 \\
        --train_source=train.en --train_target=train.de \\
        --dev_source=dev.en --dev_target=dev.de

Writes to the problem's own folder in --data_dir, once: the same command again
does nothing. --problem takes one name or several with commas between them; a
problem and its _rev share their data. Only translate_files takes files and
--vocab_size; the other problems know theirs, or download them to --tmp_dir. A
summary goes to standard output, progress to standard error.
"""

import os
import time

from keras_transformer import registry
from keras_transformer.bin import flags

_SPLITS = ("train", "dev", "test")
_FILE_FLAGS = [
    f"{split}_{side}" for split in _SPLITS for side in ("source", "target")
]

flags.define("problem", "data_dir", "tmp_dir", *_FILE_FLAGS, "vocab_size")
FLAGS = flags.FLAGS


def main(argv):
    flags.require("problem", "data_dir")
    names = [name.strip() for name in FLAGS.problem.split(",")]
    problems = [registry.get_problem(name, FLAGS.data_dir) for name in names]
    _give_files(problems)
    for problem in problems:
        _generate(problem)


def _give_files(problems):
    given = [name for name in (*_FILE_FLAGS, "vocab_size") if FLAGS[name].value]
    if not given:
        return
    takers = [problem for problem in problems if hasattr(problem, "use_files")]
    if not takers:
        raise ValueError(
            f"`--{given[0]}` must go with translate_files. Received: "
            f"--{given[0]}={FLAGS[given[0]].value} with "
            f"--problem={FLAGS.problem}. Remove it, or use "
            "--problem=translate_files."
        )
    files = {
        split: (FLAGS[f"{split}_source"].value, FLAGS[f"{split}_target"].value)
        for split in _SPLITS
    }
    for problem in takers:
        problem.use_files(files, FLAGS.vocab_size)


def _generate(problem):
    before = _time_of_manifest(problem)
    start = time.monotonic()
    manifest = problem.generate(FLAGS.tmp_dir)
    seconds = time.monotonic() - start
    print(f"{problem.data_name} in {problem.directory}")
    print(f"  vocabulary {manifest['vocab_size']:,}")
    for split, counts in manifest["splits"].items():
        print(f"  {split:<5} {_summary(counts)}")
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
        f"{_num_read(counts) - counts['pairs']:,} dropped for an empty side"
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
