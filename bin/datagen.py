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

Only translate_files, g2p_files and parsing_files take files and a vocabulary.
g2p_files has the flags of translate_files. The other problems bring their text
or download it to --tmp_dir.

--runner=flink, for example, encodes the training text on many machines. It
needs `pip install '.[beam]'`. The data are the same, byte for byte.
docs/large_corpora.md describes it.

A summary goes to standard output, progress to standard error.
"""

import itertools
import os
import shlex
import time

from keras_transformer import errors
from keras_transformer import registry
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import corpus_flags
from keras_transformer.bin.shared import flags
from keras_transformer.data.generation.corpora import format_corpus_name
from keras_transformer.errors import UserError
from keras_transformer.parsing.linearization import LINEARIZATIONS
from keras_transformer.token_ids import VOCABULARY_TYPES

# Titles of groups of flags.
VOCABULARY = "Vocabulary of translate_files"
TREES = "Files of parsing_files"
# Flags that both translate_files and parsing_files take.
EITHER_SETTINGS = ("vocab_size", "vocabulary", "normalize_text")
# A problem may have further reasons, which are shown as they are.
REASONS = {
    "empty_side": "dropped for an empty side",
    "bad_trees": "bad trees left out",
    "cleaning": "dropped by cleaning",
}

FLAGS = flags.define(
    """
  problem (text): Name of the problem, or several names separated by commas. The
    suffix _rev swaps source and target, and _both stands for both directions
    together. All of them share their data.
  data_dir (path): Directory to write to, with one folder for each problem.
  tmp_dir
""",
    corpus_flags.TABLE,
    f"""
{VOCABULARY}:
  vocabulary (path): SentencePiece model to use, or the directory of a run, an
    average, data, or an export in the format ctranslate2 or saved_model_ids.
    Default: train one on the text. parsing_files takes it, too.
  shared_vocabulary (optional switch): Whether source and target have one
    vocabulary. Two are better where they have different scripts, and need
    tied_embeddings=target in the training. Default: true.
  source_vocab_size (count, maximum {flags.MAX_VOCAB_SIZE}): Number of subwords
    in the source's vocabulary. Default: vocab_size.
  vocabulary_type ({"|".join(VOCABULARY_TYPES)}): What has an id in the
    vocabulary of both sides, or of the target: words are whatever spaces
    separate. vocab_size is only a maximum for characters and words. Default:
    the problem's.
  source_vocabulary_type ({"|".join(VOCABULARY_TYPES)}): What has an id in the
    source's vocabulary. Default: vocabulary_type.
  character_coverage (amount, maximum 1): Share of the training text whose
    characters have an id. Subwords spell the others in bytes; elsewhere they
    are unknown and left out. Default: 0.9999 for subwords, or else 1.
  symbols (text): Texts that are one subword each wherever they occur, separated
    by commas, such as <num>,<url>. Default: none.
  vocabulary_temperature (amount, default 1, minimum 1, maximum 1_000): Above 1,
    small corpora get a larger share of the text that the vocabulary is trained
    on: in proportion to their size to the power of 1 / vocabulary_temperature.
  normalize_text (optional switch): Whether the vocabulary normalises text:
    white space becomes a space, invisible marks go, and letters get one
    spelling. parsing_files takes it, too. Default: true.
  tokenized (switch): The text has spaces between its tokens already, so no
    score tokenises it again.
Several machines:
  runner (local|direct|prism|dask|flink|spark|dataflow|portable, default local):
    Where the training text is encoded: local is this machine with all its
    cores, and the others are runners of Apache Beam.
  pipeline_options (text, default ""): Options of Apache Beam for the runner,
    such as '--project=mine --region=europe-west1
    --temp_location=gs://mine/tmp'.
{TREES}:
  train_trees (paths): Files or directories of the training trees, separated by
    commas. wsj:02-21 means the folders or files 02 to 21 in wsj.
  dev_trees (paths): Files or directories of the development trees.
  test_trees (paths): Files or directories of the test trees. Default: none.
  parsed_trees (paths): Files or directories of automatically parsed trees that
    training adds to the treebank. Default: none.
  treebank_weight (count, default 1, maximum 1_000): Number of times that an
    epoch goes through the training trees for each time through the parsed
    trees.
  linearization ({"|".join(LINEARIZATIONS)}, default normalised): Form of a tree
    as a sequence. normalised writes XX for every word, tagged its
    part-of-speech tag, and lexicalised the word itself. in_order also writes
    the words, but each opening bracket after the first child of its
    constituent.
  augmentation_rounds (whole, default 0, maximum 1_000): Number of times that an
    epoch goes through the training trees, together with new trees made of their
    parts; 0 uses the training trees alone. Parsed trees are not augmented.
  skip_bad (switch): Report malformed trees and leave them out, instead of
    failing.
