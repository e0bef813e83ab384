"""Generates the data of a problem: its vocabulary and its token arrays.

    kt-datagen --problem=translate_files --data_dir=data --vocab_size=8000 \\
        --train_source=train.en --train_target=train.de \\
        --dev_source=dev.en --dev_target=dev.de --clean
    kt-datagen --problem=translate_files --data_dir=data --vocab_size=8000 \\
        --train=web.en.gz,web.de.gz --train=own.tsv:3 --dev=dev.tsv
    kt-datagen --problem=parsing_files --data_dir=data \\
        --train_trees=wsj:02-21 --dev_trees=wsj:22 --test_trees=wsj:23

The command writes to the problem's own folder in --data_dir. If the same data
exist already, it does nothing, or changes the weights of the corpora. A problem
shares its data with its directions _rev and _both.

Only translate_files and parsing_files take files and a vocabulary. The other
problems bring their own text or download it to --tmp_dir.

--runner=flink, for example, encodes the training text on many machines. It
needs `pip install '.[beam]'`. The data are the same, byte for byte.
docs/large_corpora.md describes it.

A summary goes to standard output, progress to standard error.
"""

import itertools
import os
import time

from keras_transformer import registry
from keras_transformer.bin.kt_datagen import runner_flags
from keras_transformer.bin.kt_datagen import vocabulary_flags
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import corpus_flags
from keras_transformer.bin.shared import flags
from keras_transformer.data.corpora import with_tag
from keras_transformer.data.generation import MANIFEST_FILE
from keras_transformer.errors import UserError
from keras_transformer.trees.symbols import LINEARIZATIONS

TREE_FLAGS = [f"{split}_trees" for split in corpus_flags.SPLITS]
TREE_SETTINGS = [
    "parsed_trees",
    "treebank_weight",
    "linearization",
    "augmentation_rounds",
    "skip_bad",
]
EITHER_SETTINGS = ["vocab_size", "vocabulary"]
# A problem may have reasons of its own, which are shown as they are.
REASONS = {
    "empty_side": "dropped for an empty side",
    "bad_trees": "bad trees left out",
    "cleaning": "dropped by cleaning",
}

FLAGS = flags.define(
    flags.text(
        "problem",
        "Name of the problem, or several names separated by commas. The "
        "suffix _rev swaps source and target, and _both stands for both "
        "directions together. All of them share their data.",
    ),
    flags.path(
        "data_dir", "Directory to write to, with one folder for each problem."
    ),
    "tmp_dir",
    corpus_flags.GROUP,
    vocabulary_flags.GROUP,
    runner_flags.GROUP,
    flags.group(
        "Files of parsing_files",
        flags.paths(
            "train_trees",
            "Files or directories of the training trees, separated by commas. "
            "wsj:02-21 means the folders or files 02 to 21 in wsj.",
        ),
        flags.paths(
            "dev_trees", "Files or directories of the development trees."
        ),
        flags.paths(
            "test_trees",
            "Files or directories of the test trees. Default: none.",
        ),
        flags.paths(
            "parsed_trees",
            "Files or directories of automatically parsed trees that training "
            "adds to the treebank. Default: none.",
        ),
        flags.count(
            "treebank_weight",
            "Number of times that an epoch goes through the training trees for "
            "each time through the parsed trees.",
            default=1,
            maximum=1_000,
        ),
        flags.choice(
            "linearization",
            LINEARIZATIONS,
            "Form of a tree as a sequence. normalised writes XX for every "
            "word, tagged its part-of-speech tag, and lexicalised the word "
            "itself. in_order also writes the words, but each opening bracket "
            "after the first child of its constituent.",
            default="normalised",
        ),
        flags.whole(
            "augmentation_rounds",
            "Number of times that an epoch goes through the training trees, "
            "together with new trees made of their parts; 0 uses the training "
            "trees alone. Parsed trees are not augmented.",
            default=0,
            maximum=1_000,
        ),
        flags.switch(
            "skip_bad",
            "Report malformed trees and leave them out, instead of failing.",
        ),
    ),
)


def main(argv):
    flags.require(FLAGS, "problem", "data_dir")
    if os.path.exists(FLAGS.tmp_dir) and not os.path.isdir(FLAGS.tmp_dir):
        raise UserError(
            f"`--tmp_dir` must be a directory. Received: {FLAGS.tmp_dir}, "
            "which is a file. Name another path."
        )
    names = [name.strip() for name in FLAGS.problem.split(",")]
    # All names and flags are checked before the first problem is generated,
    # which can take hours.
    problems = [registry.get_problem(name, FLAGS.data_dir) for name in names]
    _check_flags(problems)
    encoder = runner_flags.encoder(FLAGS)
    for problem in problems:
        problem.encoder = encoder
        _set_files(problem)
        _generate(problem)


