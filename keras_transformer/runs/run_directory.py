"""The directory of a run: everything that decoding and resuming need."""

import dataclasses
import functools
import json
import math
import os
import typing

from keras_transformer.data.vocabulary import vocabularies
from keras_transformer.errors import UserError
from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import read_bytes
from keras_transformer.files.reading import read_record
from keras_transformer.files.writing import write_file
from keras_transformer.files.writing import write_record
from keras_transformer.hparam import HParams
from keras_transformer.hparam import from_dict
from keras_transformer.parsing.linearization import find_linearization
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.metrics_table import COSTS
from keras_transformer.runs.metrics_table import METRICS_FILE
from keras_transformer.runs.metrics_table import read_rows

RUN_FILE = "run.json"
HPARAMS_FILE = "hparams.json"

_SPLIT = {"pairs": WHOLE, "source_tokens": WHOLE, "target_tokens": WHOLE}
_DATA = {
    "languages": [str, str],
    "both_directions?": bool,
    "vocab_size": WHOLE,
    "source_vocab_size?": WHOLE,
    "files": [{"name": str, "sha256": str}],
    "settings?": {},
    "splits": {"train": _SPLIT, str: _SPLIT},
}
# The shape of `run.json`; see `read_record`.
_RECORD = {
    "problem": str,
    "hparams_set?": (str, None),
    "random_seed?": WHOLE,
    "vocabulary_sha256?": str,
    "source_vocabulary_sha256?": str,
    "precision?": {"float32", "bfloat16", "float16"},
    "measure?": str,
    "warm_start_from?": str,
    "warm_start_step?": WHOLE,
    "corpus_weights?": [str],
    "data_dir?": (str, None),
    "data?": (_DATA, None),
    "averaged_steps?": [WHOLE],
    "start_share?": float,
    "licence?": (str, None),
    "datasets?": ([str], None),
    "imported?": {
        "origin": str,
        "languages": [str, str],
        "dtype?": {"float32", "bfloat16", "float16"},
        "max_position_embeddings?": WHOLE,
    },
    "training?": {
        "seconds?": float,
        "epochs?": WHOLE,
        "dev_step?": WHOLE,
        "dev?": {str: float},
        **{f"{name}?": float for name in COSTS},
    },
}
_HPARAMS = {str: (bool, float, str)}
# How to get back a setting that no flag of kt-trainer changes.
_WAYS_BACK = {"corpus_weights": "Give kt-datagen the earlier weights"}


