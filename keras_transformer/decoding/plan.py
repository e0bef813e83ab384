"""Plans which model translates, and by which engine, before a backend loads."""

import dataclasses
import functools
import glob
import logging
import os
import tempfile
import typing

from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.data.text.text_files import sha256
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.decoding.automatic_engine import AUTOMATIC
from keras_transformer.decoding.automatic_engine import ON_CTRANSLATE2
from keras_transformer.decoding.automatic_engine import AutomaticEngine
from keras_transformer.decoding.engines import engine as engines
from keras_transformer.decoding.engines import keras_engine
from keras_transformer.decoding.preparation import Preparation
from keras_transformer.decoding.steps import Step
from keras_transformer.decoding.steps import check_translates
from keras_transformer.decoding.steps.affixes import FinalEmoji
from keras_transformer.decoding.steps.affixes import TargetTag
from keras_transformer.decoding.steps.trees import Trees
from keras_transformer.errors import UserError
from keras_transformer.files.reading import hash_record
from keras_transformer.formats import exported
from keras_transformer.formats.ctranslate2 import conversion
from keras_transformer.formats.ctranslate2 import engine as ctranslate2
from keras_transformer.formats.saved_model import engine as saved_model
from keras_transformer.parsing.linearization import find_linearization
from keras_transformer.runs import run_directory
from keras_transformer.scoring.quality import QualityEstimate
from keras_transformer.search.options import MAX_SOURCE_TOKENS
from keras_transformer.search.options import DecodeOptions

