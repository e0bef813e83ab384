"""Times the translation of a text, whatever translates it."""

from keras_transformer.benchmark import machine
from keras_transformer.decoding.engines.ctranslate2_search import BATCH_ROWS
from keras_transformer.engines.memory import process_peak_bytes


def time_translation(translate, num_sentences, num_passes, **facts):
    """Times the repeated translation of a text after its first sentence.

    `translate` translates the text and returns the number of tokens in the best
    translations. The model must have translated before. The `facts` are
    reported as they are.

    Returns a dictionary of figures.
    """
    startup_seconds = machine.seconds_since_start()
    num_tokens = 0

    def run(num_times):
        nonlocal num_tokens
        for _ in range(num_times):
            num_tokens = translate()

    passes = machine.timed_passes(run, num_passes)
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
        batch_size=BATCH_ROWS,
        num_threads=translator.engine.num_threads,
        target_length=0,
        num_parameters=translator.engine.record.get("num_parameters"),
    )
