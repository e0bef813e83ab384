"""Opens a model in any directory that the commands write."""

import os

from keras_transformer.decoding import ensembles
from keras_transformer.decoding.exported import EXPORT_FILE
from keras_transformer.decoding.exported import check_exportable
from keras_transformer.decoding.exported import export_format
from keras_transformer.decoding.exported import newest_version
from keras_transformer.decoding.exported import read_export
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.parser import find_tagger
from keras_transformer.decoding.saved_model_translator import check_options
from keras_transformer.decoding.saved_model_translator import check_saved_model
from keras_transformer.decoding.translator import Translator

# Flags of kt-decoder that an exported model does not support.
_UNSUPPORTED = {
    "ctranslate2": (
        "checkpoint_step",
        "glossary",
        "precision",
        "protect",
        "protected_patterns",
        "rerank_by",
        "write_alignments",
        "write_word_scores",
    ),
    "saved_model": (
        "checkpoint_step",
        "precision",
        "prefix_file",
        "protect",
        "protected_patterns",
        "random_seed",
        "rerank_by",
        "write_alignments",
        "write_word_scores",
    ),
}


def check_loadable(path, step=None):
    """Checks what can be checked of a model without its backend.

    Commands call it before they load the backend, which takes seconds. A model
    of CTranslate2 needs no backend and is checked when it is loaded.

    Args:
        path, step: As for `load`.

    Returns:
        The format of an exported model, or None for runs.

    Raises:
        ValueError: If a directory holds no model that can be loaded, or if the
            runs of an ensemble have different vocabularies.
    """
    paths = ensembles.directories(path)
    format = ensembles.format_of(paths)
    if format == "saved_model":
        check_saved_model(paths[0])
    elif format is None:
        # Imported here because an exported model starts faster without it.
        from keras_transformer.runs.weights import check_checkpoint

        runs = ensembles.open_runs(paths)
        for run, own_step in zip(runs, ensembles.steps_of(runs, step)):
            check_checkpoint(run, own_step)
    return format


def check_export(path, chosen, options):
    """Checks that an exported model can do what a user asks for.

    Args:
        path: Directory of an exported model.
        chosen: Dictionary of the flags of kt-decoder that are not at their
            defaults.
        options: Dictionary of decoding options.

    Raises:
        ValueError: If it would ignore one of them, or refuse it later.
    """
    format = export_format(path)
    for name in _UNSUPPORTED[format]:
        if name in chosen:
            raise ValueError(
                f"`--{name}` must go with a run, since this export does not "
                f"support it. Received: --{name}={chosen[name]} with {path}. "
                "Remove it, or name the directory of the run."
            )
    if format == "ctranslate2":
        record_path = os.path.join(newest_version(path), EXPORT_FILE)
        _, exported = read_export(record_path)
        check_exportable(exported.replace(**options))
        return
    record, exported = check_saved_model(path)
    check_options(path, exported, options)
    if "tokenized" in chosen and not record.get("linearization"):
        raise ValueError(
            "`--tokenized` must go with a model that parses. Received: "
            f"--tokenized with {path}, which translates. Remove it."
        )


def load(path, step=None, precision="float32", tokenized=False):
    """Opens a run or an exported model as a translator or a parser.

    Args:
        path: Directory that kt-trainer, kt-avg-checkpoints or kt-exporter
            wrote: a run, a SavedModel or a CTranslate2 model. A list of runs
            makes an ensemble, see `Translator.load`.
        step: Integer step of a run's checkpoint, or "best". For an ensemble it
            can be a list with an entry for each run. Defaults to the newest.
        precision: "float32", "bfloat16" or "float16", the precision that a
            run's model computes in. An exported model has its own. Defaults to
            "float32".
        tokenized: Whether a parser takes words with spaces between them
            instead of raw text. Defaults to False.

    Returns:
        A `Parser` if the model was trained to parse. Otherwise a `Translator`,
        `SavedModelTranslator` or `CTranslate2Translator`, which are called
        alike.

    Raises:
        ValueError: If a directory holds no model that can be loaded, if the
            runs of an ensemble have different vocabularies, or if `tokenized`
            is True for a model that translates.

    Example:

        model = load("runs/ende")
        model(["A dog is running."])  # ["Ein Hund läuft."]
        ensemble = load(["runs/ende1", "runs/ende2"])
    """
    path = ensembles.directories(path)  # an iterator can be read only once
    translator = Translator.load(path, step, precision)
    tagger = find_tagger(translator, path, step)
    return _of_kind(translator, tokenized, tagger)


def load_checker(path, tokenized=False):
    """Opens the vocabulary of runs, to check text before the model is loaded.

    Args:
        path: Directory or list of directories, see `load`.
        tokenized: Boolean, see `load`.

    Returns:
        A `Translator` or `Parser` without a model, which can do what needs the
        vocabulary alone, such as `check_lengths` and `num_tokens`. None for an
        exported model.

    Raises:
        ValueError: See `load`.
    """
    paths = ensembles.directories(path)
    if ensembles.format_of(paths):
        return None
    run = ensembles.open_runs(paths)[0]
    translator = Translator(
        None,
        run.vocabulary,
        run.hparams,
        source_vocabulary=run.source_vocabulary,
    )
    return _of_kind(translator, tokenized)


def _of_kind(translator, tokenized, tagger=None):
    if translator.linearization:
        return Parser(translator, tokenized, tagger)
    if tokenized:
        raise ValueError(
            "`tokenized` must go with a model that parses. Received: a model "
            "that translates. Leave it out."
        )
    return translator
