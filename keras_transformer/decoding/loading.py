"""Opens a model in any directory that the commands write."""

import os
import tempfile

from keras_transformer.decoding.engines import check_capabilities
from keras_transformer.decoding.engines.automatic import open_engine
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.selection import Reranker
from keras_transformer.decoding.steps.affixes import FinalEmoji
from keras_transformer.decoding.steps.affixes import TargetTag
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.formats import exported


def load(
    path: exported.Paths,
    step: int | str | list[int | str] | None = None,
    precision: str = "float32",
    tokenized: bool = False,
    target_language: str | None = None,
    reranker: Reranker | None = None,
    engine: str = "auto",
) -> Translator:
    """Opens a run or an exported model as a translator or a parser.

    Args:
        path: Directory that kt-trainer, kt-avg-checkpoints, kt-import or
            kt-exporter wrote: a run, a SavedModel or a CTranslate2 model. It
            may also be a model of transformers' Marian, or its name on Hugging
            Face's hub, such as "hf://Helsinki-NLP/opus-mt-en-de". A list of
            runs makes an ensemble, see `Translator.load`.
        step: Integer step of a run's checkpoint, or "best". For an ensemble it
            can be a list with an entry for each run. Defaults to the newest.
        precision: "float32", "bfloat16" or "float16", the precision that a
            run's model computes in, or "int8" on CTranslate2. It has no effect
            on an exported model. Defaults to "float32".
        tokenized: Whether a parser takes words with spaces between them
            instead of raw text. Defaults to False.
        target_language: Tag that the model was trained with, such as "fr",
            which is put before each text. Defaults to None.
        reranker: A `Reranker`. Defaults to None.
        engine: "keras" or "ctranslate2", which computes the translations of a
            run. Defaults to "auto", which is CTranslate2 on a processor, and
            Keras for whatever CTranslate2 lacks; see `choose_engine`.

    Returns:
        A `Parser` if the model was trained to parse. Otherwise a `Translator`.

    Raises:
        UserError: If a directory holds no model that can be loaded, if the
            runs of an ensemble have different vocabularies, or if `tokenized`
            is True for a model that translates.

    Example:

        model = load("runs/ende")
        model(["A dog is running."])  # ["Ein Hund läuft."]
        ensemble = load(["runs/ende1", "runs/ende2"])
        french = load("runs/many", target_language="fr")
    """
    temporary: list[tempfile.TemporaryDirectory] = []
    paths = [
        _find_directory(one, temporary)
        for one in exported.list_directories(path)
    ]
    request = {"rerank_by": reranker}
    engine = open_engine(paths, step, precision, engine, request)
    engine.imported = temporary  # these exist as long as the engine
    return _assemble(engine, tokenized, target_language, reranker)


def _find_directory(path, temporary):
    """Returns the directory of a run or an exported model."""
    # A Marian model is imported into a temporary directory, added to a list.

    # Imported here because exported models start faster without it.
    from keras_transformer.pretrained import hub
    from keras_transformer.pretrained import marian

    origin = os.fspath(path)
    if hub.is_hub_name(origin):
        path = hub.download(origin)
    elif not marian.is_marian(path):
        return path
    temporary.append(tempfile.TemporaryDirectory())
    run_path = os.path.join(temporary[-1].name, "run")
    return marian.import_marian(path, run_path, origin).path


def load_checker(path, tokenized=False, target_language=None, reranker=None):
    """Opens the vocabulary of runs, to check text before the model is loaded.

    Returns a `Translator` or `Parser` without a model, for work that needs only
    the vocabulary; see `texts.Preparation`. None for an exported model.
    """
    paths = exported.list_directories(path)
    if exported.find_format(paths):
        return None
    # Imported here because an exported model starts faster without it.
    from keras_transformer.decoding.engines.keras_engine import KerasEngine

    engine = KerasEngine.load_vocabularies(paths)
    return _assemble(engine, tokenized, target_language, reranker)


def check_loadable(path, step=None):
    """Checks a model as far as is possible before its backend is loaded.

    Returns the format of an exported model, or None for runs. A model of
    CTranslate2 needs no backend and is checked when it is loaded.
    """
    paths = exported.list_directories(path)
    format = exported.find_format(paths)
    # Imported here because each needs packages that the others do without.
    if format == "saved_model":
        from keras_transformer.decoding.engines import saved_model

        saved_model.check_saved_model(paths[0])
    elif format is None:
        from keras_transformer.decoding.engines import keras_engine
        from keras_transformer.runs.weights import check_checkpoint

        runs = keras_engine.open_runs(paths)
        for run, found in zip(runs, keras_engine.find_steps(runs, step)):
            check_checkpoint(run, found)
    return format


def check_export(path, chosen, options):
    """Checks that an exported model supports what a user asks for.

    `chosen` is a dictionary of the flags of kt-decoder that are not at their
    defaults, `options` one of decoding options.
    """
    if exported.find_export_format(path) == "ctranslate2":
        from keras_transformer.decoding.engines import ctranslate2

        directory = exported.find_newest_version(path)
        record_path = os.path.join(directory, exported.EXPORT_FILE)
        record, decode_options = exported.read_export(record_path)
        capabilities = ctranslate2.find_capabilities(record)
    else:
        from keras_transformer.decoding.engines import saved_model

        record, decode_options = saved_model.check_saved_model(path)
        capabilities = saved_model.make_capabilities(path, decode_options)
        if "tokenized" in chosen and not record.get("linearization"):
            raise UserError(
                "`--tokenized` needs a model that parses. Received: "
                f"--tokenized with {path}, which translates. Remove it."
            )
    check_capabilities(capabilities, chosen, "--")
    check_capabilities(capabilities, options)
    decode_options.replace(**options)


def _assemble(engine, tokenized, target_language, reranker):
    steps = []
    if target_language:
        steps = [TargetTag(target_language, engine.codec)]
    if engine.linearization and not reranker:
        return Parser(engine, tokenized, steps)
    if tokenized:
        raise UserError(
            "`tokenized` needs a model that parses. Received: a model "
            "that translates. Leave it out."
        )
    return Translator(engine, [*steps, FinalEmoji()], reranker)
