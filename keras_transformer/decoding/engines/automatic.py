"""Opens the engine of a model, and chooses Keras or CTranslate2 for a run."""

import dataclasses
import functools
import logging
import tempfile
import typing

from keras_transformer.decoding.batching import length_limit
from keras_transformer.decoding.engines import find_unsupported
from keras_transformer.decoding.engines import keras_engine
from keras_transformer.decoding.engines.ctranslate2 import CTRANSLATE2
from keras_transformer.decoding.engines.ctranslate2 import CTranslate2Engine
from keras_transformer.decoding.engines.ctranslate2 import may_overflow
from keras_transformer.decoding.texts import Codec
from keras_transformer.errors import UserError
from keras_transformer.formats import ctranslate2_conversion
from keras_transformer.formats import exported
from keras_transformer.runs.weights import check_checkpoint
from keras_transformer.trees.target_text import find_linearization

ENGINES = ("auto", "keras", "ctranslate2")
# What a run can do on CTranslate2.
ON_CTRANSLATE2 = dataclasses.replace(
    CTRANSLATE2,
    description="A run on CTranslate2",
    remedy="the engine keras",
    supports=("checkpoints", *CTRANSLATE2.supports),
)
# What it does there without being asked to. Samples of CTranslate2 differ from
# those of Keras, and depend on the other sentences.
AUTOMATIC = dataclasses.replace(
    ON_CTRANSLATE2,
    supports=tuple(n for n in ON_CTRANSLATE2.supports if n != "samples"),
)
_log = logging.getLogger(__name__)


class Choice(typing.NamedTuple):
    """An engine for the translations of a run, and the reason for it."""

    engine: str  # "keras" or "ctranslate2"
    reason: str = ""  # why it is not CTranslate2

    def describe(self):
        """Returns a description for the log and for records of scores."""
        if self.engine == "ctranslate2":
            # Imported here because Keras translates without it.
            import ctranslate2

            return f"CTranslate2 {ctranslate2.__version__}"
        return f"Keras, because {self.reason}" if self.reason else "Keras"


def choose_engine(runs, engine="auto", precision="float32", request=None):
    """Returns the `Choice` of the engine that translates with a list of runs.

    CTranslate2 is faster on a processor, and starts without TensorFlow. It is
    chosen if it is installed, and if the run, the precision and the request
    need nothing that it lacks.

    Several runs are an ensemble. The `engine` is one of `ENGINES`; a
    `UserError` says why it cannot serve the request. The `precision` may be
    "auto", and "int8" needs CTranslate2. The `request` is a dictionary of
    arguments, flags and decoding options by name; see `check_capabilities`.
    """
    if engine not in ENGINES:
        raise UserError(
            f"`engine` must be one of {', '.join(ENGINES)}. Received: "
            f"engine={engine!r}. Use auto."
        )
    reason = ""
    if engine != "keras":
        is_automatic = engine == "auto"
        reason = find_obstacle(runs, precision, request or {}, is_automatic)
        if not reason:
            return Choice("ctranslate2")
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
    return Choice("keras", reason)


def find_obstacle(runs, precision, request, is_automatic=True):
    """Returns why CTranslate2 cannot translate with runs, or None.

    The arguments are those of `choose_engine`. With `is_automatic`, the user
    has not asked for CTranslate2. Then anything whose result depends on the
    engine, or that is faster with Keras, is also an obstacle. The result fits
    after the word "because".
    """
    run, *others = runs
    capabilities = AUTOMATIC if is_automatic else ON_CTRANSLATE2
    if others:
        return "CTranslate2 translates with a single run, not an ensemble"
    if field := exported.find_unknown_field(
        run.hparams.model, ctranslate2_conversion.UNDERSTOOD
    ):
        value = getattr(run.hparams.model, field.name)
        return f"CTranslate2 lacks {field.name}={value}"
    if precision not in ("auto", "float32", "int8"):
        return f"CTranslate2 does not compute in {precision} here"
    if name := find_unsupported(capabilities, request):
        return f"CTranslate2 does not support {name} as Keras does"
    if find_linearization(run.vocabulary):
        return "CTranslate2 cannot restrict a search to well-formed trees"
    try:
        import ctranslate2
    except ImportError as error:
        return f"CTranslate2 cannot be imported ({error})"
    if is_automatic and ctranslate2.get_cuda_device_count():
        return "this machine has a GPU"
    if precision == "int8" and may_overflow():
        return "sums of 8-bit products can overflow on this processor"
    return None


