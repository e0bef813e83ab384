"""Batches and updates that the tests of both backends share."""

import random

import numpy as np

from keras_transformer.data.batches.update_batches import Layout
from keras_transformer.hparam import HParams
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import optimizer_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.training.backends.make_backend import make_backend

NUM_UPDATES = 50
VOCAB_SIZE = 30
HPARAMS = HParams(
    num_layers=1,
    d_model=16,
    d_ff=32,
    num_heads=2,
    dropout=0.2,
    attention_dropout=0.1,
    learning_rate=0.1,  # a greater one would amplify rounding errors
    warmup_steps=10,
    batch_tokens=64,
)


def build_backend(hparams, num_devices=1, precision="float32", xla="auto"):
    """Returns a backend whose weights are always the same."""
    random.seed(1)  # Keras draws the seeds of initializers from this
    backend = make_backend(hparams, precision, num_devices, xla)
    backend.build(VOCAB_SIZE)
    return backend


def make_batch(number=0, num_rounds=1, num_replicas=1, num_rows=7, length=8):
    """Returns a batch of rising sequences of ids, divided for an update."""
    generator = np.random.default_rng(number)
    lengths = generator.integers(2, length + 1, (num_rows, 1))
    ids = generator.integers(2, 20, (num_rows, 1)) + np.arange(length)
    ids[np.arange(length) == lengths - 1] = 1
    ids[np.arange(length) >= lengths] = 0
    seeds = generator.integers(-(2**31), 2**31, num_rows)

    def divided(rows):
        missing = -num_rows % (num_rounds * num_replicas)
        widths = [(0, missing)] + [(0, 0)] * (rows.ndim - 1)
        rows = np.pad(rows, widths).astype("int32")
        # (num_rounds, num_replicas, rows, ...)
        return rows.reshape(num_rounds, num_replicas, -1, *rows.shape[1:])

    return {
        "inputs": divided(ids),
        "targets": divided(ids),
        "seeds": divided(seeds),
        "num_tokens": np.float32(lengths.sum()),
    }


def make_spans(ids, num_labels):
    """Returns labelled spans for `span_loss`, one for each real token.

    Args:
        ids: Integer array of shape `(..., length)`, with rows of `make_batch`.
        num_labels: Number of labels.

    Returns:
        Array of shape `(..., length, 3)`: the span from the first to each
        token, and a label that depends on the token.
    """
    is_token = ids > 1
    last = np.arange(ids.shape[-1]) * is_token
    spans = np.stack([np.zeros_like(ids), last, ids % num_labels], axis=-1)
    return np.where(is_token[..., None], spans, -1).astype("int32")


class GivenBatches:
    """Batches that a backend takes in the place of `UpdateBatches`.

    Args:
        batches: List of dictionaries of arrays, divided for an update.
    """

    def __init__(self, batches):
        self._batches = batches
        num_rounds, num_replicas, _ = batches[0]["seeds"].shape
        self.layout = Layout(num_rounds, num_replicas, 0, num_replicas)
        self.guidance = "guidance" in batches[0]

    def __len__(self):
        return len(self._batches)

    def __getitem__(self, number):
        return self._batches[number]

    def read(self, number, replicas):
        batch = self._batches[number]
        parts = {
            name: array[:, replicas]
            for name, array in batch.items()
            if name != "num_tokens"
        }
        return {**parts, "num_tokens": batch["num_tokens"]}


def update(backend, *batches, stop=False, rate=0.0):
    """Updates on batches of as many rounds; yields the figures of each."""
    for batch in backend.feed(GivenBatches(batches)):
        yield backend.update(batch, stop, rate)


def update_once(backend, batch, stop=False, rate=0.0):
    """Returns the figures of an update."""
    (figures,) = update(backend, batch, stop=stop, rate=rate)
    return figures


def train(backend, num_rounds=1, start=0, stop=NUM_UPDATES):
    """Returns losses per token and gradient norms, `(num_updates, 2)`."""
    figures = []
    batches = [
        make_batch(number, num_rounds, backend.num_replicas)
        for number in range(start, stop)
    ]
    for batch, result in zip(batches, update(backend, *batches)):
        loss = float(result["loss_sum"]) / batch["num_tokens"]
        figures.append((loss, float(result["gradient_norm"])))
    return np.array(figures)


def check_rates(backend, batch):
    """Checks that a backend with `train_minutes` uses the rates it is given."""
    # The moments that rate 0 leaves make the largest step about the rate.
    for rate in (0.0, 0.01, 0.02):
        before = read_variables(model_variables(backend.model))
        figures = update_once(backend, batch, rate=rate)
        backend.synchronise()
        after = read_variables(model_variables(backend.model))
        largest = max(
            np.abs(after[name] - before[name]).max() for name in after
        )
        np.testing.assert_allclose(largest, rate, rtol=0.1)
        np.testing.assert_allclose(float(figures["learning_rate"]), rate)


def state_of(backend):
    """Returns all variables of the model and the optimizer by name."""
    return {
        **model_variables(backend.model),
        **optimizer_variables(backend.optimizer),
    }
