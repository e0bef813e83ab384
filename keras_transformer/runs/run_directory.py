"""A run's directory: all that decoding, evaluating and resuming need."""

import dataclasses
import json
import os

from keras_transformer import hparam
from keras_transformer.data.subwords import Subwords
from keras_transformer.files import written_aside
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.metrics_table import METRICS_FILE
from keras_transformer.runs.metrics_table import read_rows

RUN_FILE = "run.json"
HPARAMS_FILE = "hparams.json"
VOCABULARY_FILE = "vocab.model"


class RunDirectory:
    """The directory that a training run writes.

    Holds `run.json` (problem, hparams set, seed, sha256 of the vocabulary),
    `hparams.json`, `vocab.model` and `checkpoints/`; the trainer adds logs and
    pictures.

    Args:
        path: the directory.

    Raises:
        ValueError: if it is not a run's directory.
    """

    def __init__(self, path):
        if not os.path.isfile(os.path.join(path, RUN_FILE)):
            raise ValueError(
                "`output_dir` must be the directory of a training run. "
                f"Received: output_dir={path!r}, which holds no {RUN_FILE}. "
                "Name a directory that kt-trainer or kt-avg-checkpoints wrote."
            )
        self.path = path
        self.record = json.loads(_read(os.path.join(path, RUN_FILE)))
        self.hparams = hparam.from_json(_read(os.path.join(path, HPARAMS_FILE)))
        self.problem_name = self.record["problem"]
        self.checkpoints = Checkpoints(os.path.join(path, "checkpoints"))

    @classmethod
    def create(cls, path, record, hparams, model_bytes):
        """Makes a new run's directory, `run.json` last.

        Args:
            path: the directory; may exist.
            record: dictionary for `run.json`; `problem` is a must.
            hparams: the run's `HParams`.
            model_bytes: the SentencePiece model (`Subwords.model_bytes`).
        """
        os.makedirs(path, exist_ok=True)
        _write(os.path.join(path, VOCABULARY_FILE), model_bytes)
        text = hparam.to_json(hparams)
        _write(os.path.join(path, HPARAMS_FILE), text.encode())
        text = json.dumps(record, indent=2) + "\n"
        _write(os.path.join(path, RUN_FILE), text.encode())
        return cls(path)

    @staticmethod
    def exists(path):
        """Tells whether `path` is a run's directory."""
        return os.path.isfile(os.path.join(path, RUN_FILE))

    def file(self, *names):
        """Returns the path of a file of the run."""
        return os.path.join(self.path, *names)

    @property
    def vocabulary(self):
        """The run's `Subwords`.

        Raises:
            ValueError: if it is not the one that the run was trained with.
        """
        vocabulary = Subwords(self.file(VOCABULARY_FILE))
        expected = self.record.get("vocabulary_sha256", vocabulary.sha256)
        if vocabulary.sha256 != expected:
            raise ValueError(
                "A run's vocabulary must be the one it was trained with. "
                f"Received: {self.file(VOCABULARY_FILE)} with sha256="
                f"{vocabulary.sha256}, while {RUN_FILE} says {expected}. "
                "Restore the file from a copy."
            )
        return vocabulary

    @property
    def averaged_steps(self):
        """Steps of the checkpoints this run is the average of, or None."""
        return self.record.get("averaged_steps")

    def training_until(self, step):
        """Returns how the training went until a checkpoint.

        Args:
            step: Step of the checkpoint.

        Returns:
            A dictionary that holds what is recorded of the following: `seconds`
            of training, number of complete `epochs`, and of the last evaluation
            its step, `dev_step`, and a dictionary of its figures, `dev`.
        """
        rows = [
            row
            for row in read_rows(self.file(METRICS_FILE))
            if int(row["step"]) <= step and row["seconds"]
        ]
        training = dict(self.record.get("training", {}))
        if rows:
            training["seconds"] = float(rows[-1]["seconds"])
            training["epochs"] = int(rows[-1]["epoch"])
        evaluations = [row for row in rows if row.get("dev_loss")]
        if evaluations and not self.averaged_steps:
            training["dev_step"] = int(evaluations[-1]["step"])
            training["dev"] = {
                name.removeprefix("dev_"): float(value)
                for name, value in evaluations[-1].items()
                if name.startswith("dev_") and value
            }
        return training

    def check_same(self, record, hparams):
        """Checks that resuming means the run that is here.

        Args:
            record: dictionary as for `create`.
            hparams: `HParams`; `train_steps` may differ, and so may
                `batch_tokens` where `effective_batch_tokens` is given, since
                the updates do not depend on it.

        Raises:
            ValueError: naming the first contradiction and both values.
        """
        if self.averaged_steps:
            raise ValueError(
                "`output_dir` must not be an average of checkpoints, which has "
                f"no optimizer state. Received: output_dir={self.path!r}. "
                "Resume the run that it was averaged from."
            )
        # Runs that do not say in which precision were trained in float32.
        held = {"precision": "float32", **self.record}
        held.update(dataclasses.asdict(self.hparams))
        given = {**record, **dataclasses.asdict(hparams)}
        may_differ = {"train_steps"}
        if hparams.effective_batch_tokens:
            may_differ.add("batch_tokens")
        for name, value in given.items():
            if name not in may_differ and held.get(name) != value:
                raise ValueError(
                    f"`{name}` must be the one the run began with. Received: "
                    f"{name}={value!r}, while {self.path} was begun with "
                    f"{held.get(name)!r}. Use that, or another --output_dir."
                )


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path, content):
    with written_aside(path, "wb") as file:
        file.write(content)
