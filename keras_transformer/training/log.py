"""The log of a training: lines, `metrics.csv`, TensorBoard and a curve."""

import os
import sys

import numpy as np
import tqdm

from keras_transformer.data.progress import duration
from keras_transformer.files.writing import atomic_write
from keras_transformer.runs.metrics_table import METRICS_FILE
from keras_transformer.runs.metrics_table import MetricsTable
from keras_transformer.training.cost import known_costs
from keras_transformer.training.event_file import EventFile
from keras_transformer.visualization.learning_curve import plot_learning_curve

CURVE_FILE = "learning_curve.png"
# The sums that the next row is computed from. Checkpoints hold them, so the
# first row after a resume also covers the updates before it.
COUNTS = ("updates", "loss", "consistency", "gradient_norm")
COUNTS += ("source_tokens", "tokens", "positions", "filled")
COUNTS += ("seconds", "waited")


class TrainingLog:
    """Writes the figures of a training to its run and to standard error.

    On a terminal a `tqdm` bar shows the progress. Elsewhere, such as in a file,
    each row of `metrics.csv` also gives a line.

    Args:
        run: The `RunDirectory`.
        step: Number of updates done before. Rows of later updates are dropped,
            since those updates are repeated.
        is_chief: Whether this worker writes the log; the others write nothing.
            Defaults to True.
        counts: The `counts` of the log that this one continues. Those of an
            earlier version, which counted less, are left out. Defaults to
            None, for a new training.
    """

    def __init__(self, run, step, is_chief=True, counts=None):
        self.run = run
        self.is_chief = is_chief
        self.is_terminal = sys.stderr.isatty()
        self._bar = None
        # Several workers share one directory.
        if is_chief:
            self.table = MetricsTable(run.file(METRICS_FILE), step)
            self.events = EventFile(run.file("tensorboard"), step)
        self._reset()
        if counts and counts.keys() >= self.counts.keys():
            self.counts.update(counts)

    @property
    def evaluations(self):
        """Figures of all evaluations so far, a list of dictionaries."""
        return [
            {name: value for name, value in row.items() if value}
            for row in self.table.rows
            if row.get("dev_loss")
        ]

    def describe(self, plan, layout, engine, peak):
        """Prints the sizes of the model, of the data and of an update.

        Args:
            plan: `BatchPlan` of the first epoch.
            layout: `Layout` of its batches.
            engine: The engine, with its model built.
            peak: The greatest learning rate of the schedule.
        """
        source_tokens, target_tokens = plan.tokens_per_batch
        self._print(
            f"Model: {engine.model.count_params():,} parameters, "
            f"{engine.precision}. Data: {len(plan)} batches per epoch in "
            f"{len(plan.shapes)} shapes, {plan.padding_share:.1%} padding, "
            f"{plan.num_dropped} pairs dropped as too long. "
            f"Tokens per update: {source_tokens:,.0f} source, "
            f"{target_tokens:,.0f} target. "
            f"Devices: {layout.num_replicas}. "
            f"Rounds per update: {layout.num_rounds}. "
            f"Peak learning rate: {peak:.2e}."
        )

    def describe_scores(self, measure, signatures):
        """Prints what decides which checkpoint is best, and all signatures.

        Args:
            measure: Name of the measure.
            signatures: List of the signatures of the scores on dev.
        """
        self._print(f"The best checkpoint is chosen by {measure} on dev.")
        if signatures:
            self._print(f"Signatures: {'; '.join(signatures)}.")

    def update(self, batch, figures):
        """Counts one update.

        Args:
            batch: Dictionary as `update_batches` yields it. With several
                workers, padding is counted in the chief's part only.
            figures: Dictionary as the `update` of an engine returns it.
        """
        # Sums, not means: a row weighs every target token alike.
        self.counts["updates"] += 1
        self.counts["loss"] += figures["loss_sum"]
        self.counts["consistency"] += figures["consistency_sum"]
        self.counts["gradient_norm"] += figures["gradient_norm"]
        self.counts["source_tokens"] += float(batch["lengths"][:, 0].sum())
        self.counts["tokens"] += float(batch["num_tokens"])
        for ids in (batch["inputs"], batch["targets"]):
            self.counts["positions"] += ids.size
            self.counts["filled"] += np.count_nonzero(ids)

    def time(self, seconds, waited=0.0):
        """Counts the time of updates.

        Args:
            seconds: Duration in seconds.
            waited: The part of it that was spent waiting for a batch. Defaults
                to 0.
        """
        self.counts["seconds"] += seconds
        self.counts["waited"] += waited

    def training(self, progress, learning_rate, train_steps, memory_bytes):
        """Writes a row about the updates since the last row.

        Args:
            progress: Dictionary with `step`, `epoch` and `seconds`.
            learning_rate: Learning rate of the last update.
            train_steps: Number of updates of the whole training.
            memory_bytes: Peak use of memory so far.
        """
        counts, updates = self.counts, self.counts["updates"]
        speed = counts["tokens"] / counts["seconds"]
        padding = 1 - counts["filled"] / counts["positions"]
        row = {
            **_position(progress),
            "learning_rate": learning_rate,
            "train_loss": counts["loss"] / counts["tokens"],
            "gradient_norm": counts["gradient_norm"] / updates,
            "source_tokens": round(counts["source_tokens"] / updates, 1),
            "target_tokens": round(counts["tokens"] / updates, 1),
            "tokens_per_second": round(speed, 1),
            "padding_share": round(padding, 4),
            "input_wait_share": round(counts["waited"] / counts["seconds"], 4),
            "memory_bytes": memory_bytes,
        }
        if self.run.hparams.consistency != "none":
            row["train_consistency"] = counts["consistency"] / counts["tokens"]
        self._show_progress(
            progress,
            train_steps,
            f"loss {row['train_loss']:.4f}  lr {learning_rate:.2e}  "
            f"{speed:,.0f} tokens/s",
        )
        self._write(row)
        self._reset()

    def evaluation(self, progress, results):
        """Writes a row about an evaluation, and draws the learning curve.

        Args:
            progress: Dictionary with `step`, `epoch` and `seconds`.
            results: Dictionary of name to figure.
        """
        figures = "  ".join(
            f"{name} {value:.4g}" for name, value in results.items()
        )
        # A new line even on a terminal, where it stays above the bar.
        self._print(f"step {progress['step']:,}  {figures}")
        self._write({**_position(progress), **results})
        if self.is_chief:
            plot_learning_curve(
                self.table.rows,
                self.run.file(CURVE_FILE),
                self.run.hparams.label_smoothing,
            )

    def samples(self, step, samples):
        """Writes sample translations to a file of their own.

        Args:
            step: Number of updates done.
            samples: List of (source, reference, translation).
        """
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
        """Closes the progress bar and the TensorBoard file."""
        if not self.is_chief:
            return
        if self._bar is not None:
            self._bar.close()
        self.events.close()

    def _reset(self):
        self.counts = dict.fromkeys(COUNTS, 0.0)

    def _show_progress(self, progress, train_steps, figures):
        step = progress["step"]
        if not self.is_terminal:
            left = (train_steps - step) * progress["seconds"] / step
            self._print(
                f"step {step:,}/{train_steps:,}  {figures}  "
                f"{duration(left)} left"
            )
        elif self.is_chief:
            if self._bar is None:
                self._bar = tqdm.tqdm(
                    total=train_steps, initial=step, unit=" updates"
                )
            self._bar.update(step - self._bar.n)
            self._bar.set_postfix_str(figures)

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


def _position(progress):
    return {
        "step": progress["step"],
        "epoch": progress["epoch"],
        "seconds": round(progress["seconds"], 3),
        **known_costs(progress),
    }