""",
    corpus=corpus_flags.CORPORA,
)


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
    _check_flags(problems)
    encoder = make_encoder()
    for problem in problems:
        problem.encoder = encoder
        _use_files(problem)
        _generate(problem, tmp_dir)


def _check_flags(problems):
    """Checks that some problem accepts each flag of the command line."""
    sides = {
        side for problem in problems for side in getattr(problem, "sides", ())
    }
    # A problem silently ignores flags that are meant for another one.
    for title, side, taker in (
        (corpus_flags.TITLE, "source", "translate_files"),
        (VOCABULARY, "source", "translate_files"),
        (TREES, "trees", "parsing_files"),
    ):
        for name in _list_flags(title):
            is_taken = side in sides or (sides and name in EITHER_SETTINGS)
            if not is_taken:
                way_out = f"Remove it, or use --problem={taker}."
                flags.refuse(FLAGS, [name], f"needs {taker}", way_out)


def _list_flags(title):
    return [flag.name for flag in flags.group_by_title(FLAGS)[title]]


def make_encoder():
    from keras_transformer.data.generation import distributed_encoding
    from keras_transformer.data.generation import encoding

    if FLAGS.runner == "local":
        rule = "needs a runner of Apache Beam, not --runner=local"
        flags.refuse(FLAGS, ["pipeline_options"], rule)
        return encoding.LocalEncoder()
    try:
        options = shlex.split(FLAGS.pipeline_options)
    except ValueError as error:
        rule = f"must be arguments as a shell reads them ({error})"
        way_out = "Correct the quotation marks."
        flags.refuse(FLAGS, ["pipeline_options"], rule, way_out)
    for option in options:
        name = option.split("=")[0]
        if not name.startswith("--") or name == "--runner":
            rule = "must be of the form --name=value, without --runner, and "
            rule += f"{errors.quote(option)} is not"
            way_out = "Correct it; --runner is a flag of kt-datagen."
            flags.refuse(FLAGS, ["pipeline_options"], rule, way_out)
    return distributed_encoding.DistributedEncoder(FLAGS.runner, options)


def _use_files(problem):
    """Passes the files that the flags name to a problem, with its settings."""
    sides = getattr(problem, "sides", ())
    if not sides:
        return
    files = {
        split: tuple(_value(f"{split}_{side}") for side in sides)
        for split in corpus_flags.SPLITS
    }
    # The other flags of a problem's group are arguments of `use_files`.
    title = VOCABULARY if "source" in sides else TREES
    names = {*EITHER_SETTINGS, *_list_flags(title)}
    names -= {f"{split}_{side}" for split in files for side in sides}
    settings = {name: _value(name) for name in names}
    if "source" in sides:
        settings |= corpus_flags.settings(FLAGS)
        settings["symbols"] = FLAGS.symbols.split(",") if FLAGS.symbols else []
        if len(FLAGS.train or []) < 2:
            rule = "needs several corpora, each with its --train"
            flags.refuse(FLAGS, ["vocabulary_temperature"], rule)
    if path := FLAGS.vocabulary:
        rule = f"has no effect with --vocabulary={path}, which is not trained"
        names = [*_list_flags(VOCABULARY), "vocab_size"]
        names = [n for n in names if n not in ("vocabulary", "tokenized")]
        flags.refuse(FLAGS, names, rule)
        settings["vocabulary"] = find_vocabulary(path)
    further = ("parsed_trees", "corpora", "alignments")
    # Without files, `generate` raises an error unless the data exist already.
    if any(map(any, files.values())) or any(map(settings.get, further)):
        problem.use_files(files, **settings)


def _value(name):
    value = FLAGS[name].value
    return ",".join(value) if isinstance(value, list) else value


def find_vocabulary(path):
    """Returns the path of the SentencePiece model at or in a path.

    If each side has a model, returns the path of their directory.
    """
    if os.path.exists(path) and not os.path.isdir(path):
        return path
    from keras_transformer.data.vocabulary.vocabularies import FILES
    from keras_transformer.formats.demo import find_directory
    from keras_transformer.formats.exported import EXTRA
    from keras_transformer.formats.exported import find_newest_version

    path = find_directory(path)
    newest = find_newest_version(path)
    # A run, data or a CTranslate2 model; a SavedModel; a `data_dir`.
    for folder in (
        path,
        newest,
        os.path.join(newest, EXTRA),
        os.path.join(path, "translate_files"),
        os.path.join(path, "g2p_files"),
        os.path.join(path, "parsing_files"),
    ):
        model, source_model = (os.path.join(folder, name) for name in FILES)
        if os.path.isfile(model):
            return folder if os.path.isfile(source_model) else model
    fault = f"holds no {FILES[0]}" if os.path.exists(path) else "does not exist"
    raise UserError(
        "`--vocabulary` must be a SentencePiece model, or the directory of a "
        "run, an average, data, or an export in the format ctranslate2 or "
        f"saved_model_ids. Received: --vocabulary={path}, which {fault}. "
        "Name another path."
    )


def _generate(problem, tmp_dir):
    manifest_time = _time_of_manifest(problem)
    start = time.monotonic()
    manifest = problem.generate(tmp_dir)
    seconds = time.monotonic() - start
    print(f"{problem.data_name} in {problem.directory}")
    if "source_vocab_size" in manifest:
        print(f"  vocabulary of the source {manifest['source_vocab_size']:,}")
        print(f"  vocabulary of the target {manifest['vocab_size']:,}")
    else:
        print(f"  vocabulary {manifest['vocab_size']:,}")
    num_read = 0
    for split, counts in manifest["splits"].items():
        _print_split(split, counts)
        # Dropped pairs count, since reading them takes time as well.
        num_read += counts["pairs"] + sum(counts["dropped"].values())
    for line in itertools.chain(*getattr(problem, "bad", {}).values()):
        print(f"  left out: {line}")
    if getattr(problem, "cleaning_report", None):
        print("\n".join(problem.cleaning_report.lines()))
    # `generate` writes the manifest last, and only if it made the data.
    if manifest_time == _time_of_manifest(problem):
        end = "Nothing to do: the data exists already."
    elif getattr(problem, "has_new_weights", False):
        end = "The weights are new; the text and its vocabulary are as before."
    else:
        end = f"Generated in {seconds:.1f} s, {num_read / seconds:,.0f} pairs/s"
        end += " including the vocabulary."
    print(f"  {end}")


def _print_split(split, counts):
    dropped = ", ".join(
        f"{number:,} {REASONS.get(reason, reason)}"
        for reason, number in counts["dropped"].items()
    )
    print(
        f"  {split:<5} {counts['pairs']:,} pairs, {counts['source_tokens']:,} "
        f"source and {counts['target_tokens']:,} target tokens; {dropped}"
    )
    corpora = counts.get("corpora", [])
    if len(corpora) == 1 and corpora[0]["weight"] == 1:
        return  # all of the text is one corpus
    for corpus in corpora:
        pairs, weight = corpus["pairs"], corpus["weight"]
        name = format_corpus_name(corpus["name"], corpus.get("tag"))
        line = f"    {name}: {pairs:,} pairs"
        if split == "train":
            line += f", {weight * pairs:,.0f} in an epoch (weight {weight:g})"
        print(line)


def _time_of_manifest(problem):
    from keras_transformer.data.generation.generation import MANIFEST_FILE

    path = os.path.join(problem.directory, MANIFEST_FILE)
    return os.stat(path).st_mtime_ns if os.path.exists(path) else None


run = command.make_script(main, FLAGS)
