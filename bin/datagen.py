"""Generates the data of a problem: its vocabulary and its token arrays.

    kt-datagen --problem=translate_files --data_dir=data --vocab_size=8000 \\
        --train_source=train.en --train_target=train.de \\
        --dev_source=dev.en --dev_target=dev.de --clean
    kt-datagen --problem=translate_files --data_dir=data --vocab_size=8000 \\
        --train=web.en.gz,web.de.gz --train=own.tsv:3 --dev=dev.tsv
    kt-datagen --problem=parsing_files --data_dir=data \\
        --train_trees=wsj:02-21 --dev_trees=wsj:22 --test_trees=wsj:23

The command writes to the problem's folder in --data_dir. If the same data
exist already, it does nothing, or changes the weights of the corpora. A problem
shares its data with its directions _rev and _both.

Only translate_files and parsing_files take files and a vocabulary. The other
problems bring their text or download it to --tmp_dir.

--runner=flink, for example, encodes the training text on many machines. It
needs `pip install '.[beam]'`. The data are the same, byte for byte.
docs/large_corpora.md describes it.

A summary goes to standard output, progress to standard error.
"""

import itertools
import os
import time

from keras_transformer import registry
from keras_transformer.bin.kt_datagen.datagen_flags import FLAGS
from keras_transformer.bin.kt_datagen.datagen_flags import check_flags
from keras_transformer.bin.kt_datagen.datagen_flags import make_encoder
from keras_transformer.bin.kt_datagen.datagen_flags import set_files
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.data.generation.corpora import format_corpus_name
from keras_transformer.errors import UserError

# A problem may have further reasons, which are shown as they are.
REASONS = {
    "empty_side": "dropped for an empty side",
    "bad_trees": "bad trees left out",
    "cleaning": "dropped by cleaning",
}


def main(argv):
    flags.require(FLAGS, "problem", "data_dir")
    tmp_dir = flags.find_tmp_dir(FLAGS)
    if os.path.exists(tmp_dir) and not os.path.isdir(tmp_dir):
        raise UserError(
            f"`--tmp_dir` must be a directory. Received: {tmp_dir}, "
            "which is a file. Name another path."
        )
    names = [name.strip() for name in FLAGS.problem.split(",")]
    # All names and flags are checked first, because generation can take hours.
    problems = [registry.get_problem(name, FLAGS.data_dir) for name in names]
    check_flags(problems)
    encoder = make_encoder(FLAGS)
    for problem in problems:
        problem.encoder = encoder
        set_files(problem)
        _generate(problem)


def _generate(problem):
    manifest_time = _time_of_manifest(problem)
    start = time.monotonic()
    manifest = problem.generate(flags.find_tmp_dir(FLAGS))
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
        name = format_corpus_name(corpus["name"], corpus.get("tag"))
        line = f"{name}: {pairs:,} pairs"
        if has_weights:
            line += f", {weight * pairs:,.0f} in an epoch (weight {weight:g})"
        lines.append(line)
    return lines


def _num_read(counts):
    # Dropped pairs count, since reading them takes time as well.
    return counts["pairs"] + sum(counts["dropped"].values())


def _time_of_manifest(problem):
    from keras_transformer.data.generation.generation import MANIFEST_FILE

    path = os.path.join(problem.directory, MANIFEST_FILE)
    return os.stat(path).st_mtime_ns if os.path.exists(path) else None


run = command.make_script(main, FLAGS)
