"""Plans which engine runs a model, before any backend is loaded."""

import dataclasses
import functools
import glob
import itertools
import logging
import os
import tempfile

from keras_transformer.data.text.text_files import sha256
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.decoding.engines import keras_engine
from keras_transformer.decoding.engines.engine import EXPORT_LENGTH
from keras_transformer.decoding.engines.engine import AttentiveEngine
from keras_transformer.decoding.engines.engine import Capabilities
from keras_transformer.decoding.engines.engine import Codec
from keras_transformer.decoding.engines.engine import Engine
from keras_transformer.decoding.engines.engine import find_unsupported
from keras_transformer.decoding.engines.engine import length_limit
from keras_transformer.errors import UserError
from keras_transformer.files.quiet import silence
from keras_transformer.files.records import hash_record
from keras_transformer.formats import exported
from keras_transformer.formats.ctranslate2 import conversion
from keras_transformer.formats.ctranslate2 import engine as ctranslate2
from keras_transformer.formats.saved_model import engine as saved_model
from keras_transformer.parsing.target_text import find_linearization
from keras_transformer.runs.run_directory import find_steps
from keras_transformer.runs.run_directory import open_runs
from keras_transformer.search.options import MAX_SOURCE_TOKENS
from keras_transformer.search.options import DecodeOptions

ENGINES = ("auto", "keras", "ctranslate2")
# What a run can do on CTranslate2.
ON_CTRANSLATE2 = dataclasses.replace(
    ctranslate2.CTRANSLATE2,
    description="A run on CTranslate2",
    remedy="the engine keras",
    supports=("checkpoints", *ctranslate2.CTRANSLATE2.supports),
)
# What it does there without being asked to. CTranslate2's samples depend on the
# other sentences, and Keras searches better for terms.
_SHARED = tuple({*ON_CTRANSLATE2.supports} - {"glossary", "samples"})
AUTOMATIC = dataclasses.replace(ON_CTRANSLATE2, supports=_SHARED)
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class EnginePlan:
    """The engine of a model, and what is known of the model before it loads."""

    paths: list  # directories: one, or the runs of an ensemble
    format: str | None  # of an exported model; None for runs
    engine: str  # "keras", "ctranslate2" or "saved_model"
    capabilities: Capabilities
    options: DecodeOptions  # the defaults, which a call may change
    linearization: str | None  # of the trees that a parsing model writes
    # A SavedModel has its vocabularies in its graph.
    vocabularies: Vocabularies | None = None
    max_tokens: int = MAX_SOURCE_TOKENS
    trained_length: int = EXPORT_LENGTH
    reason: str = ""  # why the engine of a run is not CTranslate2
    is_automatic: bool = False  # whether the engine is not the user's choice
    precision: str = "float32"
    runs: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)  # of checkpoints
    temporary: list = dataclasses.field(default_factory=list)  # imported runs
    max_length = None  # of a translation, which only an engine limits

    def open_engine(self) -> Engine:
        """Loads the model into its engine, which may import a backend."""
        if self.format == "ctranslate2":
            return ctranslate2.CTranslate2Engine(self.paths[0])
        if self.format == "saved_model":
            return saved_model.SavedModelEngine(self.paths[0])
        _log.debug("Translating with %s.", self.describe_engine())
        if self.engine == "ctranslate2":
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
        return self._load_keras()

    def open_chart(self, engine):
        """Returns the `Chart` of a run that parses, or None."""
        if not (self.runs and self.linearization):
            return None
        # Imported here because it loads Keras.
        from keras_transformer.parsing.chart import make_chart

        return make_chart(engine.model.list_models(), self.vocabularies)

    def describe_engine(self) -> str:
        """Returns a description for the log and for records of scores."""
        if self.engine == "ctranslate2":
            # Imported here because Keras translates without it.
            from ctranslate2 import __version__

            return f"CTranslate2 {__version__}"
        return f"Keras, because {self.reason}" if self.reason else "Keras"

    def hash_content(self) -> str:
        """Returns a hash of all files that a translation depends on."""
        contents = [
            run.describe_content(step)
            for run, step in zip(self.runs, self.steps)
        ]
        if self.format:
            version = exported.find_newest_version(self.paths[0])
            contents.append([_hash_files(version)])
        return hash_record(contents)

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


def plan_engine(
    path, step=None, engine="auto", precision="float32", request=None
):
    """Returns the `EnginePlan` of a model; see `plan_model`."""
    paths = exported.list_directories(path)
    format = exported.find_format(paths)
    if format == "ctranslate2":
        export = ctranslate2.read_export(paths[0])
        return EnginePlan(
            paths,
            format,
            format,
            ctranslate2.find_capabilities(export.record),
            export.options,
            find_linearization(export.vocabularies.targets),
            export.vocabularies,
            export.record["max_tokens"],
        )
    if format == "saved_model":
        record, options = saved_model.check_saved_model(paths[0])
        return EnginePlan(
            paths,
            format,
            format,
            saved_model.make_capabilities(paths[0], options),
            options,
            record.get("linearization"),
        )
    return _plan_runs(paths, step, engine, precision, request or {})


