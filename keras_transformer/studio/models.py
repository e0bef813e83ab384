"""The runs of a studio, and the models that it has opened."""

import collections
import dataclasses
import os
import typing

from keras_transformer.decoding.loading import load_plan
from keras_transformer.decoding.plan import plan_runs
from keras_transformer.decoding.training_pairs import TrainingPairs
from keras_transformer.errors import UserError
from keras_transformer.runs.data_record import list_language_codes
from keras_transformer.runs.run_directory import RunDirectory

MAX_TOKENS = 512  # of a sentence; a browser can still draw its attention
MAX_MODELS = 4  # in memory at once
MAX_FRAMES = 8  # pages inside the page that can still be shown
MAX_BEAM = 10  # hypotheses that a person can follow


class Model(typing.NamedTuple):
    """A checkpoint, as two translators or parsers."""

    fast: typing.Any  # on CTranslate2 if possible, only for translations
    exact: typing.Any  # on Keras, so that the model can be inspected


class Frame(typing.NamedTuple):
    """A page inside the page."""

    html: str
    read_part: typing.Any = None  # function of a part's name to its bytes


@dataclasses.dataclass
class Job:
    """The request that is computed; its client may leave meanwhile."""

    done: int = 0
    total: int = 0
    is_wanted: bool = True

    def advance(self, done, total):
        """Notes the progress, and ends a job that nobody waits for."""
        self.done, self.total = done, total
        if not self.is_wanted:
            raise ConnectionAbortedError


class Studio:
    """Holds the runs that a page shows, and opens their models when needed.

    `paths` lists the directories of the runs. The step, an integer or "best",
    selects the first run's checkpoint and defaults to the newest. A `memory`, a
    `TranslationMemory`, is used for all runs with the languages of the first.
    """

    def __init__(self, paths, step=None, memory=None):
        self._memory = memory
        self.runs = list(map(RunDirectory, paths))
        # Training may continue, but the page keeps its model by default. A run
        # without a checkpoint has curves already.
        self.steps = [
            plan_runs(run.path, one).steps[0]
            if one is not None or run.checkpoints.steps
            else None
            for run, one in zip(self.runs, [step] + [None] * len(paths))
        ]
        self.parses = [run.linearization is not None for run in self.runs]
        self.job = Job()
        self.decoded = {}  # lists of outputs by run, step and split
        self._training_pairs = {}  # by run
        self._models = collections.OrderedDict()
        self._frames = collections.OrderedDict()

    def is_open(self, run):
        return (run, self.steps[run]) in self._models

    def get_run(self, run):
        """Returns a `RunDirectory` by its number."""
        if not 0 <= run < len(self.runs):
            raise UserError(
                f"`run` must be a number from 0 to {len(self.runs) - 1}. "
                f"Received: run={run}. Reload the page."
            )
        return self.runs[run]

    def get_memory(self, run):
        """Returns the memory of a run's languages, or None."""
        sides = [list_language_codes(self.get_run(n)) for n in (0, run)]
        fits = sides[0] == sides[1] and not self.parses[run]
        return self._memory if fits else None

    def get_training_pairs(self, run):
        """Returns the `TrainingPairs` of a run, which must be here."""
        if run not in self._training_pairs:
            pairs = TrainingPairs.open(self.get_run(run))
            self._training_pairs[run] = pairs
        return self._training_pairs[run]

    def get_step(self, run, step=0):
        """Returns the step of a run's checkpoint, 0 for the first choice."""
        directory = self.get_run(run)
        if self.steps[run] is None:
            self.steps[run] = max(directory.checkpoints.steps, default=None)
        # The only checkpoint of an imported run has the step 0.
        if step or self.steps[run] is not None:
            return step or self.steps[run]
        raise UserError(
            f"{directory.path} has no checkpoint yet. Wait until kt-trainer "
            "has written one; the curves are there already."
        )

    def get_model(self, run=0, step=0):
        """Returns the `Model` of a run's checkpoint, 0 for the first choice."""
        # An open model outlives its checkpoint, which a trainer may delete.
        key = run, self.get_step(run, step)
        if key not in self._models:
            plan = plan_runs(self.runs[run].path, key[1])
            plan = dataclasses.replace(plan, memory=self.get_memory(run))
            fast = exact = load_plan(plan)
            if plan.engine != "keras":
                exact = load_plan(dataclasses.replace(plan, engine="keras"))
            self._models[key] = Model(fast, exact)
            if len(self._models) > MAX_MODELS:
                self._models.popitem(last=False)
        self._models.move_to_end(key)
        return self._models[key]

    def add_frame(self, frame):
        """Keeps a `Frame` for a while, and returns its name."""
        name = os.urandom(16).hex()
        self._frames[name] = frame
        while len(self._frames) > MAX_FRAMES:
            self._frames.popitem(last=False)
        return name

    def get_frame(self, name):
        """Returns a `Frame` by its name, or None if it is no longer kept."""
        return self._frames.get(name)


def clean_text(translator, text, is_target=False):
    """Returns a text as a line of a file, which must not be too long."""
    text = " ".join(text.split())
    if not text:
        return ""
    (num_tokens,) = translator.count_tokens([text], is_target)
    if num_tokens > MAX_TOKENS:
        raise UserError(
            f"`text` must have at most {MAX_TOKENS} tokens. Received: "
            f"{num_tokens:,} tokens. Use a shorter sentence."
        )
    return text
