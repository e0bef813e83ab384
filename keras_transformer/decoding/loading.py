"""Opens a model in any directory that the commands write."""

from keras_transformer.decoding.exported import export_format
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.saved_model_translator import check_options
from keras_transformer.decoding.saved_model_translator import check_saved_model
from keras_transformer.decoding.translator import Translator
from keras_transformer.search.options import DecodeOptions

# Flags of kt-decoder whose values an exported model has in it.
_FIXED = {
    "ctranslate2": ("checkpoint_step", "precision"),
    "saved_model": (
        "checkpoint_step",
        "precision",
        "prefix_file",
        "random_seed",
    ),
}


def check_loadable(path, step=None):
    """Checks what can be checked of a model without its backend.

    Commands call it before they load the backend, which takes seconds. A model
    of CTranslate2 needs no backend and is checked when it is loaded.

    Args:
        path, step: As for `load`.

    Returns:
        The format of an exported model, or None for a run.

    Raises:
        ValueError: If the directory holds no model that can be loaded.
    """
    format = export_format(path)
    if format == "saved_model":
        check_saved_model(path)
    elif format is None:
        # Imported here because an exported model starts faster without them.
        from keras_transformer.runs.run_directory import RunDirectory
        from keras_transformer.runs.weights import check_checkpoint

        check_checkpoint(RunDirectory(path), step)
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
    for name in _FIXED[format]:
        if name in chosen:
            raise ValueError(
                f"`--{name}` must go with a run, since an exported model has "
                f"no choice. Received: --{name}={chosen[name]} with {path}. "
                "Remove it, or name the directory of the run."
            )
    DecodeOptions().replace(**options)
    if format != "saved_model":
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
            wrote: a run, a SavedModel or a CTranslate2 model.
        step: Integer step of a run's checkpoint, or "best". Defaults to the
            newest.
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
        ValueError: If the directory holds no model that can be loaded, or if
            `tokenized` is True for a model that translates.

    Example:

        model = load("runs/ende")
        model(["A dog is running."])  # ["Ein Hund läuft."]
    """
    return _of_kind(Translator.load(path, step, precision), tokenized)


def load_checker(path, tokenized=False):
    """Opens the vocabulary of a run, to check text before the model is loaded.

    Args:
        path: Directory, see `load`.
        tokenized: Boolean, see `load`.

    Returns:
        A `Translator` or `Parser` without a model, which can do nothing but
        `check_lengths` and `check_translations`. None for an exported model.

    Raises:
        ValueError: See `load`.
    """
    if export_format(path):
        return None
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(path)
    return _of_kind(Translator(None, run.vocabulary, run.hparams), tokenized)


def _of_kind(translator, tokenized):
    # `Parser` raises the error if the model cannot parse.
    if tokenized or translator.linearization:
        return Parser(translator, tokenized)
    return translator
