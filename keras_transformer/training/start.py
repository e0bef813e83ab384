"""The start of a run: its checks, its lock and its directory.

Nothing here imports the backend, so a command that cannot work ends at once.
"""

import contextlib
import math
import os
import time

from keras_transformer.data.text.source_noise import check_vocabulary
from keras_transformer.data.vocabulary.bpe_dropout import BpeDropout
from keras_transformer.errors import UserError
from keras_transformer.files.directories import check_directory
from keras_transformer.files.locks import lock_directory
from keras_transformer.files.machine import machine_bytes
from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import file_error
from keras_transformer.files.reading import find_fault
from keras_transformer.files.writing import check_space
from keras_transformer.files.writing import explain_disk_errors
from keras_transformer.model_config import list_weights
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.data_record import check_same_data
from keras_transformer.runs.data_record import describe_data
from keras_transformer.runs.metrics_table import METRICS_FILE
from keras_transformer.runs.model_card import make_model_card
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.run_directory import check_new
from keras_transformer.runs.weights import check_checkpoint
from keras_transformer.runs.weights import check_same_architecture

SECONDS_TO_WAIT = 60  # longest wait for the chief to create the run
KINDS = ("progress", "log")
# What a checkpoint says of the progress. Version 0.1 recorded no positions, and
# the rules are newer than version 0.2.
_PROGRESS = {
    **dict.fromkeys(("step", "epoch", "batch"), WHOLE),
    **dict.fromkeys(("positions?", "rules?"), WHOLE),
    "seconds": float,
}
# The maximum size of a checkpoint, as a multiple of the size of its weights:
# Adam keeps two moments, and there may be a moving average.
MAX_STATE = 8

_REMEDY = "Delete it; the run then resumes from the checkpoint before it."


class MissingSetting(UserError):
    """A new run lacks the setting called `name`."""

    def __init__(self, name):
        super().__init__(
            f"`{name}` must be given for a new run. Received: none. Pass one, "
            "or the `output_dir` of a run to resume."
        )
        self.name = name


def lock_run(path, is_chief=True):
    """Keeps a second process from training in the directory of a run.

    The lock ends with the process. Commands that only read the run need none.
    The chief makes the directory if need be; other machines lock nothing.
    """
    if not is_chief:
        return contextlib.nullcontext()
    check_directory(path, "`output_dir`")
    return lock_directory(path, wait=False)


def open_earlier_run(path):
    """Opens the run to resume, with its files checked, or returns None."""
    if not RunDirectory.exists(path):
        return None
    run = RunDirectory(path)
    # Neither an average nor an imported model has a position in the data.
    # `run.check_same` refuses to resume them.
    is_made = run.averaged_steps or run.imported_from
    if run.checkpoints.steps and not is_made:
        _check_resumable(run)
    return run


def check_recorded_paths(options):
    """Checks that `run.json` can record the paths of the `StartOptions`."""
    for name in ("data_dir", "warm_start_from"):
        path = getattr(options, name)
        try:
            os.path.abspath(path or "/").encode()
        except UnicodeEncodeError as error:
            raise UserError(
                f"The path of `{name}` must be UTF-8, because run.json records "
                f"it. Received: {name}={path!r} in {os.getcwd()!r}. Rename the "
                "directory, or make a link to it."
            ) from error


def check_separate(path, problem):
    """Checks that data can be generated while the directory of a run is locked.

    The generation locks its own directories and would wait for ever.
    """
    for directory in (problem.data_dir, problem.directory):
        if os.path.realpath(directory) == os.path.realpath(path):
            raise UserError(
                "`output_dir` must not be a directory that data are generated "
                f"in. Received: output_dir={path!r}, data_dir="
                f"{problem.data_dir!r}. Name another directory, or make the "
                "data with kt-datagen first."
            )


