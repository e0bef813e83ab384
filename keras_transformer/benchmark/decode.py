"""Measures the speed of decoding, with free or forced lengths."""

import dataclasses
import random

import numpy as np

from keras_transformer.benchmark.decode_figures import time_translation
from keras_transformer.decoding import batching
from keras_transformer.decoding.batching import pad
from keras_transformer.decoding.engines.compiled_search import Replica
from keras_transformer.transformer import POLICIES
from keras_transformer.transformer import build_transformer


def random_model(hparams, vocab_size, precision):
    """Builds a model with random weights, for timing without training."""
    random.seed(0)  # Keras draws the seeds of its initializers from it
    return build_transformer(hparams.model, vocab_size, POLICIES[precision])


def time_decoding(
    model,
    sources,
    options,
    batch_size=32,
    target_length=0,
    by_length=True,
    num_passes=5,
    vocabularies=None,
):
    """Times the repeated translation of encoded sentences.

    `sources` holds lists of token ids, each with the end id. Several batches
    are decoded side by side, one in each thread. Every translation has
    `target_length` tokens with its end, or a length that the model chooses if
    it is 0. With `by_length`, a batch holds sentences of similar lengths. If
    the targets of the run's `vocabularies` are trees, the search finds
    well-formed ones only.

    Returns a dictionary of figures.
    """
    if target_length:
        # The end comes on top of the minimum. Together with the limit of
        # `target_length` in each batch, this forces the length.
        options = dataclasses.replace(options, min_length=target_length - 1)
    search = Replica(model).search(options, vocabularies, is_parser=True)
    # kt-decoder sorts too: similar lengths need less padding.
    order = sorted(sources, key=len) if by_length else sources
    batches = [
        _batch(order[start : start + batch_size], options, target_length)
        for start in range(0, len(order), batch_size)
    ]
    search(*_batch(order[:1], options, target_length))  # the first translation
    num_threads = batching.count_threads()

    def translate():
        results = batching.run_in_parallel(
            lambda batch: search(*batch), batches, num_threads
        )
        return _count_tokens(results)

    return time_translation(
        translate,
        len(sources),
        num_passes,
        batch_size=batch_size,
        num_threads=num_threads,
        target_length=target_length,
        num_parameters=model.count_params(),
    )


def _count_tokens(results):
    """Returns the number of tokens in the best translations."""
    return sum(np.count_nonzero(ids[:, 0]) for ids, _ in results)


def _batch(sources, options, target_length):
    """Returns padded ids and the largest length of each translation."""
    lengths = [len(ids) for ids in sources]
    max_lengths = np.array(lengths, "int32") + options.extra_length
    if target_length:
        max_lengths[:] = target_length
    return pad(sources), max_lengths
