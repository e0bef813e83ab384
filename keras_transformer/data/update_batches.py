"""Batches for updates: a plan's batches divided among rounds and replicas."""

import math
import typing

import numpy as np

from keras_transformer.data import batch_plan


class Layout(typing.NamedTuple):
    """How the rows of a global batch are divided, and which parts are ours."""

    num_rounds: int = 1  # parts that a replica computes one after another
    num_replicas: int = 1  # devices of all workers together
    first_replica: int = 0  # number of the first replica that this worker feeds
    local_replicas: int = 1  # number of replicas that this worker feeds

    @classmethod
    def of(cls, hparams, engine):
        """Divides a global batch among an engine's replicas.

        There are as few rounds of accumulation as `batch_tokens` allows.

        Args:
            hparams: An `HParams`.
            engine: The engine that computes the updates.
        """
        tokens_at_once = hparams.batch_tokens * engine.num_replicas
        return cls(
            math.ceil(hparams.update_tokens / tokens_at_once),
            engine.num_replicas,
            engine.first_replica,
            engine.local_replicas,
        )


def update_batches(token_pairs, plan, layout, seed, epoch, start=0):
    """Yield a plan's batches, each divided for gradient accumulation.

    The rows of a batch go in order to the replicas of the first round, then
    to those of the second, in parts of equal size that empty rows fill up. So
    an update sees the same rows, each with the same seed, in any layout. Only
    the parts of this worker's replicas are read.

    Args:
        token_pairs: the `TokenPairs` that the plan was made for.
        plan: the `BatchPlan` of an epoch.
        layout: a `Layout`.
        seed, epoch: choose the seeds, together with the batch's number.
        start: number of the first batch.

    Yields:
        Dictionaries of `"inputs"` and `"targets"`, int32 `(num_rounds,
        local_replicas, rows, input_len)` and `(..., target_len)`; `"seeds"`,
        int32 `(num_rounds, local_replicas, rows)`, a random number for each
        row and 0 for an empty one; `"num_tokens"`, a float32, the target
        tokens of all workers' rows.
    """
    target_lengths = token_pairs.targets.lengths
    for number in range(start, len(plan)):
        indices, shape = plan[number]
        seeds = _draw_seeds(indices, (seed, epoch, number))
        local = _local_part(indices, layout, batch_plan.EMPTY_ROW)
        rows = local.reshape(-1, *indices.shape[1:])
        inputs, targets = batch_plan.pad_batch(token_pairs, rows, shape)
        yield {
            "inputs": inputs.reshape(*local.shape[:3], -1),
            "targets": targets.reshape(*local.shape[:3], -1),
            "seeds": _local_part(seeds, layout, 0),
            "num_tokens": np.float32(
                target_lengths[indices[indices >= 0]].sum()
            ),
        }


def _draw_seeds(indices, position):
    """Draws the seed of each row, int32 `(rows,)`."""
    # NumPy takes missing words of a seed for zeros: the last one keeps this
    # apart from the generator that ordered the epoch.
    generator = np.random.default_rng([*position, 1])
    bounds = np.iinfo(np.int32)
    seeds = generator.integers(
        bounds.min, bounds.max, len(indices), np.int32, endpoint=True
    )
    is_empty = indices.reshape(len(indices), -1).max(axis=1) < 0
    return np.where(is_empty, np.int32(0), seeds)


def _local_part(rows, layout, empty):
    """Return `(num_rounds, local_replicas, rows, ...)` of all rows."""
    num_parts = layout.num_rounds * layout.num_replicas
    num_missing = -len(rows) % num_parts
    missing = np.full((num_missing, *rows.shape[1:]), empty, rows.dtype)
    parts = np.concatenate([rows, missing]).reshape(
        layout.num_rounds, layout.num_replicas, -1, *rows.shape[1:]
    )
    last = layout.first_replica + layout.local_replicas
    return parts[:, layout.first_replica : last]
