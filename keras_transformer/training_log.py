"""What a training run tells: lines, `metrics.csv`, TensorBoard, pictures."""

import csv
import os
import sys

import numpy as np
import tensorflow as tf

from keras_transformer.files import written_aside
from keras_transformer.visualization.learning_curve import plot_learning_curve

CSV = "metrics.csv"
PICTURE = "learning_curve.png"
COLUMNS = ["step", "epoch", "seconds", "learning_rate", "train_loss"]
COLUMNS += ["tokens_per_second", "padding_share"]
COLUMNS += ["dev_loss", "dev_perplexity", "dev_accuracy"]


class TrainingLog:
    """Writes the figures of a run to its directory and to standard error.

    Args:
        run: the `RunDirectory`.
        step: updates done before; what an earlier process wrote of later
            updates is dropped, since they are done again.
    """

    def __init__(self, run, step):
        self.run = run
        self.rows = [row for row in self._read() if int(row["step"]) <= step]
        self.writer = tf.summary.create_file_writer(run.file("tensorboard"))
        self.is_terminal = sys.stderr.isatty()
        self._reset()

    def describe(self, plan, num_parameters, peak):
        """Says what is about to be trained, and how fast at the most."""
        self._say(
            f"Model: {num_parameters:,} parameters. Data: {len(plan)} "
            f"batches an epoch of {len(plan.shapes)} shapes, padding "
            f"{plan.padding_share:.1%}, {plan.num_dropped} pairs dropped as "
            f"too long. Learning rate: peak {peak:.2e}."
        )

    def update(self, inputs, targets, loss_sum, num_tokens, seconds):
        """Counts one update."""
        self.loss_sum += loss_sum
        self.num_tokens += num_tokens
        self.seconds += seconds
        self.num_positions += inputs.size + targets.size
        self.num_real += np.count_nonzero(inputs) + num_tokens

    def training(self, progress, learning_rate, train_steps):
        """Writes a row about the updates since the last one."""
        step = progress["step"]
        speed = self.num_tokens / self.seconds
        row = {
            "step": step,
            "epoch": progress["epoch"],
            "seconds": round(progress["seconds"], 3),
            "learning_rate": learning_rate,
            "train_loss": self.loss_sum / self.num_tokens,
            "tokens_per_second": round(speed, 1),
            "padding_share": round(1 - self.num_real / self.num_positions, 4),
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
        row = {
            "step": progress["step"],
            "epoch": progress["epoch"],
            "seconds": round(progress["seconds"], 3),
            **results,
        }
        figures = "  ".join(
            f"{name} {value:.4g}" for name, value in results.items()
        )
        self._say(f"step {progress['step']:,}  {figures}")
        self._write(row)
        plot_learning_curve(self.rows, self.run.file(PICTURE))

    def samples(self, step, samples):
        """Writes sample translations to a file of their own.

        Args:
            step: number of updates done.
            samples: list of (source, reference, translation).
        """
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
        if self.is_terminal:
            print(file=sys.stderr)
        self.writer.close()

    def _reset(self):
        self.loss_sum = self.num_tokens = self.seconds = 0.0
        self.num_positions = self.num_real = 0

    def _say(self, line, passing=False):
        if self.is_terminal:
            end = "" if passing else "\n"
            print(f"\r\033[K{line}", end=end, file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def _read(self):
        if not os.path.exists(self.run.file(CSV)):
            return []
        with open(self.run.file(CSV), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def _write(self, row):
        self.rows.append({name: str(value) for name, value in row.items()})
        found = dict.fromkeys(name for r in self.rows for name in r)
        names = COLUMNS + [name for name in found if name not in COLUMNS]
        with written_aside(self.run.file(CSV)) as file:
            writer = csv.DictWriter(
                file, names, restval="", lineterminator="\n"
            )
            writer.writeheader()
            writer.writerows(self.rows)
        with self.writer.as_default(step=row["step"]):
            for name in row.keys() - {"step"}:
                tf.summary.scalar(name, float(row[name]))
        self.writer.flush()


def _duration(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