def _check_flags(problems):
    """Checks that some problem accepts each flag of the command line."""
    sides = {
        side for problem in problems for side in getattr(problem, "sides", ())
    }
    # A problem silently ignores flags that are meant for another one.
    flag_sides = {
        **dict.fromkeys(corpus_flags.NAMES + vocabulary_flags.NAMES, "source"),
        **dict.fromkeys(TREE_FLAGS + TREE_SETTINGS, "trees"),
        **dict.fromkeys(EITHER_SETTINGS, "either"),
    }
    for name, side in flag_sides.items():
        is_taken = side in sides or (sides and side == "either")
        if flags.is_changed(FLAGS, name) and not is_taken:
            taker = "parsing_files" if side == "trees" else "translate_files"
            raise UserError(
                f"`--{name}` must go with {taker}. Received: --{name} with "
                f"--problem={FLAGS.problem}. Remove it, or use "
                f"--problem={taker}."
            )


def _set_files(problem):
    sides = getattr(problem, "sides", ())
    files = {
        split: tuple(_value(f"{split}_{side}") for side in sides)
        for split in corpus_flags.SPLITS
    }
    if "source" in sides:
        settings = {
            **corpus_flags.settings(FLAGS),
            **vocabulary_flags.settings(FLAGS),
        }
    else:
        settings = {name: _value(name) for name in TREE_SETTINGS}
        settings["vocabulary"] = vocabulary_flags.vocabulary_path(FLAGS)
    further = ("parsed_trees", "corpora", "alignments")
    # Most problems bring their own text. Those that need files raise an error
    # in `generate`, unless their data exists already.
    if any(map(any, files.values())) or any(map(settings.get, further)):
        problem.use_files(files, FLAGS.vocab_size, **settings)


def _value(name):
    """Returns the value of a flag, with the paths of a list as one text."""
    value = FLAGS[name].value
    return ",".join(value) if isinstance(value, list) else value


def _generate(problem):
    manifest_time = _time_of_manifest(problem)
    start = time.monotonic()
    manifest = problem.generate(FLAGS.tmp_dir)
    seconds = time.monotonic() - start
    print(f"{problem.data_name} in {problem.directory}")
    if "source_vocab_size" in manifest:
        print(f"  vocabulary of the source {manifest['source_vocab_size']:,}")
        print(f"  vocabulary of the target {manifest['vocab_size']:,}")
    else:
        print(f"  vocabulary {manifest['vocab_size']:,}")
    for split, counts in manifest["splits"].items():
        print(f"  {split:<5} {_summary(counts)}")
        for line in _corpus_lines(counts, has_weights=split == "train"):
            print(f"    {line}")
    for line in itertools.chain(*getattr(problem, "bad", {}).values()):
        print(f"  left out: {line}")
    if getattr(problem, "cleaning_report", None):
        print("\n".join(problem.cleaning_report.lines()))
    # `generate` writes the manifest last, and only if it made the data.
    if manifest_time == _time_of_manifest(problem):
        print("  Nothing to do: the data exists already.")
        return
    if getattr(problem, "has_new_weights", False):
        print(
            "  The weights are new; the text and its vocabulary are as before."
        )
        return
    num_pairs = sum(map(_num_read, manifest["splits"].values()))
    print(
        f"  Generated in {seconds:.1f} s, {num_pairs / seconds:,.0f} pairs/s "
        "including the vocabulary."
    )


def _summary(counts):
    return (
        f"{counts['pairs']:,} pairs, {counts['source_tokens']:,} source and "
        f"{counts['target_tokens']:,} target tokens; "
        + ", ".join(
            f"{number:,} {REASONS.get(reason, reason)}"
            for reason, number in counts["dropped"].items()
        )
    )


def _corpus_lines(counts, has_weights):
    """Returns a line for each corpus, unless all of the text is one."""
    corpora = counts.get("corpora", [])
    if len(corpora) == 1 and corpora[0]["weight"] == 1:
        return []
    lines = []
    for corpus in corpora:
        pairs, weight = corpus["pairs"], corpus["weight"]
        name = with_tag(corpus["name"], corpus.get("tag"))
        line = f"{name}: {pairs:,} pairs"
        if has_weights:
            line += f", {weight * pairs:,.0f} in an epoch (weight {weight:g})"
        lines.append(line)
    return lines


def _num_read(counts):
    # Dropped pairs count, since reading them takes time as well.
    return counts["pairs"] + sum(counts["dropped"].values())


def _time_of_manifest(problem):
    path = os.path.join(problem.directory, MANIFEST_FILE)
    return os.stat(path).st_mtime_ns if os.path.exists(path) else None


def run(argv=None):
    command.run(main, FLAGS, argv)


if __name__ == "__main__":
    run()