ENGINES = ("auto", "keras", "ctranslate2")
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Plan:
    """A model that can be loaded, and what is known of it before.

    `plan_model` makes one. Whatever opens a model begins with it: it names the
    engine and the reason for it, and `checker` checks the texts, so that every
    input error comes before the seconds that a backend takes to load.
    """

    paths: list  # directories: one, or the runs of an ensemble
    format: str | None  # of an exported model; None for runs
    engine: str  # "keras", "ctranslate2" or "saved_model"
    capabilities: engines.Capabilities
    options: DecodeOptions  # the defaults, which a call may change
    linearization: str | None  # of the trees that a parsing model writes
    vocabularies: Vocabularies | None = None  # a SavedModel's graph has them
    max_tokens: int = MAX_SOURCE_TOKENS
    trained_length: int = engines.EXPORT_LENGTH
    reason: str = ""  # why the engine of a run is not CTranslate2
    is_automatic: bool = False  # whether the engine is not the user's choice
    precision: str = "float32"
    runs: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)  # of checkpoints
    temporary: list = dataclasses.field(default_factory=list)  # imported runs
    tokenized: bool = False
    target_language: str | None = None
    reverse: "Plan | None" = None  # of the model that reranks
    rerank_weight: float = 1.0
    memory: TranslationMemory | None = None  # of corrections
    max_length = None  # of a translation, which only an engine limits

    def __post_init__(self):
        if self.tokenized and not self.linearization:
            raise UserError(
                "`tokenized` needs a model that parses. Received: a model "
                "that translates. Leave it out."
            )
        if self.memory:
            check_translates("memory", self.linearization)

    @functools.cached_property
    def checker(self) -> Preparation | None:
        """Checks texts before the model loads; None for a SavedModel."""
        if self.vocabularies is None:
            return None
        codec = engines.Codec(self.vocabularies, self.max_tokens)
        steps = self.make_steps(codec)
        if self.linearization:
            steps.append(Trees(codec, self.tokenized))
        reverse = self.reverse and self.reverse.checker
        return Preparation(self, codec, steps, reverse)

    def change_options(self, **changes) -> DecodeOptions:
        """Returns the options of the model with some of them changed."""
        if self.checker:
            return self.checker.change_options(**changes)
        engines.check_capabilities(self.capabilities, changes)
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

    def open_engine(self) -> engines.Engine:
        """Loads the model into its engine, which may import a backend."""
        if self.format == "ctranslate2":
            return ctranslate2.CTranslate2Engine(self.paths[0])
        if self.format == "saved_model":
            return saved_model.SavedModelEngine(self.paths[0])
        _log.debug("Translating with %s.", self.describe_engine())
        if self.engine == "keras":
            return self._load_keras()
        try:
            fast = self._open_converted()
        except OSError as error:  # no room for the converted model
            if not self.is_automatic or self.precision == "int8":
                raise
            _log.debug("Translating with Keras: %s.", error)
            return self._load_keras()
        if self.is_automatic:
            return AutomaticEngine(fast, self._load_keras)
        return fast

    def make_steps(self, codec: engines.Codec) -> list[Step]:
        """Returns the steps of a translator or a parser."""
        steps: list[Step] = [] if self.linearization else [FinalEmoji()]
        if self.target_language:
            steps.insert(0, TargetTag(self.target_language, codec))
        return steps

    def describe_engine(self) -> str:
        """Returns a description for the log and for records of scores."""
        if self.engine == "ctranslate2":
            # Imported here because Keras translates without it.
            from ctranslate2 import __version__

            return f"CTranslate2 {__version__}"
        return f"Keras, because {self.reason}" if self.reason else "Keras"

    def hash_content(self) -> str:
        """Returns a hash of all files that a translation depends on."""
        if self.format:
            version = exported.find_newest_version(self.paths[0])
            return hash_record([[_hash_files(version)]])
        pairs = zip(self.runs, self.steps)
        return hash_record([run.describe_content(step) for run, step in pairs])

    def _load_keras(self):
        precision = self.precision
        if precision in ("auto", "int8"):  # long texts beside CTranslate2's
            precision = "float32"
        return keras_engine.KerasEngine.load(self.runs, self.steps, precision)

    def _open_converted(self):
        """Opens the checkpoint of a run as a `CTranslate2Engine`.

        The first call converts the checkpoint, in float32, and leaves the model
        beside it for later ones. If nothing can be written there, the model
        goes to a temporary directory that exists as long as the engine.
        """
        (run,), (step,) = self.runs, self.steps
        owned = [*self.temporary]
        try:
            path = conversion.find_or_convert(run, step)
        except OSError:
            # The directory is read-only, or its disk is full.
            owned.append(
                tempfile.TemporaryDirectory(prefix="keras_transformer_")
            )
            path = owned[-1].name
            conversion.write_converted(run, step, path)
        return ctranslate2.CTranslate2Engine(
            path,
            "cpu" if self.is_automatic else "auto",
            "int8" if self.precision == "int8" else "float32",
            self.trained_length,
            self.capabilities,
            owned,
        )


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
        path, step, engine: As in `load`.
        precision: As in `load`, or "auto", which the caller resolves before it
            loads a run on Keras.
        request: Dictionary for `check_capabilities`.
        **assembly: Fields of the `Plan`, such as `tokenized`.

    Raises:
        UserError: If there is no model or a part of it is faulty, or if the
            engine cannot do what is asked for.
    """
    paths = exported.list_directories(path)
    format = exported.find_format(paths)
    if format == "ctranslate2":
        export = ctranslate2.read_export(paths[0])
        fields = {
            "engine": format,
            "capabilities": ctranslate2.find_capabilities(export.record),
            "options": export.options,
            "linearization": find_linearization(export.vocabularies.targets),
            "vocabularies": export.vocabularies,
            "max_tokens": export.record["max_tokens"],
        }
    elif format == "saved_model":
        record, options = saved_model.check_saved_model(paths[0])
        fields = {
            "engine": format,
            "capabilities": saved_model.make_capabilities(paths[0], options),
            "options": options,
            "linearization": record.get("linearization"),
        }
    else:
        fields = _plan_backend(paths, step, engine, precision, request or {})
    return Plan(paths=paths, format=format, **fields, **assembly)


def plan_runs(
    path: exported.Paths,
    step: int | str | list[int | str] | None = None,
    engine: str = "auto",
    request: dict[str, typing.Any] | None = None,
) -> Plan:
    """Plans as `plan_model` does, but refuses an exported model."""
    for one in exported.list_directories(path):
        run_directory.RunDirectory(one)
    return plan_model(path, step, engine, request=request)


def _plan_backend(paths, step, engine, precision, request):
    """Returns the fields of the plan of runs."""
    runs = run_directory.open_runs(paths)
    steps = run_directory.find_steps(runs, step)
    name, reason = _choose_engine(runs, engine, precision, request)
    capabilities = keras_engine.RUN
    if len(runs) > 1:
        capabilities = keras_engine.ENSEMBLE
    elif engine == "ctranslate2":
        capabilities = ON_CTRANSLATE2
    # A converted checkpoint has been checked.
    if name == "keras" or not conversion.is_converted(runs[0], steps[0]):
        from keras_transformer.runs.weights import check_checkpoint

        for run, number in zip(runs, steps):
            check_checkpoint(run, number)
    return {
        "engine": name,
        "capabilities": capabilities,
        "options": DecodeOptions.from_hparams(runs[0].hparams),
        "linearization": runs[0].linearization,
        "vocabularies": runs[0].vocabularies,
        "trained_length": runs[0].hparams.max_length,
        "reason": reason,
        "is_automatic": engine == "auto",
        "precision": precision,
        "runs": runs,
        "steps": steps,
    }


def _hash_files(directory):
    return sorted(
        [os.path.relpath(path, directory), sha256(path)]
        for path in glob.glob(f"{glob.escape(directory)}/**", recursive=True)
        if os.path.isfile(path)
    )


def _choose_engine(runs, engine, precision, request):
    """Returns "keras" or "ctranslate2", and the reason for Keras if any."""
    if engine not in ENGINES:
        raise UserError(
            f"`engine` must be one of {', '.join(ENGINES)}. Received: "
            f"engine={engine!r}. Use auto."
        )
    reason = ""
    if engine != "keras":
        reason = _find_obstacle(runs, precision, request, engine == "auto")
        if not reason:
            return "ctranslate2", ""
    if engine == "ctranslate2":
        raise UserError(
            "`engine` must support everything that is asked for. Received: "
            f"engine=ctranslate2, but {reason}. Use engine=keras."
        )
    if precision == "int8":
        but = f", but {reason}" if reason else f" with engine={engine}"
        raise UserError(
            "`precision` int8 needs CTranslate2. Received: "
            f"precision=int8{but}. Use float32."
        )
    return "keras", reason


def _find_obstacle(runs, precision, request, is_automatic):
    """Returns why CTranslate2 cannot translate with runs, or None.

    With `is_automatic`, the user has not asked for CTranslate2. Then anything
    whose result depends on the engine, or that is faster with Keras, is also an
    obstacle. The result fits after the word "because".
    """
    run, *others = runs
    capabilities = AUTOMATIC if is_automatic else ON_CTRANSLATE2
    if others:
        return "CTranslate2 translates with a single run, not an ensemble"
    model = run.hparams.model
    understood = conversion.find_understood(model)
    if field := exported.find_unknown_field(model, understood):
        value = getattr(model, field.name)
        return f"CTranslate2 lacks {field.name}={value}"
    if precision not in ("auto", "float32", "int8"):
        return f"CTranslate2 does not compute in {precision} here"
    if name := engines.find_unsupported(capabilities, request):
        return f"CTranslate2 does not support {name} as Keras does"
    if run.linearization:
        return "CTranslate2 cannot restrict a search to well-formed trees"
    try:
        from ctranslate2 import get_cuda_device_count
    except ImportError as error:
        return f"CTranslate2 cannot be imported ({error})"
    if is_automatic and get_cuda_device_count():
        return "this machine has a GPU"
    if precision == "int8" and ctranslate2.may_overflow():
        return "sums of 8-bit products can overflow on this processor"
    return None
