"""Batches of a plan, divided among the rounds and replicas of an update."""

import math
import typing

import numpy as np

from keras_transformer.data import batch_plan
from keras_transformer.data.token_links import dense_links


class Layout(typing.NamedTuple):
    """How the rows of a global batch are divided, and which parts are ours."""

    num_rounds: int = 1  # parts that a replica computes one after another
    num_replicas: int = 1  # devices of all workers together
    first_replica: int = 0  # number of the first replica that this worker feeds
    local_replicas: int = 1  # number of replicas that this worker feeds

    @classmethod
    def of(cls, plan, batch_tokens, engine):
        """Divides the batches of a plan among an engine's replicas.

        There are as few rounds of accumulation as `batch_tokens` allows, and
        as many in every batch. A replica takes at least one row at once.

        Args:
            plan: A `BatchPlan`.
            batch_tokens: Number of positions per side that a replica takes at
                once.
            engine: The engine that computes the updates.
        """
        num_rounds = 1
        for rows, input_len, target_len in plan.shapes:
            rows_at_once = max(1, batch_tokens // max(input_len, target_len))
            parts = math.ceil(rows / rows_at_once)
            num_rounds = max(num_rounds, math.ceil(parts / engine.num_replicas))
        return cls(
            num_rounds,
            engine.num_replicas,
            engine.first_replica,
            engine.local_replicas,
        )


def update_batches(token_pairs, plan, layout, seed, epoch, start=0, links=None):
    """Yields the batches of a plan, divided for gradient accumulation.

    The rows of a batch go in order to the replicas of the first round, then to
    those of the second, and so on, in parts of equal size. Empty rows fill the
    last parts. An update therefore sees the same rows, each with the same seed,
    in every layout. Only the parts of this worker's replicas are read.

    Args:
        token_pairs: The `TokenPairs` that the plan was made for.
        plan: The `BatchPlan` of an epoch.
        layout: A `Layout`.
        seed: Integer seed of the training run.
        epoch: Number of the epoch. Seed, epoch and the number of the batch
            determine the seeds of its rows.
        start: Number of the first batch. Defaults to 0.
        links: The `TokenSequences` of `token_links`. Defaults to None.

    Yields:
        Dictionaries with five entries: "inputs" and "targets", int32 arrays of
        shapes `(num_rounds, local_replicas, rows, input_len)` and
        `(num_rounds, local_replicas, rows, target_len)`; "seeds", an int32
        array of shape `(num_rounds, local_replicas, rows)` with a random
        number for each row, and 0 for an empty row; "lengths", an integer array
        of shape `(pairs, 2)` with the source and target lengths of the pairs of
        all workers; and "num_tokens", a float32 with the number of target
        tokens of all workers. With `links` also "links", a boolean array of
        shape `(num_rounds, local_replicas, rows, target_len, input_len)`.
    """
    for number in range(start, len(plan)):
        indices, shape = plan[number]
        lengths = _lengths(token_pairs, indices)  # (pairs, 2)
        seeds = _draw_seeds(indices, (seed, epoch, number))
        local = _local_part(indices, layout, batch_plan.EMPTY_ROW)
        rows = local.reshape(-1, *indices.shape[1:])  # (local_rows, ...)
        inputs, targets = batch_plan.pad_batch(token_pairs, rows, shape)
        batch = {
            "inputs": inputs.reshape(
                *local.shape[:3], -1
            ),  # (num_rounds, local_replicas, rows, input_len)
            "targets": targets.reshape(
                *local.shape[:3], -1
            ),  # (num_rounds, local_replicas, rows, target_len)
            "seeds": _local_part(seeds, layout, 0),
            "lengths": lengths,
            # Of all workers, because the loss is the mean over all tokens.
            "num_tokens": np.float32(lengths[:, 1].sum()),
        }
        if links is not None:
            dense = dense_links(links, rows, shape)
            batch["links"] = dense.reshape(
                *local.shape[:3], *dense.shape[1:]
            )  # (num_rounds, local_replicas, rows, target_len, input_len)
        yield batch


def _lengths(token_pairs, indices):
    pairs = indices[indices >= 0]
    sides = (token_pairs.inputs, token_pairs.targets)
    return np.stack([side.lengths_of(pairs) for side in sides], axis=1)


def _draw_seeds(indices, position):
    """Draws the seed of each row, int32 `(rows,)`."""
    # NumPy pads a short seed with zeros. The trailing 1 keeps this generator
    # apart from the one that orders the epoch.
    generator = np.random.default_rng([*position, 1])
    bounds = np.iinfo(np.int32)
    seeds = generator.integers(
        bounds.min, bounds.max, len(indices), np.int32, endpoint=True
    )
    pairs = indices.reshape(len(indices), -1)  # (rows, pairs_per_row)
    is_empty = pairs.max(axis=1) < 0
    return np.where(is_empty, np.int32(0), seeds)


def _local_part(rows, layout, empty):
    """Returns parts of shape `(num_rounds, local_replicas, rows, ...)`."""
    num_parts = layout.num_rounds * layout.num_replicas
    num_missing = -len(rows) % num_parts
    missing = np.full((num_missing, *rows.shape[1:]), empty, rows.dtype)
    parts = np.concatenate([rows, missing]).reshape(
        layout.num_rounds, layout.num_replicas, -1, *rows.shape[1:]
    )  # (num_rounds, num_replicas, rows, ...)
    last = layout.first_replica + layout.local_replicas
    return parts[:, layout.first_replica : last]
