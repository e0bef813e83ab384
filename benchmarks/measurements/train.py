"""Measures the speed of training on fixed batches, and of making batches."""

import functools
import itertools
import random
import statistics
import time

import keras

from keras_transformer.data.batches import update_batches
from keras_transformer.data.batches.batch_plan import plan_batches
from keras_transformer.data.batches.packing import plan_packed
from keras_transformer.data.batches.prefetch import prefetch
from keras_transformer.data.batches.update_batches import UpdateBatches
from keras_transformer.data.batches.update_batches import update_positions
from keras_transformer.data.text.source_noise import disturb_sources
from keras_transformer.data.vocabulary.subword_sampling import SubwordSampler
from keras_transformer.errors import UserError
from keras_transformer.training.backends.cluster import read_cluster
from keras_transformer.training.backends.cost import count_training_flops
from keras_transformer.training.backends.cost import find_matrix_peak
from keras_transformer.training.backends.make_backend import make_backend
from measurements import machine
from measurements import workload


def time_training(
    hparams,
    token_pairs,
    vocab_size,
    precision="float32",
    num_devices=0,
    xla="auto",
    num_passes=5,
):
    """Times the training of a new model on a few batches, over and over.

    The updates are complete, as in `Trainer`. Their batches are divided among
    rounds and devices and come from the memory of the host. The figures of an
    update are read after the next update has started. A pass that takes less
    than a second goes through the batches several times.

    Returns a dictionary of figures.
    """
    plan = workload.plan_lengths(
        token_pairs,
        update_positions(hparams, token_pairs),
        workload.lengths_for(hparams),
        hparams.packed,
    )
    backend = _make_backend(hparams, vocab_size, precision, num_devices, xla)
    layout = update_batches.Layout.from_plan(
        plan, hparams.batch_tokens, backend
    )
    updates = update_batches.UpdateBatches(token_pairs, plan, layout)
    batches = list(backend.feed(updates))
    startup_seconds = _warm_up(backend, batches)
    losses = []
    passes = machine.time_passes(
        lambda num_times: losses.append(_train(backend, batches * num_times)),
        num_passes,
    )
    peak_bytes = backend.peak_bytes()  # before the large matrices below
    lengths = [updates.size(number).lengths for number in range(len(updates))]
    num_tokens = sum(float(pairs[:, 1].sum()) for pairs in lengths)
    speed, speed_range = passes.rate(num_tokens)
    flops = _count_flops(hparams, vocab_size, plan, lengths)
    return {
        "target_tokens_per_second": round(speed, 1),
        "target_tokens_per_second_range": [round(x, 1) for x in speed_range],
        "step_ms": round(1000 * num_tokens / speed / len(batches), 2),
        **_arithmetic(backend, precision, passes, *flops),
        "padding_share": round(plan.padding_share, 4),
        "startup_seconds": round(startup_seconds, 2),
        "peak_memory_bytes": peak_bytes,
        "loss": round(losses[-1], 4),
        "batches": plan.shapes,
        "num_parameters": backend.model.count_params(),
        "num_devices": backend.num_replicas,
        **passes.figures(),
    }


def _count_flops(hparams, vocab_size, plan, lengths):
    """Returns the operations of a pass with padding, and without it."""
    count = functools.partial(
        count_training_flops,
        hparams.model,
        vocab_size,
        num_passes=hparams.passes_per_update,
    )
    flops = sum(rows * count([row]) for rows, *row in plan.shapes)
    return flops, sum(map(count, lengths))


def _arithmetic(backend, precision, passes, flops, token_flops):
    """Compares the operations of a run with the peak of the devices."""
    # A pass takes `flops` with padding and `token_flops` without. The MFU of
    # Chowdhery et al. (2022) is None if the device's peak is unknown.
    rate, _ = passes.rate(flops)
    measured = machine.matrix_product_rate(precision, backend.num_replicas)
    name = backend.device_name()
    peak = find_matrix_peak(name, precision)
    utilization = None
    if peak:
        token_rate, _ = passes.rate(token_flops)
        utilization = round(token_rate / (peak * backend.num_replicas), 4)
    return {
        "device": name or None,
        "flops_per_second": round(rate),
        "matrix_product_flops_per_second": round(measured),
        "matrix_product_share": round(rate / measured, 4),
        "model_flops_utilization": utilization,
    }


def _make_backend(hparams, vocab_size, precision, num_devices, xla):
    # Before the backend, which waits for the other workers.
    num_workers = read_cluster().num_workers
    if num_workers > 1:
        raise UserError(
            "A benchmark must run on one machine. Received: TF_CONFIG with "
            f"{num_workers} workers. Unset TF_CONFIG."
        )
    random.seed(0)  # Keras draws the seeds of its initializers from it
    backend = make_backend(hparams, precision, num_devices, xla)
    backend.build(vocab_size)
    return backend


def _warm_up(backend, batches):
    """Compiles each shape; returns the seconds until the first update."""
    startup_seconds = None
    for batch in batches:
        float(backend.update(batch)["loss_sum"])  # waits for the device
        startup_seconds = startup_seconds or machine.seconds_since_start()
    return startup_seconds


def _train(backend, batches):
    """Updates on each batch and returns the last loss per token."""
    pending = None
    for batch in batches:
        figures = backend.update(batch)
        # As in training, the host waits for the update before this one only,
        # so that the device always has work.
        if pending is not None:
            float(pending)
        pending = figures["loss_sum"]
    return float(pending) / float(batches[-1]["num_tokens"])


def time_input(hparams, token_pairs, num_passes=5, vocabulary=None):
    """Times the batches of whole epochs: planning, padding and prefetching.

    They are made as for a run on Keras' backend: by tf.data with TensorFlow,
    and by a thread with JAX. With `subword_dropout` or `source_noise`, which
    need the `vocabulary`, planning includes segmentation. Returns figures by
    name.
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
        longest = min(hparams.max_length, positions)
        pairs = sampler.sample(epoch, longest)
        noise = hparams.source_noise
        pairs = disturb_sources(pairs, vocabulary, noise, 0, epoch, longest)
        lengths = [side.lengths for side in pairs]
        return pairs, make_plan(
            *lengths, positions, hparams.max_length, seed=0, epoch=epoch
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
    """Takes all batches as the backend of the backend does."""
    if keras.backend.backend() == "tensorflow":
        # Imported here because JAX does without TensorFlow.
        from keras_transformer.data.batches.dataset import make_update_dataset

        items = make_update_dataset(batches).take(len(batches))
    else:
        items = prefetch(batches)
    for _ in items:
        pass
