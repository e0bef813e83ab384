"""What kt-decoder reads and writes: lines, lines of JSON, and documents."""

import json
import sys

from keras_transformer.bin.kt_decoder.decoder_model import FLAGS
from keras_transformer.bin.kt_decoder.decoder_model import load_model
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import text_io
from keras_transformer.decoding.engines.attention import format_pharaoh
from keras_transformer.decoding.passages import translate_document
from keras_transformer.decoding.preparation import read_windows
from keras_transformer.decoding.translation import SPLIT
from keras_transformer.decoding.translation import TOO_LONG
from keras_transformer.decoding.translation import Extras
from keras_transformer.documents import document
from keras_transformer.errors import UserError
from keras_transformer.files import writing
from keras_transformer.files.progress import Progress
from keras_transformer.scoring.alarms import REASONS

# The warnings about a sentence of a document.
WARNINGS = {
    "split": "was too long and is translated in parts",
    "reached_limit": "has a translation that may be cut off",
    "empty": "has no translation and stays as it is",
    **REASONS,
}


def open_text(checker, is_divided):
    """Checks the text and the prefixes of translations, and opens both.

    Returns the text, the prefixes, and the number of sentences. Each of the
    last two is None where it is unknown.
    """
    if FLAGS.decode_interactive:
        return text_io.ask_for_lines(), None, None
    path, prefix_path = FLAGS.decode_from_file, FLAGS.prefix_file
    text = text_io.open_text(path)
    prefixes = prefix_path and text_io.open_text(prefix_path)
    num_lines = num_prefixes = None
    # What is not a regular file can be read only once.
    if text_io.is_file(path):
        # Lines of JSON are checked as well.
        windows = map(read_texts, read_windows(text_io.open_text(path)))
        num_lines = sum(len(window.texts) for window in windows)
    if text_io.is_file(prefix_path):
        # Only a SavedModel has no checker, and it takes no prefixes.
        lines = text_io.open_text(prefix_path)
        num_prefixes = checker.check_lengths(lines, prefix_path)
    if None not in (num_lines, num_prefixes) and num_prefixes != num_lines:
        rule = (
            f"must have a line for each of {num_lines:,} lines of the input, "
            f"and has {num_prefixes:,}"
        )
        way_out = "Leave a line empty if its translation may begin in any way."
        flags.refuse(FLAGS, ["prefix_file"], rule, way_out)
    # A text that is divided has an unknown number of sentences.
    return text, prefixes, None if is_divided else num_lines


def make_extras(translator, quality=None):
    """Returns the `Extras` that the flags ask for beside translations."""
    max_tokens = translator.max_tokens
    if FLAGS.split_long or FLAGS.document:
        part = FLAGS.max_sentence_tokens or translator.trained_length
        max_tokens = min(part, max_tokens)
    return Extras(
        max_tokens,
        splits=FLAGS.split_long or FLAGS.document,
        warns=True,
        repairs=FLAGS.repair,
        links_words=FLAGS.write_alignments,
        scores_words=FLAGS.write_word_scores,
        quality=quality,
    )


def read_texts(window):
    """Returns a `Window` of lines of text or JSON as one of their texts."""
    if FLAGS.format != "jsonl":
        return window
    name = FLAGS.decode_from_file or "standard input"
    numbered = enumerate(window.texts, window.start + 1)
    return window._replace(
        texts=[_read_json(line, f"{name}, line {i}") for i, line in numbered]
    )


def write_lines(lines, translations, num_hypotheses, training_pairs):
    """Yields the lines of the output for lines of the input."""
    for line, translation in zip(lines, translations):
        if FLAGS.format == "jsonl":
            yield _write_json(line, translation, num_hypotheses, training_pairs)
        else:
            yield _write_columns(translation, num_hypotheses)