class RunDirectory(vocabularies.HasVocabularies):
    """Reads and creates the directory of a training run.

    It holds `run.json` (problem, hparams set, seed, SHA-256 of the vocabulary),
    `hparams.json`, `vocab.model` and `checkpoints/`, and `vocab.source.model`
    if the source has a separate vocabulary. The trainer adds logs and pictures,
    and `kt-evaluate` adds scores. Raises a `UserError` for any other path.
    """

    def __init__(self, path: str | os.PathLike[str]):
        if not self.exists(path):
            fault = f"holds no {RUN_FILE}"
            if not os.path.lexists(path):
                fault = "does not exist"
            raise UserError(
                "`output_dir` must be the directory of a training run. "
                f"Received: output_dir={path!r}, which {fault}. Name a "
                "directory that kt-trainer, kt-avg-checkpoints or kt-import "
                "wrote."
            )
        self.path = path
        self._status = os.stat(path)
        self.record = read_record(self.file(RUN_FILE), _RECORD)
        self.hparams: HParams = _read_hparams(self.file(HPARAMS_FILE))
        self.problem_name = self.record["problem"]
        self.checkpoints = Checkpoints(os.path.join(path, "checkpoints"))

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        record: dict,
        hparams: HParams,
        model_bytes: bytes,
        source_model_bytes: bytes | None = None,
    ) -> typing.Self:
        """Creates the directory of a new run, and returns the `RunDirectory`.

        The path may exist, but a file of a run there without its `run.json` is
        an error: it may be the user's. The `record` becomes `run.json`, and the
        model bytes are SentencePiece models (`Subwords.model_bytes`): one of
        both sides, or one of the target and one of the source.
        """
        os.makedirs(path, exist_ok=True)
        # Copies of the vocabulary and of all hyperparameters: the run decodes
        # even if its data are gone or its hparams set has changed.
        values = json.dumps(dataclasses.asdict(hparams), indent=2) + "\n"
        contents = {
            **dict(zip(vocabularies.FILES, (model_bytes, source_model_bytes))),
            HPARAMS_FILE: values.encode(),
        }
        if not cls.exists(path):
            check_new(path, {"checkpoints": None, **contents})
        for name, content in contents.items():
            target = os.path.join(path, name)
            if content is not None:
                write_file(target, content)
            elif os.path.exists(target):
                os.remove(target)  # of a start that failed
        # Written last, because its presence marks the directory of a run.
        write_record(os.path.join(path, RUN_FILE), record)
        return cls(path)

    @staticmethod
    def exists(path: str | os.PathLike[str]) -> bool:
        """Returns whether `path` is the directory of a run."""
        return os.path.isfile(os.path.join(path, RUN_FILE))

    def check_in_place(self) -> None:
        """Checks that the directory is still there and holds the same run."""
        if not self.exists(self.path) or not os.path.samestat(
            self._status, os.stat(self.path)
        ):
            raise UserError(
                f"{self.path} was moved or removed during the training, so "
                "nothing more is written there. Resume the run from where it "
                "is now, or start it again."
            )

    def record_train_steps(self) -> None:
        """Records the number of updates, which a resumed run may change."""
        path = self.file(HPARAMS_FILE)
        values = read_record(path, _HPARAMS)
        train_steps = self.hparams.train_steps
        if values.get("train_steps") != train_steps:
            write_record(path, {**values, "train_steps": train_steps})

    def file(self, *names: str) -> str:
        """Returns the path of a file in the directory."""
        return os.path.join(self.path, *names)

    @functools.cached_property
    def vocabularies(self) -> vocabularies.Vocabularies:
        """The `Vocabularies`, which must have the recorded hashes."""
        return vocabularies.read(
            self.path,
            self.record.get("vocabulary_sha256"),
            self.record.get("source_vocabulary_sha256"),
        )

    @functools.cached_property
    def linearization(self) -> str | None:
        """The linearization of a parser's trees, None for a translation."""
        return find_linearization(self.vocabulary)

    @property
    def averaged_steps(self) -> list[int] | None:
        """Steps of the averaged checkpoints; None if it is not an average."""
        return self.record.get("averaged_steps")

    @property
    def imported_from(self) -> str | None:
        """Path or name of the imported model; None if it was trained here."""
        return self.record.get("imported", {}).get("origin")

    def read_training(self, step: int) -> dict[str, typing.Any]:
        """Returns the metrics of training up to the checkpoint of a step.

        The dictionary has those of these entries that are recorded: `seconds`
        of training, the number of complete `epochs`, its cost as
        `device_flops`, `token_flops` and `position_flops`, and for the last
        evaluation its step, `dev_step`, and a dictionary of its metrics, `dev`.
        """
        rows = [
            row
            for row in read_rows(self.file(METRICS_FILE))
            if int(row["step"]) <= step and row.get("seconds")
        ]
        # An averaged run has this entry in its record instead of any rows.
        training = dict(self.record.get("training", {}))
        if rows:
            training["seconds"] = float(rows[-1]["seconds"])
            training["epochs"] = int(rows[-1].get("epoch") or 0)
            for name in COSTS:
                if rows[-1].get(name):
                    training[name] = float(rows[-1][name])
        evaluations = [row for row in rows if row.get("dev_loss")]
        if evaluations and not self.averaged_steps:
            training["dev_step"] = int(evaluations[-1]["step"])
            training["dev"] = {
                name.removeprefix("dev_"): float(value)
                for name, value in evaluations[-1].items()
                if name.startswith("dev_") and value
            }
        return training

    def count_parameters(self, step: int) -> int:
        """Counts the weights in a checkpoint by its headers."""
        # Moving averages and the optimizer's moments are not counted, nor are
        # adapters, which decoding merges.
        return sum(
            math.prod(header.shape)
            for name, header in self.checkpoints.headers(step).items()
            if name.startswith("model/") and "_lora_" not in name
        )

    def describe_content(self, step: int) -> dict[str, typing.Any]:
        """Returns what a model depends on, as what JSON can hold.

        The checksums of the arrays stand for their content, since hashing the
        arrays themselves would take longer than a translation.
        """
        return {
            "hparams": dataclasses.asdict(self.hparams),
            "vocabularies": self.vocabularies.hashes,
            "arrays": sorted(self.checkpoints.checksums(step).items()),
        }

    def check_same(self, record: dict, hparams: HParams) -> None:
        """Checks that this run can be resumed with a record and `HParams`.

        `train_steps` may differ. So may `batch_tokens` if
        `effective_batch_tokens` is set, since updates do not depend on it.
        """
        kind = None
        if self.averaged_steps:
            kind = "an average of checkpoints"
            way_out = "Resume the run whose checkpoints were averaged."
        elif self.imported_from:
            kind = "an imported model"
            way_out = f"Begin another run with --warm_start_from={self.path}."
        if kind:
            raise UserError(
                f"`output_dir` must not be {kind}, which has no optimizer "
                f"state. Received: output_dir={self.path!r}. {way_out}"
            )
        # The earliest runs record neither. Their precision was float32.
        earlier = {"precision": "float32", "corpus_weights": [], **self.record}
        earlier.update(dataclasses.asdict(self.hparams))
        current = {**record, **dataclasses.asdict(hparams)}
        # Neither of these changes an update.
        may_differ = {"train_steps"}
        if hparams.effective_batch_tokens:
            may_differ.add("batch_tokens")
        for name, value in current.items():
            if name not in may_differ and earlier.get(name) != value:
                way_out = _WAYS_BACK.get(name, "Use the earlier value")
                raise UserError(
                    f"`{name}` must not change when a run is resumed. "
                    f"Received: {name}={value!r}, but {self.path} was started "
                    f"with {earlier.get(name)!r}. {way_out}, or use another "
                    "--output_dir."
                )


