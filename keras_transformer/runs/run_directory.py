"""A run's directory: all that decoding, evaluating and resuming need."""

import dataclasses
import json
import os
import shutil

from keras_transformer import hparam
from keras_transformer.data.subwords import Subwords
from keras_transformer.files import written_aside
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.checkpoints import average
from keras_transformer.runs.checkpoints import weights
from keras_transformer.runs.model_card import training_of
from keras_transformer.runs.model_card import write_model_card

RECORD = "run.json"
HPARAMS = "hparams.json"
VOCABULARY = "vocab.model"
# What the weights of a model are made for.
DIMENSIONS = ("num_layers", "d_model", "d_ff", "num_heads", "d_k", "d_v")
DIMENSIONS += ("norm", "positional_encoding", "neighbourhood")


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
        if not os.path.isfile(os.path.join(path, RECORD)):
            raise ValueError(
                "`output_dir` must be the directory of a training run. "
                f"Received: output_dir={path!r}, which holds no {RECORD}. "
                "Name a directory that kt-trainer or kt-avg-checkpoints wrote."
            )
        self.path = path
        self.record = json.loads(_read(os.path.join(path, RECORD)))
        self.hparams = hparam.from_json(_read(os.path.join(path, HPARAMS)))
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
        _write(os.path.join(path, VOCABULARY), model_bytes)
        _write(os.path.join(path, HPARAMS), hparam.to_json(hparams).encode())
        text = json.dumps(record, indent=2) + "\n"
        _write(os.path.join(path, RECORD), text.encode())
        return cls(path)

    @staticmethod
    def exists(path):
        """Tells whether `path` is a run's directory."""
        return os.path.isfile(os.path.join(path, RECORD))

    def file(self, *names):
        """Returns the path of a file of the run."""
        return os.path.join(self.path, *names)

    @property
    def vocabulary(self):
        """The run's `Subwords`.

        Raises:
            ValueError: if it is not the one that the run was trained with.
        """
        vocabulary = Subwords(self.file(VOCABULARY))
        expected = self.record.get("vocabulary_sha256", vocabulary.sha256)
        if vocabulary.sha256 != expected:
            raise ValueError(
                "A run's vocabulary must be the one it was trained with. "
                f"Received: {self.file(VOCABULARY)} with sha256="
                f"{vocabulary.sha256}, while {RECORD} says {expected}. Restore "
                "the file from a copy."
            )
        return vocabulary

    @property
    def averaged_steps(self):
        """Steps of the checkpoints this run is the average of, or None."""
        return self.record.get("averaged_steps")

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


def average_run(run, num_last, path):
    """Writes the average of a run's last checkpoints as a run's directory.

    Args:
        run: a `RunDirectory`.
        num_last: how many checkpoints to average, see `average`.
        path: the directory to write, which decodes like any other run.

    Returns:
        the `RunDirectory` written.

    Raises:
        ValueError: if the directory holds anything but an earlier average.
    """
    if os.path.isdir(path) and os.listdir(path):
        if not (
            RunDirectory.exists(path) and RunDirectory(path).averaged_steps
        ):
            raise ValueError(
                "`averaged_dir` must be new or hold an earlier average, which "
                f"is replaced. Received: averaged_dir={path!r}, which holds "
                "other things. Name another directory."
            )
    steps, arrays = average(run.checkpoints, num_last)
    record = {
        **run.record,
        "averaged_steps": steps,
        "training": {
            name: figure
            for name, figure in training_of(run, steps[-1]).items()
            if name in ("seconds", "epochs")
        },
    }
    for outdated in ("checkpoints", "scores"):
        shutil.rmtree(os.path.join(path, outdated), ignore_errors=True)
    averaged = RunDirectory.create(
        path, record, run.hparams, run.vocabulary.model_bytes
    )
    averaged.checkpoints.save(steps[-1], arrays)
    write_model_card(path, averaged)
    return averaged


def load_model(run, step=None, precision="float32"):
    """Builds a run's model with the weights of a checkpoint.

    These are the moving averages, where the run keeps them (`ema_decay`).

    Args:
        run: a `RunDirectory`.
        step: of the checkpoint, or "best"; by default the newest.
        precision: "float32", "bfloat16" or "float16", of what is computed.

    Returns:
        a `Transformer`.
    """
    from keras_transformer.engines.precision import POLICIES
    from keras_transformer.transformer import build_transformer

    vocab_size = run.vocabulary.vocab_size
    model = build_transformer(run.hparams, vocab_size, POLICIES[precision])
    _assign_weights(model, run, step)
    return model


def warm_start(model, other, run, step=None):
    """Gives a model the weights of another run.

    Those that the other run decodes with: of its moving averages, where it
    keeps them, and of an averaged run its average. The optimizer begins anew.

    Args:
        model: the built `Transformer` of `run`.
        other: the `RunDirectory` to take the weights from.
        run: the `RunDirectory` that is about to begin.
        step: of the other run's checkpoint, or "best"; by default the newest.

    Raises:
        ValueError: if the vocabularies or the shapes of the weights differ.
            Then the model is as it was.
    """
    check_warm_start(run.vocabulary, run.hparams, other)
    _assign_weights(model, other, step)


def check_warm_start(vocabulary, hparams, other):
    """Checks that a run can begin with the weights of another one.

    Args:
        vocabulary: `Subwords` of the run that is about to begin.
        hparams: its `HParams`.
        other: the `RunDirectory` to take the weights from.

    Raises:
        ValueError: if the vocabularies or the dimensions differ.
    """
    for name in DIMENSIONS:
        ours, theirs = getattr(hparams, name), getattr(other.hparams, name)
        if ours != theirs:
            raise ValueError(
                "`warm_start_from` must be a run with the same dimensions. "
                f"Received: {other.path} with {name}={theirs!r}, while this "
                f"run has {ours!r}. Use its hparams, or another run."
            )
    ours, theirs = vocabulary.sha256, other.vocabulary.sha256
    if ours != theirs:
        raise ValueError(
            "`warm_start_from` must be a run with the same vocabulary. "
            f"Received: {other.path} with vocabulary_sha256={theirs}, while "
            f"this run has {ours}. Train on the data of that run, or without "
            "--warm_start_from."
        )


def _assign_weights(model, run, step):
    from keras_transformer.runs import variables

    named = variables.model_variables(model)
    variables.write(named, weights(run.checkpoints.load(step)), run.path)


def _read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path, content):
    with written_aside(path, "wb") as file:
        file.write(content)
