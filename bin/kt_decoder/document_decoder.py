"""How kt-decoder translates a document."""

import io
import pathlib
import sys

from keras_transformer.bin.kt_decoder.decoder_model import FLAGS
from keras_transformer.bin.kt_decoder.decoder_model import load_model
from keras_transformer.bin.kt_decoder.decoder_model import make_extras
from keras_transformer.bin.kt_decoder.lines import print_warnings
from keras_transformer.bin.shared import text_io
from keras_transformer.data.text import text_files
from keras_transformer.decoding.engines.attention import find_words
from keras_transformer.decoding.preparation import read_windows
from keras_transformer.documents import document
from keras_transformer.documents.markup import WORD
from keras_transformer.errors import UserError
from keras_transformer.files import writing
from keras_transformer.files.progress import Progress
from keras_transformer.scoring.alarms import REASONS

WARNINGS = {
    "split": "was too long and is translated in parts",
    "reached_limit": "has a translation that may be cut off",
    "empty": "has no translation and stays as it is",
    **REASONS,
}


def decode_document(plan, call):
    """Writes the translation of a document; returns the number of warnings.

    `call` holds the arguments of `Translator.translate_window`.
    """
    number = call.get("num_hypotheses") or 1
    if number > 1:
        raise UserError(
            "`num_hypotheses` must be 1 for a document, which has one "
            f"translation. Received: num_hypotheses={number} with --document. "
            "Leave it out."
        )
    content = _read(FLAGS.decode_from_file)
    # The vocabulary of a run can be read without its model, so a faulty
    # document fails before the model is loaded.
    translator = plan.checker or load_model(plan)
    source = document.Document(
        content,
        FLAGS.document_format or document.guess_format(FLAGS.decode_from_file),
        FLAGS.document_language,
        FLAGS.translate_attributes,
        translator.codec.normalize,
    )
    if plan.checker:
        translator = load_model(plan)
    extras = make_extras(translator)
    with Progress("sentences", len(source.sentences)) as progress:
        translations = [
            one
            for window in read_windows(source.sentences)
            for one in translator.translate_window(
                window, progress.add, extras=extras, **call
            )
        ]
    best = [translation.hypotheses[0] for translation in translations]
    texts = [
        one.text or sentence for sentence, one in zip(source.sentences, best)
    ]
    alignments = _align(source, best, translator)
    text = source.replace_sentences(texts, alignments)
    if FLAGS.decode_to_file:
        with writing.atomic_write(FLAGS.decode_to_file, "wb") as file:
            file.write(text.encode())
    else:
        sys.stdout.write(text)
    num_warnings = 0
    for number, sentence in enumerate(source.sentences):
        is_empty = not best[number].text
        names = ["empty"] if is_empty else translations[number].warnings
        place = f"sentence {number + 1}, {sentence[:40]!r}...,"
        print_warnings(place, [WARNINGS[name] for name in names])
        num_warnings += len(names)
    return num_warnings


def _read(path):
    name = path
    if path in (None, "-"):
        text_io.check_standard_input()
        name, content = "standard input", sys.stdin.buffer.read()
    else:
        text_files.check_exists(path)
        content = pathlib.Path(path).read_bytes()
    # Raises an error that names the line of a faulty byte.
    for _ in text_files.split_lines(io.BytesIO(content), name, exact=True):
        pass
    return content.decode()


def _align(source, best, translator):
    """Returns the alignments of the sentences that have markup to place."""
    alignments = [None] * len(best)
    if "word_links" not in translator.capabilities.supports:
        return alignments
    numbers = [
        number
        for number, has_markup in enumerate(source.has_markup)
        # Only the translation of a whole sentence has ids.
        if has_markup and best[number].ids
    ]
    links = numbers and translator.word_links(
        [source.sentences[number] for number in numbers],
        [[best[number]] for number in numbers],
        WORD,
        scored=False,
    )
    for number, each in zip(numbers, links):
        texts = source.sentences[number], best[number].text
        # A vocabulary may change the spelling of a text.
        words = tuple(find_words(text, WORD) for text in texts)
        if (each.source_words, each.target_words) == words:
            alignments[number] = each.find_mutual_pairs()
    return alignments
