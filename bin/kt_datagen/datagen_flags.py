"""The flags of kt-datagen, and what they say about a problem's data."""

import os
import shlex

from keras_transformer import fields
from keras_transformer.bin.shared import corpus_flags
from keras_transformer.bin.shared import flags
from keras_transformer.errors import UserError
from keras_transformer.parsing.symbols import LINEARIZATIONS

# Flags of `translate_files` that parsing also takes.
EITHER_SETTINGS = ("vocab_size", "vocabulary", "normalize_text")
TREE_SETTINGS = ("parsed_trees", "treebank_weight", "linearization")
TREE_SETTINGS += ("augmentation_rounds", "skip_bad")
TEXT_SETTINGS = ("source_vocab_size", "shared_vocabulary", "tokenized")
TEXT_SETTINGS += ("vocabulary_temperature",)
TRAINED = ("vocab_size", "source_vocab_size", "shared_vocabulary", "symbols")
TRAINED += ("vocabulary_temperature", "normalize_text")


VOCABULARY_GROUP = flags.group(
    "Vocabulary of translate_files",
    vocabulary=flags.path(
        "SentencePiece model to use, or the directory of a run, an average, "
        "data, or an export in the format ctranslate2 or saved_model_ids. "
        "Default: train one on the text. parsing_files takes it, too."
    ),
    shared_vocabulary=flags.switch(
        "Whether source and target have one vocabulary. Two are better where "
        "they have different scripts, and need tied_embeddings=target in the "
        "training. Default: true.",
        default=None,
    ),
    source_vocab_size=flags.count(
        "Number of subwords in the source's vocabulary. Default: vocab_size.",
        maximum=flags.MAX_VOCAB_SIZE,
    ),
    symbols=flags.text(
        "Texts that are one subword each wherever they occur, separated by "
        "commas, such as <num>,<url>. Default: none."
    ),
    vocabulary_temperature=flags.amount(
        "Above 1, small corpora get a larger share of the text that the "
        "vocabulary is trained on: in proportion to their size to the power of "
        "1 / vocabulary_temperature.",
        default=1,
        maximum=1_000,
        minimum=1,
    ),
    normalize_text=flags.switch(
        "Whether the vocabulary normalises text: white space becomes a space, "
        "invisible marks go, and letters get one spelling. parsing_files takes "
        "it, too. Default: true.",
        default=None,
    ),
    tokenized=flags.switch(
        "The text has spaces between its tokens already, so no score tokenises "
        "it again."
    ),
)
RUNNER_GROUP = flags.group(
    "Several machines",
    runner=flags.choice(
        ("local", "direct", "prism", "dask", "flink", "spark")
        + ("dataflow", "portable"),
        "Where the training text is encoded: local is this machine with all "
        "its cores, and the others are runners of Apache Beam.",
        default="local",
    ),
    pipeline_options=flags.text(
        "Options of Apache Beam for the runner, such as '--project=mine "
        "--region=europe-west1 --temp_location=gs://mine/tmp'.",
        default="",
    ),
)
TREE_GROUP = flags.group(
    "Files of parsing_files",
    train_trees=flags.paths(
        "Files or directories of the training trees, separated by commas. "
        "wsj:02-21 means the folders or files 02 to 21 in wsj."
    ),
    dev_trees=flags.paths("Files or directories of the development trees."),
    test_trees=flags.paths(
        "Files or directories of the test trees. Default: none."
    ),
    parsed_trees=flags.paths(
        "Files or directories of automatically parsed trees that training "
        "adds to the treebank. Default: none."
    ),
    treebank_weight=flags.count(
        "Number of times that an epoch goes through the training trees for "
        "each time through the parsed trees.",
        default=1,
        maximum=1_000,
    ),
    linearization=flags.choice(
        LINEARIZATIONS,
        "Form of a tree as a sequence. normalised writes XX for every "
        "word, tagged its part-of-speech tag, and lexicalised the word "
        "itself. in_order also writes the words, but each opening bracket "
        "after the first child of its constituent.",
        default="normalised",
    ),
    augmentation_rounds=flags.whole(
        "Number of times that an epoch goes through the training trees, "
        "together with new trees made of their parts; 0 uses the training "
        "trees alone. Parsed trees are not augmented.",
        default=0,
        maximum=1_000,
    ),
    skip_bad=flags.switch(
        "Report malformed trees and leave them out, instead of failing."
    ),
)
FLAGS = flags.define(
    flags.group(
        flags.UNGROUPED,
        problem=flags.text(
            "Name of the problem, or several names separated by commas. The "
            "suffix _rev swaps source and target, and _both stands for both "
            "directions together. All of them share their data."
        ),
        data_dir=flags.path(
            "Directory to write to, with one folder for each problem."
        ),
        tmp_dir=flags.SHARED,
    ),
    corpus_flags.GROUP,
    VOCABULARY_GROUP,
    RUNNER_GROUP,
    TREE_GROUP,
)


