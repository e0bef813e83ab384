"""What a training run tells: lines, `metrics.csv`, TensorBoard, pictures."""

import os
import sys

import numpy as np

from keras_transformer.runs.metrics_table import METRICS_FILE
from keras_transformer.runs.metrics_table import MetricsTable
from keras_transformer.training.event_file import EventFile
from keras_transformer.visualization.learning_curve import plot_learning_curve

PICTURE = "learning_curve.png"
# What is added up between two rows.
COUNTS = ("updates", "loss", "gradient_norm", "tokens", "positions", "filled")
COUNTS += ("seconds", "waited")


class TrainingLog:
    """Writes the figures of a run to its directory and to standard error.

    Args:
        run: the `RunDirectory`.
        step: updates done before; what an earlier process wrote of later
            updates is dropped, since they are done again.
        is_chief: False for all workers but one, which then write nothing.
        counts: the `counts` that a log before this one ended with.
    """

    def __init__(self, run, step, is_chief=True, counts=None):
        self.run = run
        self.is_chief = is_chief
        self.is_terminal = sys.stderr.isatty()
        if is_chief:
            self.table = MetricsTable(run.file(METRICS_FILE), step)
            self.events = EventFile(run.file("tensorboard"), step)
        self._reset()
        self.counts.update(counts or {})

    @property
    def evaluations(self):
        """The figures of all evaluations so far, dictionaries of strings."""
        return [
            {name: value for name, value in row.items() if value}
            for row in self.table.rows
            if row.get("dev_loss")
        ]

    def describe(self, plan, engine, peak):
        """Says what is about to be trained, and how fast at the most.

        Args:
            plan: the `BatchPlan` of the first epoch.
            engine: the engine, its model built.
            peak: the greatest learning rate.
        """
        self._say(
            f"Model: {engine.model.count_params():,} parameters, "
            f"{engine.precision}. Data: {len(plan)} batches an epoch of "
            f"{len(plan.shapes)} shapes, padding {plan.padding_share:.1%}, "
            f"{plan.num_dropped} pairs dropped as too long. "
            f"Each update: devices {engine.layout.num_replicas}, rounds "
            f"{engine.layout.num_rounds}. Learning rate: peak {peak:.2e}."
        )

    def update(self, batch, loss_sum, gradient_norm):
        """Counts one update.

        Args:
            batch: dictionary as `update_batches` yields it. With several
                workers the padding is that of the chief's part.
            loss_sum: sum of the losses of all target tokens.
            gradient_norm: norm of the gradient.
        """
        self.counts["updates"] += 1
        self.counts["loss"] += loss_sum
        self.counts["gradient_norm"] += gradient_norm
        self.counts["tokens"] += float(batch["num_tokens"])
        for ids in (batch["inputs"], batch["targets"]):
            self.counts["positions"] += ids.size
            self.counts["filled"] += np.count_nonzero(ids)

    def time(self, seconds, waited=0.0):
        """Counts time that updates took, `waited` of it for a batch."""
        self.counts["seconds"] += seconds
        self.counts["waited"] += waited

    def training(self, progress, learning_rate, train_steps, memory_bytes):
        """Writes a row about the updates since the last one.

        Args:
            progress: dictionary with `step`, `epoch` and `seconds`.
            learning_rate: that of the last update.
            train_steps: number of updates in all.
            memory_bytes: the greatest use of memory so far.
        """
        step, counts = progress["step"], self.counts
        speed = counts["tokens"] / counts["seconds"]
        padding = 1 - counts["filled"] / counts["positions"]
        row = {
            **_position(progress),
            "learning_rate": learning_rate,
            "train_loss": counts["loss"] / counts["tokens"],
            "gradient_norm": counts["gradient_norm"] / counts["updates"],
            "tokens_per_second": round(speed, 1),
            "padding_share": round(padding, 4),
            "input_wait_share": round(counts["waited"] / counts["seconds"], 4),
            "memory_bytes": memory_bytes,
        }
        left = (train_steps - step) * progress["seconds"] / step
        self._say(
            f"step {step:,}/{train_steps:,}  loss {row['train_loss']:.4f}  "
            f"lr {learning_rate:.2e}  {speed:,.0f} tokens/s  "
            f"{_duration(left)} left",
            passing=True,
        )
        self._write(row)
        self._reset()

    def evaluation(self, progress, results):
        """Writes a row about an evaluation, and draws the curve anew."""
        figures = "  ".join(
            f"{name} {value:.4g}" for name, value in results.items()
        )
        self._say(f"step {progress['step']:,}  {figures}")
        self._write({**_position(progress), **results})
        if self.is_chief:
            plot_learning_curve(self.table.rows, self.run.file(PICTURE))

    def samples(self, step, samples):
        """Writes sample translations to a file of their own.

        Args:
            step: number of updates done.
            samples: list of (source, reference, translation).
        """
        if not self.is_chief:
            return
        path = self.run.file("samples", f"step-{step}.txt")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            for source, reference, translation in samples:
                file.write(
                    f"source      {source}\nreference   {reference}\n"
                    f"translation {translation}\n\n"
                )

    def close(self):
        """Finishes the line on the terminal and the TensorBoard file."""
        if not self.is_chief:
            return
        if self.is_terminal:
            print(file=sys.stderr)
        self.events.close()

    def _reset(self):
        """Starts to count for the next row."""
        self.counts = dict.fromkeys(COUNTS, 0.0)

    def _say(self, line, passing=False):
        if not self.is_chief:
            return
        if self.is_terminal:
            end = "" if passing else "\n"
            print(f"\r\033[K{line}", end=end, file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def _write(self, row):
        if self.is_chief:
            self.table.add(row)
            scalars = {name: row[name] for name in row if name != "step"}
            self.events.write(row["step"], scalars)


def _position(progress):
    return {
        "step": progress["step"],
        "epoch": progress["epoch"],
        "seconds": round(progress["seconds"], 3),
    }


def _duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