def report_warnings(window, translations, translator, extras):
    """Prints the warnings about a window, and returns their number."""
    count = 0
    for number, text in enumerate(window.texts):
        warnings = translations[number].warnings
        reasons = [REASONS[name] for name in warnings if name in REASONS]
        if SPLIT in warnings or TOO_LONG in warnings:
            (num_tokens,) = translator.count_tokens([text])
            fate = "Its translation is empty; --split_long translates it"
            if SPLIT in warnings:
                fate = "It is translated"
            elif translations[number].hypotheses[0].text:
                # A text of JSON may have other sentences.
                fate = "A sentence is left out; --split_long translates it"
            limit = f"more than {extras.max_tokens:,}. {fate} in parts"
            reasons.insert(0, f"has {num_tokens:,} tokens, {limit}")
        count += _print_warnings(f"line {window.start + number + 1}", reasons)
    return count


def _print_warnings(place, reasons):
    for reason in reasons:
        print(f"kt-decoder: warning: {place} {reason}.", file=sys.stderr)
    return len(reasons)


def _write_columns(translation, num_hypotheses):
    columns = []
    for text, score, _ in translation.hypotheses[:num_hypotheses]:
        columns.append(text)
        if FLAGS.write_scores:
            columns.append(f"{score:.6f}")
    if FLAGS.write_alignments:
        columns.append(format_pharaoh(translation.links.find_pairs()))
    if FLAGS.write_word_scores:
        scores = translation.links.scores
        columns.append(" ".join(f"{score:.4f}" for score in scores))
    if len(columns) > 1:
        # A tab within a translation would look like another column.
        columns = [column.replace("\t", " ") for column in columns]
    return "\t".join(columns) + "\n"


def _read_json(line, place):
    """Returns the text of a line: a JSON object with "text", or a string."""
    try:
        value = json.loads(line)
        # Half of a surrogate pair cannot be written as UTF-8, and JSON can hold
        # neither NaN nor infinity, as which a number such as 1e999 is read.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        text = value.get("text") if isinstance(value, dict) else value
        if not isinstance(text, str):
            raise ValueError(repr(line[:40]))
    except (ValueError, RecursionError) as error:
        raise UserError(
            'With `--format=jsonl` each line must be a JSON object with "text",'
            f" or a JSON string. Received: {place}: {str(error)[:80]}. Correct "
            "the line."
        ) from error
    return text


def _write_json(line, translation, num_hypotheses, training_pairs):
    """Returns the line of the output, a JSON object."""
    # The object has the fields of the input's line except "text", the best
    # hypothesis with what is known of it, and several hypotheses as a list.
    value = json.loads(line)
    fields = value if isinstance(value, dict) else {}
    text = fields.pop("text", value)
    hypotheses = [
        {"translation": one.text, "score": round(one.score, 6)}
        for one in translation.hypotheses[:num_hypotheses]
    ]
    fields.update(hypotheses[0])
    if FLAGS.write_alignments:
        fields["alignments"] = translation.links.find_pairs()
    if FLAGS.write_word_scores:
        scores = translation.links.scores
        fields["word_scores"] = [round(score, 4) for score in scores]
    if translation.quality is not None:
        fields["quality"] = round(translation.quality, 4)
    if translation.matches:
        fields["memory"] = [
            {**pair._asdict(), "similarity": round(similarity, 4)}
            for pair, similarity in translation.matches
        ]
    if training_pairs:
        origins = training_pairs.find(text, fields["translation"])
        fields["origins"] = [
            {"source": source, "target": target, "similarity": round(share, 4)}
            for (source, target, *_), share in origins
        ]
    if num_hypotheses > 1:
        fields["hypotheses"] = hypotheses
    fields["warnings"] = list(translation.warnings)
    return json.dumps(fields, ensure_ascii=False) + "\n"


def decode_document(plan, call):
    """Writes the translation of a document; returns the number of warnings.

    `call` holds the arguments of `Translator.translate_window`.
    """
    content = text_io.read_exactly(FLAGS.decode_from_file)
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
        text, translations = translate_document(
            source, translator, progress.add, extras=extras, **call
        )
    if FLAGS.decode_to_file:
        writing.write_file(FLAGS.decode_to_file, text)
    else:
        sys.stdout.write(text)
    num_warnings = 0
    for number, sentence in enumerate(source.sentences):
        translation = translations[number]
        is_empty = not translation.hypotheses[0].text
        names = ["empty"] if is_empty else translation.warnings
        place = f"sentence {number + 1}, {sentence[:40]!r}...,"
        num_warnings += _print_warnings(place, [WARNINGS[n] for n in names])
    return num_warnings
