"""Measures the speed of translation by runs and by exported models."""

import dataclasses
import random

import numpy as np

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.decoding.engines import batching
from keras_transformer.files.machine import process_peak_bytes
from measurements import machine


def random_model(hparams, vocab_size, precision):
    """Builds a model with random weights, for timing without training."""
    # Imported here because a CTranslate2 model is timed without Keras.
    from keras_transformer.runs.model import POLICIES
    from keras_transformer.runs.model import build_transformer

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

    `sources` holds lists of token ids, each with the end id. Each thread
    decodes a batch. Every translation has `target_length` tokens with its end,
    or a length that the model chooses if it is 0. With `by_length`, a batch
    holds sentences of similar lengths. If the targets of the run's
    `vocabularies` are trees, the search finds well-formed ones only.

    Returns a dictionary of figures.
    """
    from keras_transformer.decoding.engines.compiled_search import Replica

    if target_length:
        # The end comes on top of the minimum. Together with the limit of
        # `target_length` in each batch, this forces the length.
        options = dataclasses.replace(options, min_length=target_length - 1)
    search = Replica(model).search(options, vocabularies)
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
        # The tokens of the best translations.
        return sum(np.count_nonzero(ids[:, 0]) for ids, _ in results)

    return time_translation(
        translate,
        len(sources),
        num_passes,
        batch_size=batch_size,
        num_threads=num_threads,
        target_length=target_length,
        num_parameters=model.count_params(),
    )


def _batch(sources, options, target_length):
    """Returns padded ids and the largest length of each translation."""
    lengths = [len(ids) for ids in sources]
    max_lengths = np.array(lengths, "int32") + options.extra_length
    if target_length:
        max_lengths[:] = target_length
    return pad(sources), max_lengths


def time_translation(translate, num_sentences, num_passes, **facts):
    """Times the repeated translation of a text after its first sentence.

    `translate` translates the text and returns the number of tokens in the best
    translations. The model must have translated before. The `facts` are
    reported as they are.

    Returns a dictionary of figures.
    """
    startup_seconds = machine.seconds_since_start()
    counts = []
    passes = machine.time_passes(
        lambda num_times: counts.extend(translate() for _ in range(num_times)),
        num_passes,
    )
    num_tokens = counts[-1]
    tokens_rate, _ = passes.rate(num_tokens)
    speed, speed_range = passes.rate(num_sentences)
    return {
        "sentences_per_second": round(speed, 2),
        "sentences_per_second_range": [round(x, 2) for x in speed_range],
        "target_tokens_per_second": round(tokens_rate, 1),
        "tokens_per_sentence": round(num_tokens / num_sentences, 2),
        "startup_seconds": round(startup_seconds, 2),
        "peak_memory_bytes": process_peak_bytes(),
        "num_sentences": num_sentences,
        **facts,
        **passes.figures(),
    }


def time_export(translator, sources, options, num_passes=5):
    """Times a CTranslate2 model, which forms its batches itself.

    `sources` holds lists of token ids, each with the end id, and `options` the
    decoding options to change. Returns a dictionary of figures.
    """
    # As for a run, the first translation is that of the shortest sentence.
    translator.translate_ids([min(sources, key=len)], **options)

    def translate():
        rows = translator.translate_ids(sources, scored=False, **options)
        return sum(len(best.ids) for best, *_ in rows)

    return time_translation(
        translate,
        len(sources),
        num_passes,
        batch_size=translator.engine.batch_rows,
        num_threads=translator.engine.num_threads,
        target_length=0,
        num_parameters=translator.engine.record.get("num_parameters"),
    )