def _plan_runs(paths, step, engine, precision, request):
    runs = open_runs(paths)
    steps = find_steps(runs, step)
    name, reason = _choose_engine(runs, engine, precision, request)
    is_checked = name == "ctranslate2" and conversion.is_converted(
        runs[0], steps[0]
    )
    if not is_checked:
        _check_checkpoints(runs, steps)
    capabilities = keras_engine.RUN
    if len(runs) > 1:
        capabilities = keras_engine.ENSEMBLE
    elif engine == "ctranslate2":
        capabilities = ON_CTRANSLATE2
    return EnginePlan(
        paths,
        None,
        name,
        capabilities,
        DecodeOptions.from_hparams(runs[0].hparams),
        find_linearization(runs[0].vocabulary),
        runs[0].vocabularies,
        trained_length=runs[0].hparams.max_length,
        reason=reason,
        is_automatic=engine == "auto",
        precision=precision,
        runs=runs,
        steps=steps,
    )


def _hash_files(directory):
    return sorted(
        [os.path.relpath(path, directory), sha256(path)]
        for path in glob.glob(f"{glob.escape(directory)}/**", recursive=True)
        if os.path.isfile(path)
    )


def _check_checkpoints(runs, steps):
    # Imported here because a converted checkpoint has been checked.
    from keras_transformer.runs.weights import check_checkpoint

    for run, step in zip(runs, steps):
        check_checkpoint(run, step)


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
    if name := find_unsupported(capabilities, request):
        return f"CTranslate2 does not support {name} as Keras does"
    if find_linearization(run.vocabulary):
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


class AutomaticEngine(AttentiveEngine):
    """Searches with CTranslate2, and with Keras where that is needed.

    CTranslate2 lacks repeatable samples, the states and attention of all heads,
    and some terms and long texts. Keras is loaded at the first sentence that
    needs one of these. `fast` is the `CTranslate2Engine` of a run, and `load()`
    returns its `KerasEngine`.
    """

    capabilities = keras_engine.RUN
    max_length = None

    def __init__(self, fast, load):
        self._fast = fast
        self._load = load
        self.options = fast.options
        self.trained_length = fast.trained_length
        self.num_threads = fast.num_threads
        # The codec of a run, which takes longer texts.
        self.codec = Codec(fast.codec.vocabularies)

    def search(self, sentences, options, scored=True):
        """Searches for hypotheses of sentences, see `KerasEngine.search`."""
        request = {
            "glossary": sentences.terms,
            "temperature": options.temperature,
        }
        if find_unsupported(AUTOMATIC, request):
            return self._keras_engine.search(sentences, options, scored)
        prefixes = sentences.prefixes or itertools.repeat(())
        limits = [
            length_limit(len(source), len(prefix) + 1, options.extra_length)
            if source
            else 0
            for source, prefix in zip(sentences.sources, prefixes)
        ]
        return itertools.chain.from_iterable(
            engine.search(
                sentences._replace(sources=_keep(sentences.sources, numbers)),
                options,
                scored,
            )
            for engine, numbers in self._divide(limits)
        )

    def search_near(self, sources, pairs, options):
        """Searches near translations, see `KerasEngine.search_near`."""
        return self._keras_engine.search_near(sources, pairs, options)

    def score(self, sources, targets, options):
        """Scores translations of sentences, see `KerasEngine.score`."""
        return itertools.chain.from_iterable(
            engine.score(_keep(sources, numbers), targets, options)
            for engine, numbers in self._divide_pairs(sources, targets)
        )

    def attend(self, sources, target_ids):
        """Returns the `Attention` of each sentence and its translation."""
        return self._keras_engine.attend(sources, target_ids)

    def link_words(self, sources, target_ids, pattern, scored=True):
        """Returns the `WordLinks`, see `AttentiveEngine.link_words`."""
        links = [None] * len(sources)
        for engine, numbers in self._divide_pairs(sources, target_ids):
            of_engine = engine.link_words(
                [sources[i] for i in numbers],
                [target_ids[i] for i in numbers],
                pattern,
                scored,
            )
            for i, each in zip(numbers, of_engine):
                links[i] = each
        return links

    def _divide_pairs(self, sources, targets):
        # CTranslate2 takes one more position, for the beginning of a target.
        return self._divide(
            [
                max(len(source), len(target)) + 1
                for source, target in zip(sources, targets, strict=True)
            ]
        )

    def _divide(self, lengths):
        """Yields each engine that is needed, and the numbers of its sentences.

        A sentence is long or short by itself, whatever its neighbours are.
        """
        is_long = [length > self._fast.max_length for length in lengths]
        long = [i for i, each in enumerate(is_long) if each]
        if len(long) < len(lengths):
            yield self._fast, [i for i, each in enumerate(is_long) if not each]
        if long:
            yield self._keras_engine, long

    @functools.cached_property
    def _keras_engine(self):
        _log.debug("Loading Keras for what CTranslate2 does not support.")
        with silence():  # a library reports how it starts
            return self._load()


def _keep(sources, numbers):
    """Returns sources of which all but the numbered ones are blank."""
    kept = set(numbers)
    return [
        source if number in kept else []
        for number, source in enumerate(sources)
    ]
