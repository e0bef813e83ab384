"""Measures the speed of making batches, without a model."""

import itertools
import statistics
import time

import keras

from keras_transformer.benchmark import machine
from keras_transformer.data.batch_plan import plan_batches
from keras_transformer.data.packing import plan_packed
from keras_transformer.data.prefetch import prefetch
from keras_transformer.data.subword_sampling import SubwordSampler
from keras_transformer.data.update_batches import UpdateBatches
from keras_transformer.data.update_size import update_positions
from keras_transformer.errors import UserError


def time_input(hparams, token_pairs, num_passes=5, vocabulary=None):
    """Times the batches of whole epochs: planning, padding and prefetching.

    They are made as for a run on the current backend of Keras: by tf.data with
    TensorFlow, and by a thread with JAX. With `subword_dropout`, which needs
    the `vocabulary`, planning includes the segmentation of the text. Returns a
    dictionary of figures.
    """
    positions = update_positions(hparams, token_pairs)
    make_plan = plan_packed if hparams.packed else plan_batches
    # Every epoch has a number of its own, since the plan depends on it.
    epochs = itertools.count()
    sampler = SubwordSampler(
        token_pairs, vocabulary, hparams.subword_dropout, seed=0
    )
    planning_seconds = []

    def plan(epoch):
        pairs = sampler.sample(epoch, min(hparams.max_length, positions))
        return pairs, make_plan(
            pairs.inputs.lengths,
            pairs.targets.lengths,
            positions,
            hparams.max_length,
            seed=0,
            epoch=epoch,
        )

    def run_epochs(num_times):
        for epoch in itertools.islice(epochs, num_times):
            begin = time.perf_counter()
            pairs, planned = plan(epoch)
            planning_seconds.append(time.perf_counter() - begin)
            _consume(UpdateBatches(pairs, planned, epoch=epoch))

    _, first = plan(0)  # every epoch drops the same long pairs
    num_pairs = len(token_pairs.inputs) - first.num_dropped
    if not num_pairs:
        raise UserError(
            "`max_length` must leave at least one sentence pair. Received: "
            f"max_length={hparams.max_length}, {first.num_dropped} pairs, all "
            "longer. Raise max_length."
        )
    passes = machine.time_passes(run_epochs, num_passes)
    speed, speed_range = passes.rate(num_pairs)
    planning_share = statistics.median(planning_seconds) * speed / num_pairs
    return {
        "pairs_per_second": round(speed),
        "pairs_per_second_range": [round(x) for x in speed_range],
        "planning_share": round(planning_share, 4),
        "padding_share": round(first.padding_share, 4),
        "num_pairs": num_pairs,
        "num_batches": len(first),
        **passes.figures(),
    }


def _consume(batches):
    """Takes all batches as the engine of the backend does."""
    if keras.backend.backend() == "tensorflow":
        # Imported here because JAX does without TensorFlow.
        from keras_transformer.data.dataset import make_update_dataset

        made = make_update_dataset(batches).take(len(batches))
    else:
        made = prefetch(batches)
    for _ in made:
        pass
