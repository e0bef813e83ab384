"""Opens a model in any directory that the commands write."""

import dataclasses
import os
import tempfile

from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.decoding.engines.engine import check_capabilities
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.plan import Plan
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.remembering_translator import (
    RememberingTranslator,
)
from keras_transformer.decoding.steps import check_translates
from keras_transformer.decoding.translation_model import Reranker
from keras_transformer.decoding.translator import Translator
from keras_transformer.formats import exported


def load(
    path: exported.Paths,
    step: int | str | list[int | str] | None = None,
    precision: str = "float32",
    tokenized: bool = False,
    target_language: str | None = None,
    reranker: Reranker | None = None,
    engine: str = "auto",
    memory: str | os.PathLike | None = None,
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
            Keras for whatever CTranslate2 lacks; see `plan_model`.
        memory: File of corrections, which is made if it does not exist. The
            translator is then a `RememberingTranslator`. Defaults to None.

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
    paths = exported.list_directories(path)
    plan = plan_model(
        [_find_directory(one, temporary) for one in paths],
        step,
        engine,
        precision,
        {"rerank_by": reranker},
        tokenized=tokenized,
        target_language=target_language,
        temporary=temporary,
    )
    check_capabilities(plan.capabilities, {"step": step})
    if memory is not None:
        # Opened last, because opening makes a file that does not exist.
        check_translates("memory", plan.linearization)
        plan = dataclasses.replace(plan, memory=TranslationMemory(memory))
    return load_plan(plan, reranker)


def load_plan(plan: Plan, reranker: Reranker | None = None) -> Translator:
    """Loads what was planned, as a `Parser` if it parses.

    The `reranker` defaults to one of the plan's `reverse` model, which computes
    in the precision of the plan.
    """
    if plan.reverse and not reranker:
        reverse = dataclasses.replace(plan.reverse, precision=plan.precision)
        reranker = Reranker(load_plan(reverse), plan.rerank_weight)
    engine = plan.open_engine()
    steps = plan.make_steps(engine.codec)
    if plan.linearization and not reranker:
        return Parser(engine, plan.tokenized, steps)
    if plan.memory:
        return RememberingTranslator(plan.memory, engine, steps, reranker)
    return Translator(engine, steps, reranker)


def _find_directory(path, temporary):
    """Returns the directory of a run or an exported model.

    A Marian model is imported into a directory that joins those in `temporary`.
    """
    # Imported here because exported models start faster without it.
    from keras_transformer.formats import hub
    from keras_transformer.formats.marian import reader as marian

    origin = os.fspath(path)
    if hub.is_hub_name(origin):
        path = hub.download(origin)
    elif not marian.is_marian(path):
        return path
    temporary.append(tempfile.TemporaryDirectory())
    run_path = os.path.join(temporary[-1].name, "run")
    return marian.import_marian(path, run_path, origin).path
