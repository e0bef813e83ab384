"""The log of a run: lines, `metrics.csv`, TensorBoard, a curve, and a cost.

A few updates can be profiled as well.
"""

import functools
import math
import os
import socket
import sys
import time

import tqdm
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.event_pb2 import SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from keras_transformer.files.progress import duration
from keras_transformer.files.writing import atomic_write
from keras_transformer.files.writing import explain_disk_errors
from keras_transformer.runs.metrics_table import COSTS
from keras_transformer.runs.metrics_table import METRICS_FILE
from keras_transformer.runs.metrics_table import MetricsTable
from keras_transformer.training.backends.cost import compute_cost
from keras_transformer.training.backends.cost import count_training_flops
from keras_transformer.training.backends.cost import parse_flops
from keras_transformer.training.backends.cost import recognise_flops
from keras_transformer.visualization.curves import plot_learning_curve

CURVE_FILE = "learning_curve.png"
# The sums that the next row is computed from. Checkpoints hold them, so the
# first row after a resume also covers the updates before it.
COUNTS = ("updates", "skipped", "loss", "consistency", "gradient_norm")
COUNTS += ("source_tokens", "tokens", "positions", "filled")
COUNTS += ("seconds", "waited")


class TrainingLog:
    """Writes the metrics of a run to its directory and to standard error.

    On a terminal a `tqdm` bar shows the progress. Elsewhere, such as in a file,
    each row of `metrics.csv` also gives a line. Rows of updates after `step`
    are dropped, since those updates are repeated. Workers other than the chief
    write nothing. `counts` come from the log that this one continues; they are
    ignored if an earlier version, which counted less, wrote them.
    """

    def __init__(self, run, step, is_chief=True, counts=None):
        self.run = run
        self.is_chief = is_chief
        self.is_terminal = sys.stderr.isatty()
        self._bar = None
        self._learning_rate = 0.0  # of the last update
        # Several workers share one directory.
        if is_chief:
            self.table = MetricsTable(run.file(METRICS_FILE), step)
            self.events = EventFile(run.file("tensorboard"), step)
        self._reset()
        if counts and counts.keys() >= self.counts.keys():
            self.counts.update(counts)

    @property
    def evaluations(self):
        """A dictionary of metrics for each evaluation so far."""
        return [
            {name: value for name, value in row.items() if value}
            for row in self.table.rows
            if row.get("dev_loss")
        ]

    def describe(self, plan, layout, backend, peak):
        """Prints the sizes of the model, of the data and of an update."""
        source_tokens, target_tokens = plan.tokens_per_batch
        shapes = (
            "1 shape" if len(plan.shapes) == 1 else f"{len(plan.shapes)} shapes"
        )
        self._print(
            f"Model: {backend.model.count_params():,} parameters, "
            f"{backend.precision}. Data: {len(plan)} batches per epoch in "
            f"{shapes}, {plan.padding_share:.1%} padding, "
            f"{plan.num_dropped} pairs dropped as too long. Tokens per update: "
            f"{source_tokens:,.0f} source, {target_tokens:,.0f} target. "
            f"Devices: {layout.num_replicas}. Rounds per update: "
            f"{layout.num_rounds}. Peak learning rate: {peak:.2e}."
        )
        if backend.compiles_each_shape and len(plan.shapes) > 1:
            self._print(
                "XLA compiles an update for each shape. With "
                "--hparams=packed=true all batches have one shape."
            )

    def describe_scores(self, measure, signatures):
        """Prints what decides which checkpoint is best, and all signatures."""
        self._print(f"The best checkpoint is chosen by {measure} on dev.")
        if signatures:
            self._print(f"Signatures: {'; '.join(signatures)}.")

    def count_update(self, size, metrics):
        """Counts an update of an `UpdateSize` with metrics of the backend."""
        # Sums, not means: a row weighs every target token alike.
        self.counts["updates"] += 1
        self.counts["loss"] += metrics["loss_sum"]
        self.counts["consistency"] += metrics["consistency_sum"]
        # The optimizer skips an update whose gradient overflows in float16.
        if math.isfinite(metrics["gradient_norm"]):
            self.counts["gradient_norm"] += metrics["gradient_norm"]
        else:
            self.counts["skipped"] += 1
        self._learning_rate = metrics["learning_rate"]
        source_tokens, target_tokens = map(float, size.lengths.sum(axis=0))
        self.counts["source_tokens"] += source_tokens
        self.counts["tokens"] += target_tokens
        self.counts["positions"] += size.rows * (
            size.input_len + size.target_len
        )
        self.counts["filled"] += source_tokens + target_tokens

    def count_time(self, seconds, waited=0.0):
        """Counts seconds of updates, and those spent waiting for a batch."""
        self.counts["seconds"] += seconds
        self.counts["waited"] += waited

    def write_training(self, progress, train_steps, memory_bytes):
        """Writes a row about the updates since the last row."""
        counts, updates = self.counts, self.counts["updates"]
        speed = counts["tokens"] / counts["seconds"]
        padding = 1 - counts["filled"] / counts["positions"]
        row = {
            **_describe_position(progress),
            "learning_rate": self._learning_rate,
            "train_loss": counts["loss"] / counts["tokens"],
            "source_tokens": round(counts["source_tokens"] / updates, 1),
            "target_tokens": round(counts["tokens"] / updates, 1),
            "tokens_per_second": round(speed, 1),
            "padding_share": round(padding, 4),
            "input_wait_share": round(counts["waited"] / counts["seconds"], 4),
            "memory_bytes": memory_bytes,
        }
        if applied := updates - counts["skipped"]:
            row["gradient_norm"] = counts["gradient_norm"] / applied
        if self.run.hparams.consistency != "none":
            row["train_consistency"] = counts["consistency"] / counts["tokens"]
        self._show_progress(
            progress,
            train_steps,
            f"loss {row['train_loss']:.4f}  lr {self._learning_rate:.2e}  "
            f"{speed:,.0f} tokens/s",
        )
        self._write(row)
        self._reset()

    def write_evaluation(self, progress, results):
        """Writes a row about an evaluation, and draws the learning curve."""
        metrics = "  ".join(
            f"{name} {value:.4g}" for name, value in results.items()
        )
        # A new line even on a terminal, where it stays above the bar.
        self._print(f"step {progress['step']:,}  {metrics}")
        self._write({**_describe_position(progress), **results})
        if self.is_chief:
            plot_learning_curve(
                self.table.rows,
                self.run.file(CURVE_FILE),
                self.run.hparams.label_smoothing,
            )

    def write_samples(self, step, samples):
        """Writes (source, reference, translation) samples to a file."""
        if not self.is_chief:
            return
        path = self.run.file("samples", f"step-{step}.txt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with atomic_write(path) as file:
            for source, reference, translation in samples:
                file.write(
                    f"source      {source}\nreference   {reference}\n"
                    f"translation {translation}\n\n"
                )

    def close(self):
        """Closes the progress bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None  # the next call of `train` makes a new one

    def _reset(self):
        self.counts = dict.fromkeys(COUNTS, 0.0)

    def _show_progress(self, progress, train_steps, metrics):
        step = progress["step"]
        if not self.is_terminal:
            left = (train_steps - step) * progress["seconds"] / step
            self._print(
                f"step {step:,}/{train_steps:,}  {metrics}  "
                f"{duration(left)} left"
            )
        elif self.is_chief:
            if self._bar is None:
                self._bar = tqdm.tqdm(
                    total=train_steps, initial=step, unit=" updates"
                )
            self._bar.total = train_steps  # with `train_minutes`, an estimate
            self._bar.update(step - self._bar.n)
            self._bar.set_postfix_str(metrics)

    def _print(self, line):
        if not self.is_chief:
            return
        if self._bar is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._bar.write(line, file=sys.stderr)  # above the bar

    def _write(self, row):
        if self.is_chief:
            self.table.add(row)
            scalars = {name: row[name] for name in row if name != "step"}
            self.events.write(row["step"], scalars)


def _describe_position(progress):
    return {
        "step": progress["step"],
        "epoch": progress["epoch"],
        "seconds": round(progress["seconds"], 3),
        **get_known_costs(progress),
    }


class TrainingCost:
    """Adds the cost of updates to `progress`, which checkpoints keep.

    There are three sums of floating-point operations: `device_flops` by the
    formula of the paper's Table 2, `token_flops` by counting the arithmetic of
    the tokens, and `position_flops` by counting all positions, padding
    included. A sum is NaN from the first update whose cost is unknown. The
    device is the value of `--device`, or "" to recognise it by its name.
    """

    def __init__(self, progress, backend, vocab_size, device=""):
        self.progress = progress
        self.count = functools.partial(
            count_training_flops,
            backend.hparams.model,
            vocab_size,
            num_passes=backend.hparams.passes_per_update,
        )
        flops = parse_flops(device) if device else None
        self.flops = flops or recognise_flops(backend.device_name()) or math.nan
        self._per_second = compute_cost(1.0, backend.num_replicas, self.flops)

    def count_time(self, seconds):
        """Adds the cost of a duration."""
        self.progress["device_flops"] += seconds * self._per_second

    def count_update(self, size):
        """Adds the arithmetic of an update, an `UpdateSize`."""
        self.progress["token_flops"] += self.count(size.lengths)
        row = self.count([(size.input_len, size.target_len)])
        self.progress["position_flops"] += size.rows * row


class EventFile:
    """Writes scalars to a new event file in a directory of TensorBoard.

    TensorBoard's own `EventFileWriter` would import TensorFlow if it is
    installed, even for training on JAX. Scalars of updates after `last_step`
    in earlier files are dropped.
    """

    def __init__(self, directory, last_step):
        name = (
            f"events.out.tfevents.{time.time_ns()}."
            f"{socket.gethostname()}.{os.getpid()}"
        )
        self._path = os.path.join(directory, name)
        self._add(file_version="brain.Event:2")
        # Makes TensorBoard drop later steps in the files of earlier processes.
        start = SessionLog(status=SessionLog.START)
        self._add(step=last_step + 1, session_log=start)

    def write(self, step, values):
        """Writes the scalars of a step, a dictionary of name to number."""
        scalars = [
            Summary.Value(tag=name, simple_value=float(value))
            for name, value in values.items()
        ]
        self._add(step=step, summary=Summary(value=scalars))

    def _add(self, **fields):
        event = Event(wall_time=time.time(), **fields)
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        # Closed each time, as TensorBoard reads the file during training.
        with explain_disk_errors(self._path), open(self._path, "ab") as file:
            RecordWriter(file).write(event.SerializeToString())


class Profiler:
    """Records what the devices do from one update to another.

    `steps` are the first and the last of these updates, or () for no profile.
    """

    def __init__(self, backend, directory, steps):
        self.backend = backend
        self.directory = directory
        self.first, self.last = steps or (None, None)
        self.is_recording = False

    def begin(self, step, finish_update):
        """Starts or stops the recording if it is due before an update.

        `step` counts from 1. `finish_update` waits for the update before it.
        """
        # Updates run asynchronously, and the recording holds whole ones.
        if step == self.first:
            finish_update()
            self.backend.start_profile(self.directory)
            self.is_recording = True
        elif self.is_recording and step > self.last:
            finish_update()
            self.stop()

    def stop(self):
        """Ends the recording if there is one."""
        if self.is_recording:
            self.is_recording = False
            self.backend.stop_profile()


def get_known_costs(progress):
    """Returns the sums that are known, rounded for a table."""
    return {
        name: float(f"{progress[name]:.6g}")
        for name in COSTS
        if not math.isnan(progress.get(name, math.nan))
    }