def check_data(problem, hparams, path=None):
    """Checks that a run can make its model, its batches and its evaluations.

    With the run's `path`, it also checks that its disk can take a checkpoint.
    """
    is_turned = any(targets == "source" for _, targets in problem.directions)
    tags = {corpus.get("tag") for corpus in problem.corpora("train")} - {None}
    if is_turned and tags:
        raise UserError(
            "Data with tags must be used in their own direction, because the "
            f"tags are in the sources. Received: {problem.name} with the tag "
            f"{min(tags)}. Use {problem.data_name}, or make data with the "
            "other side as the source."
        )
    if hparams.subword_dropout:
        BpeDropout(problem.vocabulary, hparams.subword_dropout)
        BpeDropout(problem.source_vocabulary, hparams.subword_dropout)
    if hparams.source_noise:
        check_vocabulary(problem.source_vocabulary)
    problem.batches(
        "train",
        problem.update_positions(hparams),
        hparams.max_length,
        packed=hparams.packed,
    )
    problem.evaluation_batches(hparams.batch_tokens)
    problem.text_split("dev")
    check_vocabularies(problem, hparams)
    _check_memory(hparams, problem.vocabularies.sizes, path)
    # Last, because learning which letters write phones takes seconds.
    problem.make_guidance(hparams)


def check_metrics(problem, measure, early_stopping_metric):
    """Checks that evaluations measure what other settings depend on."""
    _, references = problem.text_split("dev")
    # Every text has all scores of its problem, so the first one is enough.
    text = references[:1]
    names = list(problem.dev_scores(text, text, measure))
    flags = {
        # The scores of a problem may lack its measure.
        "measure": (measure, ["loss", problem.measure]),
        "early_stopping_metric": (
            early_stopping_metric,
            ["none", "measure", "loss"],
        ),
    }
    for flag, (metric, others) in flags.items():
        if metric not in [*others, *names]:
            raise UserError(
                f"`{flag}` must be a metric of the problem. Received: "
                f"{flag}={metric}, problem={problem.name}, which has "
                f"{', '.join(names)}. Use one of these or loss."
            )


def check_resumed(run, problem, record, hparams, measure):
    """Raises a `UserError` if a setting or the data differ from a run's."""
    run.check_same(record, hparams)
    # Earlier versions recorded none: the measure of the problem decided.
    earlier = run.record.get("measure") or problem.measure
    if measure != earlier:
        raise UserError(
            "`measure` must not change when a run is resumed. Received: "
            f"measure={measure}, but {run.path} was started with {earlier}. "
            "Use the earlier value, or another --output_dir."
        )
    check_same_data(run, problem)


def check_vocabularies(problem, hparams):
    """Checks that the model can have these vocabularies."""
    same_pieces = problem.vocabularies.have_same_pieces
    if same_pieces or hparams.tied_embeddings != "all":
        return
    raise UserError(
        "`tied_embeddings` must be target or none where source and target "
        "have separate vocabularies. Received: tied_embeddings=all, problem="
        f"{problem.name} in {problem.data_dir}. Add "
        "--hparams=tied_embeddings=target."
    )


def count_minimum_bytes(hparams, vocab_size, input_vocab_size=None):
    """Returns the bytes of the weights and their moments, without any batch."""
    weights = list_weights(hparams.model, vocab_size, input_vocab_size)
    # The moments of Adafactor and of adapters are small.
    has_moments = hparams.optimizer != "adafactor" and not hparams.lora_rank
    copies = 3 if has_moments else 1
    return 4 * copies * sum(map(math.prod, weights.values()))


def _check_memory(hparams, vocab_sizes, path):
    """Checks that this machine has memory for the model and its optimizer."""
    needed = count_minimum_bytes(hparams, *vocab_sizes)
    available = machine_bytes()
    if needed > available:
        raise UserError(
            f"The model needs {needed / 1e9:,.0f} GB of memory with its "
            f"optimizer, and this machine has {available / 1e9:,.0f} GB. "
            f"Received: d_model={hparams.d_model}, d_ff={hparams.d_ff}, "
            f"num_layers={hparams.num_layers}, num_decoder_layers="
            f"{hparams.decoder_depth} and {max(vocab_sizes):,} token ids. "
            "Lower one of them."
        )
    if path:
        with explain_disk_errors(path):
            check_space(path, needed)


def check_warm_start(hparams, path):
    """Checks that a new run can start with the weights of another one.

    The path of the other run is "" for none. Returns what `run.json` records of
    the start.
    """
    if path:
        other = open_warm_start(path)
        check_same_architecture(hparams.model, other)
        step = other.checkpoints.find()
        check_checkpoint(other, step)
        place = os.path.abspath(path)
        return {"warm_start_from": place, "warm_start_step": step}
    if hparams.lora_rank:
        raise UserError(
            "`lora_rank` must be 0 without a warm start, because adapters "
            "change a trained model a little. Received: lora_rank="
            f"{hparams.lora_rank} and no warm_start_from. Add "
            "--warm_start_from=RUN."
        )
    return {}