def check_new(path, contents):
    """Checks that a new run in a directory overwrites no file of the user.

    `contents` has the bytes of the files to write by name, or None.
    """
    for name, content in contents.items():
        place = os.path.join(path, name)
        if os.path.isdir(place):
            is_taken = os.listdir(place)
        else:
            # A killed process may have left some of the same content.
            is_taken = os.path.lexists(place) and (read_bytes(place) != content)
        if is_taken:
            raise UserError(
                f"`output_dir` must be new, or a run with its {RUN_FILE} and "
                f"its checkpoints. Received: output_dir={path!r}, which holds "
                f"other {name!r}. Move it elsewhere, or name another directory."
            )


def open_runs(paths):
    """Opens one run, or the runs of an ensemble, as `RunDirectory`s."""
    first, *others = map(RunDirectory, paths)
    for other in others:
        if other.vocabularies.model_bytes != first.vocabularies.model_bytes:
            raise UserError(
                "The runs of an ensemble must have the same vocabulary. "
                f"Received: {first.path} and {other.path} with different "
                "ones. Train both on the data of one problem."
            )
    return [first, *others]


def find_steps(runs, step=None):
    """Returns the integer step of each run's checkpoint.

    `step` is one for all runs, or a list with an entry for each. The numbers
    stay the same while the runs train on.
    """
    steps = step if isinstance(step, list | tuple) else [step] * len(runs)
    if len(steps) != len(runs):
        raise UserError(
            "`step` must have one entry for each run. Received: "
            f"{len(steps)} steps of {len(runs)} runs. Pass as many."
        )
    return [run.checkpoints.find(one) for run, one in zip(runs, steps)]


def _read_hparams(path):
    values = read_record(path, _HPARAMS)
    try:
        return from_dict(values)
    except UserError as error:
        raise UserError(f"{error} The value is in {path}.") from error
