"""The lines that kt-decoder reads and writes, and the warnings about them."""

import functools
import json
import sys

from keras_transformer.bin.kt_decoder.decoder_model import FLAGS
from keras_transformer.errors import UserError


def read_json_lines(window):
    """Returns a `Window` of lines in JSON as one of their texts."""
    name = FLAGS.decode_from_file or "standard input"
    numbered = enumerate(window.texts, window.start + 1)
    return window._replace(
        texts=[_read_json(line, f"{name}, line {i}") for i, line in numbered]
    )


def write_lines(lines, translations, num_hypotheses, training_pairs=None):
    write = _write_columns
    if FLAGS.format == "jsonl":
        write = functools.partial(_write_json, training_pairs)
    return [
        write(line, translation, num_hypotheses) + "\n"
        for line, translation in zip(lines, translations)
    ]


def report_warnings(window, translations, translator, extras):
    """Prints the warnings about a window, and returns their number."""
    from keras_transformer.decoding.translation import SPLIT
    from keras_transformer.decoding.translation import TOO_LONG
    from keras_transformer.scoring.alarms import REASONS

    count = 0
    for number, text in enumerate(window.texts):
        warnings = translations[number].warnings
        reasons = [REASONS[name] for name in warnings if name in REASONS]
        if SPLIT in warnings or TOO_LONG in warnings:
            (num_tokens,) = translator.count_tokens([text])
            fate = "Its translation is empty; --split_long translates it"
            if SPLIT in warnings:
                fate = "It is translated"
            limit = f"more than {extras.max_tokens:,}. {fate} in parts"
            reasons.insert(0, f"has {num_tokens:,} tokens, {limit}")
        print_warnings(f"line {window.start + number + 1}", reasons)
        count += len(reasons)
    return count


def print_warnings(place, reasons):
    for reason in reasons:
        print(f"kt-decoder: warning: {place} {reason}.", file=sys.stderr)


def _write_columns(_, translation, num_hypotheses):
    columns = []
    for text, score, _ in translation.hypotheses[:num_hypotheses]:
        columns.append(text)
        if FLAGS.write_scores:
            columns.append(f"{score:.6f}")
    if FLAGS.write_alignments:
        from keras_transformer.decoding.engines.attention import format_pharaoh

        columns.append(format_pharaoh(translation.links.find_pairs()))
    if FLAGS.write_word_scores:
        scores = translation.links.scores
        columns.append(" ".join(f"{score:.4f}" for score in scores))
    if len(columns) > 1:
        # A tab within a translation would look like another column.
        columns = [column.replace("\t", " ") for column in columns]
    return "\t".join(columns)


def _read_json(line, place):
    """Returns the text of a line: a JSON object with "text", or a string."""
    try:
        value = json.loads(line, parse_constant=_refuse)
        # Half of a surrogate pair cannot be written as UTF-8, and a number such
        # as 1e999 is read as infinity, which JSON cannot hold.
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


def _refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def _write_json(training_pairs, line, translation, num_hypotheses):
    """Returns the line of the output, a JSON object."""
    # It has the fields of the input's line except "text", the best hypothesis
    # with what is known of it, and several hypotheses as a list.
    value = json.loads(line)
    fields = value if isinstance(value, dict) else {}
    text = fields.pop("text", value)
    fields.update(_make_fields(translation.hypotheses[0]))
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
            {
                "source": pair.source,
                "target": pair.target,
                "similarity": round(similarity, 4),
            }
            for pair, similarity in origins
        ]
    if num_hypotheses > 1:
        best = translation.hypotheses[:num_hypotheses]
        fields["hypotheses"] = list(map(_make_fields, best))
    fields["warnings"] = list(translation.warnings)
    return json.dumps(fields, ensure_ascii=False)


def _make_fields(hypothesis):
    return {
        "translation": hypothesis.text,
        "score": round(hypothesis.score, 6),
    }