def open_warm_start(path):
    """Opens the run that provides the initial weights of another."""
    if not RunDirectory.exists(path):
        raise UserError(
            "`warm_start_from` must be the directory of a run. Received: "
            f"warm_start_from={path!r}. Name a directory that kt-trainer, "
            "kt-avg-checkpoints or kt-import wrote."
        )
    return RunDirectory(path)


def create_run(path, problem, record, hparams, measure):
    """Creates the directory of a new run; see `RunDirectory.create`."""
    record = {
        **record,
        "measure": measure,
        # The path is not compared when the run is resumed, because the data may
        # have been moved by then. The data themselves are.
        "data_dir": os.path.abspath(problem.data_dir),
        "data": describe_data(problem),
    }
    # Scores of an earlier model would pass for the new one's.
    names = ["scores", "stress", "quality.json"]
    if not RunDirectory.exists(path):
        names += [METRICS_FILE, "learning_curve.png", "samples", "adapter.npz"]
    check_new(path, dict.fromkeys(names))
    return RunDirectory.create(
        path, record, hparams, *problem.vocabularies.model_bytes
    )


def resume_run(path, problem, record, hparams, measure):
    """Opens the run to resume, or the one that the chief is creating.

    The settings in `record`, the `HParams` and the measure of the best
    checkpoint must equal the run's.
    """
    end = time.monotonic() + SECONDS_TO_WAIT
    while True:
        try:
            run = RunDirectory(path)
            check_resumed(run, problem, record, hparams, measure)
            break
        except ValueError:
            # `run.json` is written last, so the run is complete as soon as it
            # exists. Before the chief has created it, there may be another one
            # from an earlier start that saved no checkpoint.
            if has_checkpoint(path) or time.monotonic() > end:
                raise
            time.sleep(0.1)
    # `check_same` allows some hparams to differ; the ones asked for now apply.
    run.hparams = hparams
    return run


def has_checkpoint(path):
    """Returns whether a directory holds a run with a checkpoint."""
    return RunDirectory.exists(path) and bool(
        Checkpoints(os.path.join(path, "checkpoints")).steps
    )


def _check_resumable(run):
    """Checks the files that a resumed run reads, without a backend."""
    check_checkpoint(run)
    run.checkpoints.timed_steps  # reading the file checks it
    headers = run.checkpoints.headers()
    sizes = {name: headers[name].total_bytes for name in headers}
    weights = sum(sizes[name] for name in sizes if name.startswith("model/"))
    if sum(sizes.values()) > MAX_STATE * weights + 2**20:
        path = run.checkpoints.path(run.checkpoints.find())
        fault = f"with {sum(sizes.values()):,} bytes for a model of {weights:,}"
        raise file_error(path, fault, remedy=_REMEDY)
    read_progress(run.checkpoints)
    make_model_card(run)


def read_progress(checkpoints):
    """Reads the progress of a run in its newest checkpoint.

    It reads only single numbers and needs no backend. Returns a dictionary
    with `step`, `epoch`, `batch`, `seconds` and, in newer runs, `positions` and
    `rules`; and one of the counts for the next row of the log.
    """
    step = checkpoints.find()
    path = checkpoints.path(step)
    for name, header in sorted(checkpoints.headers(step).items()):
        if name.partition("/")[0] in KINDS and header.shape != ():
            fault = (
                f"where {name[:80]!r} must be a number but is {header.shape}"
            )
            raise file_error(path, fault, remedy=_REMEDY)
    values = {kind: {} for kind in KINDS}
    for name, array in checkpoints.load(step, KINDS).items():
        kind, _, key = name.partition("/")
        values[kind][key] = array.item()
    progress, counts = values["progress"], values["log"]
    fault = find_fault(progress, _PROGRESS, "progress")
    if not fault and progress["step"] != step:
        fault = f"where the step is {progress['step']}"
    if not fault and progress["seconds"] < 0:
        fault = f"where the seconds are {progress['seconds']}"
    if fault:
        raise file_error(path, fault, remedy=_REMEDY)
    return progress, counts