def check_flags(problems):
    """Checks that some problem accepts each flag of the command line."""
    sides = {
        side for problem in problems for side in getattr(problem, "sides", ())
    }
    # A problem silently ignores flags that are meant for another one.
    for (_, group), side, taker in (
        (corpus_flags.GROUP, "source", "translate_files"),
        (VOCABULARY_GROUP, "source", "translate_files"),
        (TREE_GROUP, "trees", "parsing_files"),
    ):
        for name in group:
            is_taken = side in sides or (sides and name in EITHER_SETTINGS)
            if not is_taken:
                way_out = f"Remove it, or use --problem={taker}."
                flags.refuse(FLAGS, [name], f"needs {taker}", way_out)


def set_files(problem):
    """Passes the files that the flags name, with their settings."""
    sides = getattr(problem, "sides", ())
    files = {
        split: tuple(_value(f"{split}_{side}") for side in sides)
        for split in corpus_flags.SPLITS
    }
    names = EITHER_SETTINGS + TREE_SETTINGS
    settings = {}
    if "source" in sides:
        names = EITHER_SETTINGS + TEXT_SETTINGS
        settings = corpus_flags.settings(FLAGS)
        settings["symbols"] = FLAGS.symbols.split(",") if FLAGS.symbols else []
        if len(FLAGS.train or []) < 2:
            rule = "needs several corpora, each with its --train"
            flags.refuse(FLAGS, ["vocabulary_temperature"], rule)
    settings |= {name: _value(name) for name in names}
    if path := FLAGS.vocabulary:
        rule = f"has no effect with --vocabulary={path}, which is not trained"
        flags.refuse(FLAGS, TRAINED, rule)
        path = find_vocabulary(path)
    settings["vocabulary"] = path or None
    further = ("parsed_trees", "corpora", "alignments")
    # Most problems bring their text. Those that need files raise an error
    # in `generate`, unless their data exists already.
    if any(map(any, files.values())) or any(map(settings.get, further)):
        problem.use_files(files, **settings)


def _value(name):
    """Returns the value of a flag, with the paths of a list joined."""
    value = FLAGS[name].value
    return ",".join(value) if isinstance(value, list) else value


def find_vocabulary(path):
    """Returns the path of the SentencePiece model at or in a path.

    If each side has a model, returns the path of their directory.
    """
    if os.path.exists(path) and not os.path.isdir(path):
        return path
    from keras_transformer.data.vocabulary.subwords import (
        SOURCE_VOCABULARY_FILE,
    )
    from keras_transformer.data.vocabulary.subwords import VOCABULARY_FILE
    from keras_transformer.formats.exported import find_newest_version

    newest = find_newest_version(path)
    # A run, data or a CTranslate2 model; a SavedModel; a `data_dir`.
    for folder in (
        path,
        newest,
        os.path.join(newest, "assets.extra"),
        os.path.join(path, "translate_files"),
        os.path.join(path, "parsing_files"),
    ):
        model = os.path.join(folder, VOCABULARY_FILE)
        if os.path.isfile(model):
            source_model = os.path.join(folder, SOURCE_VOCABULARY_FILE)
            return folder if os.path.isfile(source_model) else model
    fault = f"holds no {VOCABULARY_FILE}"
    if not os.path.exists(path):
        fault = "does not exist"
    raise UserError(
        "`--vocabulary` must be a SentencePiece model, or the directory of a "
        "run, an average, data, or an export in the format ctranslate2 or "
        f"saved_model_ids. Received: --vocabulary={path}, which {fault}. "
        "Name another path."
    )


def make_encoder(values):
    """Returns the encoder that the flags choose."""
    # Imported here because they import NumPy, which would slow --help down.
    from keras_transformer.data.generation.distributed_encoding import (
        DistributedEncoder,
    )
    from keras_transformer.data.generation.encoding import LocalEncoder

    if values.runner != "local":
        return DistributedEncoder(
            values.runner, _parse_pipeline_options(values)
        )
    rule = "needs a runner of Apache Beam, not --runner=local"
    flags.refuse(values, ["pipeline_options"], rule)
    return LocalEncoder()


def _parse_pipeline_options(values):
    shown = flags.show(values, "pipeline_options")
    try:
        arguments = shlex.split(values.pipeline_options)
    except ValueError as error:
        raise UserError(
            "`--pipeline_options` must be arguments as a shell reads them. "
            f"Received: {shown} ({error}). Correct the quotation marks."
        ) from error
    for argument in arguments:
        name = argument.split("=")[0]
        if not name.startswith("--") or name == "--runner":
            raise UserError(
                "`--pipeline_options` must be of the form --name=value, "
                f"without --runner. Received: {shown}, where "
                f"{fields.quote(argument)} is not. Correct it; --runner is a "
                "flag of kt-datagen."
            )
    return arguments
