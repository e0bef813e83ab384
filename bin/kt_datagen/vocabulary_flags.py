"""The flags of kt-datagen for the vocabulary of a user's own text."""

import os

from keras_transformer.bin.shared import flags
from keras_transformer.data.subwords import SOURCE_VOCABULARY_FILE
from keras_transformer.data.subwords import VOCABULARY_FILE
from keras_transformer.decoding.exported import find_newest_version
from keras_transformer.errors import UserError

NAMES = ["vocabulary", "symbols", "vocabulary_temperature", "tokenized"]
NAMES += ["shared_vocabulary", "source_vocab_size"]
TRAINED = ("vocab_size", "source_vocab_size", "shared_vocabulary", "symbols")
TRAINED += ("vocabulary_temperature",)

GROUP = flags.group(
    "Vocabulary of translate_files",
    flags.path(
        "vocabulary",
        "SentencePiece model to use, or the directory of a run, an average, "
        "data, or an export in the format ctranslate2 or saved_model_ids. "
        "Default: train one on the text. parsing_files takes it, too.",
    ),
    flags.switch(
        "shared_vocabulary",
        "Whether source and target have one vocabulary. Two are better where "
        "they have different scripts, and need tied_embeddings=target in the "
        "training. Default: true.",
        default=None,
    ),
    flags.count(
        "source_vocab_size",
        "Number of subwords in the source's own vocabulary. Default: "
        "vocab_size.",
        maximum=flags.MAX_VOCAB_SIZE,
    ),
    flags.text(
        "symbols",
        "Texts that are one subword each wherever they stand, separated by "
        "commas, such as <num>,<url>. Default: none.",
    ),
    flags.amount(
        "vocabulary_temperature",
        "Above 1, small corpora get a larger share of the text that the "
        "vocabulary is trained on: in proportion to their size to the power of "
        "1 / vocabulary_temperature.",
        default=1,
        maximum=1_000,
        minimum=1,
    ),
    flags.switch(
        "tokenized",
        "The text has spaces between its tokens already, so no score tokenises "
        "it again.",
    ),
)


def settings(values):
    """Returns the arguments of `TranslateFiles.use_files` on vocabularies.

    Args:
        values: The flags of the command.

    Raises:
        UserError: See `vocabulary_path`; or if there is a temperature for a
            single corpus.
    """
    vocabulary = vocabulary_path(values)
    if values.vocabulary_temperature != 1 and len(values.train or []) < 2:
        raise UserError(
            "`--vocabulary_temperature` must go with several corpora. "
            f"Received: --vocabulary_temperature="
            f"{values.vocabulary_temperature:g} with fewer than two --train. "
            "Leave it out."
        )
    return {
        "vocabulary": vocabulary,
        "symbols": values.symbols.split(",") if values.symbols else [],
        "vocabulary_temperature": values.vocabulary_temperature,
        "tokenized": values.tokenized,
        "shared_vocabulary": values.shared_vocabulary,
        "source_vocab_size": values.source_vocab_size,
    }


def vocabulary_path(values):
    """Returns the path of the SentencePiece model to use, or None.

    Args:
        values: The flags of the command.

    Raises:
        UserError: If a flag is at odds with a given vocabulary, or if there is
            none where the flag says.
    """
    path = values.vocabulary
    if not path:
        return None
    for name in TRAINED:
        if flags.is_changed(values, name):
            raise UserError(
                f"`--{name}` must go with a vocabulary that is trained. "
                f"Received: --{name} with --vocabulary={path}. Leave one of "
                "them out."
            )
    return find_vocabulary(path)


def find_vocabulary(path):
    """Returns the path of the SentencePiece model that a path stands for.

    Args:
        path: The model itself, or a directory that holds one.

    Raises:
        UserError: If nothing is there, or if a directory holds none or one
            for each side.
    """
    if os.path.exists(path) and not os.path.isdir(path):
        return path
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
            _check_shared(folder, path)
            return model
    fault = f"holds no {VOCABULARY_FILE}"
    if not os.path.exists(path):
        fault = "does not exist"
    raise UserError(
        "`--vocabulary` must be a SentencePiece model, or the directory of a "
        "run, an average, data, or an export in the format ctranslate2 or "
        f"saved_model_ids. Received: --vocabulary={path}, which {fault}. "
        "Name another path."
    )


def _check_shared(folder, path):
    if os.path.isfile(os.path.join(folder, SOURCE_VOCABULARY_FILE)):
        raise UserError(
            "`--vocabulary` must be one vocabulary for source and target. "
            f"Received: --vocabulary={path}, which has one for each. Name a "
            "SentencePiece model, or train new ones without --vocabulary."
        )
