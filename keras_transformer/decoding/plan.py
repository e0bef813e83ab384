"""Plans which model translates, and by which engine, before a backend loads."""

import dataclasses
import functools
import os
import typing

from keras_transformer.decoding.engine_plan import EnginePlan
from keras_transformer.decoding.engine_plan import plan_engine
from keras_transformer.decoding.engines.engine import Codec
from keras_transformer.decoding.engines.engine import check_capabilities
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.parser import Trees
from keras_transformer.decoding.preparation import Preparation
from keras_transformer.decoding.remembering_translator import (
    RememberingTranslator,
)
from keras_transformer.decoding.steps.affixes import FinalEmoji
from keras_transformer.decoding.steps.affixes import TargetTag
from keras_transformer.decoding.translation_model import Reranker
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.formats import exported
from keras_transformer.memory.store import TranslationMemory
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.scoring.quality import QualityEstimate
from keras_transformer.search.options import DecodeOptions


@dataclasses.dataclass(frozen=True)
class Plan(EnginePlan):
    """A model that can be loaded, and what is known of it before.

    `plan_model` makes one. Whatever opens a model begins with it: it names the
    engine and the reason for it, and `checker` checks the texts, so that every
    input error comes before the seconds that a backend takes to load.
    """

    tokenized: bool = False
    target_language: str | None = None
    reverse: "Plan | None" = None  # of the model that reranks
    rerank_weight: float = 1.0
    memory: TranslationMemory | None = None  # of corrections

    def __post_init__(self):
        if self.tokenized and not self.linearization:
            raise UserError(
                "`tokenized` needs a model that parses. Received: a model "
                "that translates. Leave it out."
            )
        if self.memory and self.linearization:
            raise UserError(
                "`memory` needs a model that translates. Received: a model "
                "that parses. Leave it out."
            )

    @functools.cached_property
    def checker(self) -> Preparation | None:
        """Checks texts before the model loads; None for a SavedModel."""
        if self.vocabularies is None:
            return None
        codec = Codec(self.vocabularies, self.max_tokens)
        steps = self._make_steps(codec)
        if self.linearization:
            steps.append(Trees(codec, self.tokenized))
        reverse = self.reverse and self.reverse.checker
        return Preparation(self, codec, steps, reverse)

    def change_options(self, **changes) -> DecodeOptions:
        """Returns the options of the model with some of them changed."""
        if self.checker:
            return self.checker.change_options(**changes)
        check_capabilities(self.capabilities, changes)
        return self.options.replace(**changes)

    def read_quality(self) -> QualityEstimate | None:
        """Reads the estimate that kt-evaluate fitted to the model, if any.

        It fits only scores of this model alone, at its checkpoint.
        """
        if self.format:
            version = exported.find_newest_version(self.paths[0])
            folder = exported.EXTRA if self.format == "saved_model" else ""
            return QualityEstimate.read(os.path.join(version, folder))
        if len(self.runs) > 1:
            return None
        return QualityEstimate.read(self.paths[0], *self.steps)

    def load(self, reranker: Reranker | None = None) -> Translator:
        """Loads the model as a `Parser` if it parses, else a `Translator`.

        The `reranker` defaults to one of the `reverse` model, if that is known.
        """
        if self.reverse and not reranker:
            reranker = Reranker(self.reverse.load(), self.rerank_weight)
        engine = self.open_engine()
        steps = self._make_steps(engine.codec)
        if self.linearization and not reranker:
            chart = self.open_chart(engine)
            return Parser(engine, self.tokenized, steps, chart)
        if self.memory:
            return RememberingTranslator(self.memory, engine, steps, reranker)
        return Translator(engine, steps, reranker)

    def _make_steps(self, codec):
        steps = []
        if self.target_language:
            steps.append(TargetTag(self.target_language, codec))
        return steps if self.linearization else [*steps, FinalEmoji()]


def plan_model(
    path: exported.Paths,
    step: int | str | list[int | str] | None = None,
    engine: str = "auto",
    precision: str = "float32",
    request: dict[str, typing.Any] | None = None,
    **assembly,
) -> Plan:
    """Finds a model and checks it as far as is possible without a backend.

    CTranslate2 is faster on a processor, and starts without TensorFlow. It
    translates with a run if it is installed, and if the run, the precision and
    the request need nothing that it lacks.

    Args:
        path, step: See `load`.
        engine: As in `load`.
        precision: As in `load`, or "auto", which the caller resolves before it
            loads a run on Keras.
        request: Dictionary of arguments, flags and decoding options by name;
            see `check_capabilities`.
        **assembly: Fields of the `Plan`, such as `tokenized`.

    Raises:
        UserError: If there is no model or a part of it is faulty, or if the
            engine cannot do what is asked for.
    """
    base = plan_engine(path, step, engine, precision, request)
    return Plan(**{**vars(base), **assembly})


def plan_runs(
    path: exported.Paths,
    step: int | str | list[int | str] | None = None,
    engine: str = "auto",
    request: dict[str, typing.Any] | None = None,
) -> Plan:
    """Plans as `plan_model` does, but refuses an exported model."""
    for one in exported.list_directories(path):
        RunDirectory(one)
    return plan_model(path, step, engine, request=request)