class AutomaticEngine:
    """Searches with CTranslate2, and with Keras where that is needed.

    CTranslate2 lacks terms of a glossary, repeatable samples, the attention of
    all heads, and texts that are longer than its table of positions. Keras is
    loaded at the first call that needs one of these. `fast` is the
    `CTranslate2Engine` of a run, and `load()` returns its `KerasEngine`.
    """

    capabilities = keras_engine.RUN
    linearization = max_length = tagger = chart = None

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
        lengths = map(len, sentences.sources)
        prefixes = map(len, sentences.prefixes or ())
        longest = length_limit(
            max(lengths, default=0),
            max(prefixes, default=0) + 1,
            options.extra_length,
        )
        request = {
            "glossary": sentences.terms,
            "temperature": options.temperature,
        }
        engine = self._choose(longest, request)
        return engine.search(sentences, options, scored)

    def score(self, sources, targets, options):
        """Scores translations of sentences, see `KerasEngine.score`."""
        engine = self._choose_for_pairs(sources, targets)
        return engine.score(sources, targets, options)

    def attend(self, sources, target_ids):
        """Returns the `Attention` of each sentence and its translation."""
        return self._keras_engine.attend(sources, target_ids)

    def link_words(self, sources, target_ids, pattern, scored=True):
        """Returns the `WordLinks`, see `KerasEngine.link_words`."""
        engine = self._choose_for_pairs(sources, target_ids)
        return engine.link_words(sources, target_ids, pattern, scored)

    @functools.cached_property
    def _keras_engine(self):
        _log.debug("Loading Keras for what CTranslate2 does not support.")
        return self._load()

    def _choose_for_pairs(self, sources, targets):
        # CTranslate2 takes one more position, for the beginning of a target.
        return self._choose(max(map(len, [*sources, *targets]), default=0) + 1)

    def _choose(self, longest, request=None):
        is_fast = longest <= self._fast.max_length and not find_unsupported(
            AUTOMATIC, request or {}
        )
        return self._fast if is_fast else self._keras_engine


def open_engine(
    path, step=None, precision="float32", engine="auto", request=None
):
    """Opens the engine of a model or an ensemble, see `Translator.load`.

    `request` is as in `choose_engine`.
    """
    paths = exported.list_directories(path)
    format = exported.find_format(paths)
    if format == "ctranslate2":
        return CTranslate2Engine(paths[0])
    if format == "saved_model":
        # Imported here because no other model needs its packages.
        from keras_transformer.decoding.engines import saved_model

        return saved_model.SavedModelEngine(paths[0])
    runs = keras_engine.open_runs(paths)
    choice = choose_engine(runs, engine, precision, request)

    def load():
        return keras_engine.KerasEngine.load(paths, step, precision)

    if choice.engine == "ctranslate2":
        (checkpoint_step,) = keras_engine.find_steps(runs, step)
        compute_type = "int8" if precision == "int8" else "float32"
        device = "cpu" if engine == "auto" else "auto"
        try:
            fast = open_converted(
                runs[0], checkpoint_step, device, compute_type
            )
        except OSError as error:  # there is no room for the converted model
            if engine != "auto" or precision == "int8":
                raise
            choice = Choice("keras", f"a file cannot be written ({error})")
        else:
            _log.debug("Translating with %s.", choice.describe())
            if engine == "auto":
                return AutomaticEngine(fast, load)
            fast.capabilities = ON_CTRANSLATE2
            return fast
    _log.debug("Translating with %s.", choice.describe())
    return load()


def open_converted(run, step, device, compute_type):
    """Opens a checkpoint of a run as a `CTranslate2Engine`.

    The first call converts the checkpoint, in float32, and leaves the model
    beside it for later ones. If nothing can be written there, the model goes to
    a temporary directory that exists as long as the engine.
    """
    check_checkpoint(run, step)
    temporary = None
    try:
        path = ctranslate2_conversion.find_or_convert(run, step)
    except OSError:
        # The directory is read-only, or its disk is full.
        temporary = tempfile.TemporaryDirectory(prefix="keras_transformer_")
        path = temporary.name
        ctranslate2_conversion.write_converted(run, step, path)
    engine = CTranslate2Engine(path, device, compute_type)
    engine.trained_length = run.hparams.max_length
    engine.temporary = temporary
    return engine
