"""The flags of kt-exporter for a shortlist of target subwords."""

from keras_transformer.bin.shared import corpus_flags
from keras_transformer.bin.shared import flags
from keras_transformer.export import shortlist
from keras_transformer.export.shortlist import NUM_RELATED
from keras_transformer.trees.target_text import find_linearization

GROUP = flags.group(
    "Shortlist of a CTranslate2 model",
    corpus_flags.corpora(
        "shortlist",
        "Text that the run was trained on, named as for kt-datagen: two files "
        "with a comma in between, or one that ends in .tsv or .tmx. Repeat the "
        "flag for several corpora. A translation then consists of subwords "
        "that are frequent in the text or belong to the subwords of the "
        "source, which is faster. Default: none, which allows all subwords.",
    ),
    flags.count(
        "shortlist_size",
        "Number of subwords of the target that belong to one of the source. "
        "More of them are slower and exclude fewer translations.",
        default=NUM_RELATED,
        maximum=flags.MAX_VOCAB_SIZE,
    ),
    "source_language",
    "target_language",
)


def check(values):
    """Checks the flags before the run is read.

    Args:
        values: The flags of the command.

    Raises:
        ValueError: If there is a shortlist for a SavedModel, a size without a
            shortlist, a weight, or a language without a TMX file.
    """
    corpora = values.shortlist or []
    if corpora and values.format != "ctranslate2":
        raise ValueError(
            "`--shortlist` must go with --format=ctranslate2, since a "
            "SavedModel computes the logits of all subwords. Received: "
            f"--shortlist with --format={values.format}. Leave it out, or use "
            "--format=ctranslate2."
        )
    if not corpora and values.shortlist_size != NUM_RELATED:
        raise ValueError(
            "`--shortlist_size` must go with --shortlist. Received: "
            f"--shortlist_size={values.shortlist_size} alone. Add the text to "
            "learn from, such as --shortlist=train.en,train.de."
        )
    corpus_flags.check_unweighted("shortlist", corpora)
    corpus_flags.languages_of(values, corpora)


def learn(values, run):
    """Learns the shortlist that the flags ask for.

    Args:
        values: The flags of the command.
        run: The `RunDirectory` of the model.

    Returns:
        A `Shortlist`, or None without the flag.

    Raises:
        ValueError: If the run parses, or if the text is unsuitable.
    """
    if not values.shortlist:
        return None
    if find_linearization(run.vocabulary):
        raise ValueError(
            "`--shortlist` must go with a run that translates. Received: "
            f"{run.path}, which parses. Leave it out."
        )
    languages = corpus_flags.languages_of(values, values.shortlist)
    pairs = shortlist.read_pairs(
        values.shortlist, languages, run.source_vocabulary
    )
    return shortlist.learn_shortlist(
        pairs, run.vocabularies, values.shortlist_size
    )
