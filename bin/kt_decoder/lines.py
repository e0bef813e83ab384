"""The lines that kt-decoder reads and writes, text or JSON."""

import json
import sys

from keras_transformer.bin.kt_decoder.decoder_flags import FLAGS
from keras_transformer.errors import UserError


def read_json_lines(window):
    """Returns a `Window` of lines in JSON as one of their texts."""
    name = FLAGS.decode_from_file or "standard input"
    numbered = enumerate(window.texts, window.start + 1)
    return window._replace(
        texts=[_read_json(line, f"{name}, line {i}") for i, line in numbered]
    )


def write_lines(lines, translations, num_hypotheses):
    """Returns the lines of the output for lines of the input."""
    return [
        _write_line(line, translation, num_hypotheses)
        for line, translation in zip(lines, translations)
    ]


def _write_line(line, translation, num_hypotheses):
    best = translation.hypotheses[:num_hypotheses]
    of_words = {}
    if FLAGS.write_alignments:
        of_words["alignments"] = translation.links.find_pairs()
    if FLAGS.write_word_scores:
        scores = translation.links.scores
        of_words["word_scores"] = [round(score, 4) for score in scores]
    if FLAGS.format == "jsonl":
        several = best if num_hypotheses > 1 else []
        return _write_json(line, translation, of_words, several) + "\n"
    return _write_columns(best, **of_words) + "\n"


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
            fate = (
                "It is translated in parts"
                if SPLIT in warnings
                else "Its translation is empty; --split_long translates it "
                "in parts"
            )
            long = f"has {num_tokens:,} tokens, more than "
            reasons.insert(0, f"{long}{extras.max_tokens:,}. {fate}")
        for reason in reasons:
            print(
                f"kt-decoder: warning: line {window.start + number + 1} "
                f"{reason}.",
                file=sys.stderr,
            )
        count += len(reasons)
    return count


def _write_columns(hypotheses, alignments=None, word_scores=None):
    """Returns the translations of a line, separated by tabs."""
    columns = []
    for text, score, _ in hypotheses:
        columns.append(text)
        if FLAGS.write_scores:
            columns.append(f"{score:.6f}")
    if alignments is not None:
        from keras_transformer.decoding.engines.attention import format_pharaoh

        columns.append(format_pharaoh(alignments))
    if word_scores is not None:
        columns.append(" ".join(f"{score:.4f}" for score in word_scores))
    if len(columns) > 1:
        # A tab within a translation would look like another column.
        columns = [column.replace("\t", " ") for column in columns]
    return "\t".join(columns)


def _read_json(line, place):
    """Returns the text of a line: a JSON object with "text", or a string."""
    # The error about any other line names its `place`.
    try:
        value = json.loads(line, parse_constant=_refuse)
        # Half of a surrogate pair cannot be written as UTF-8, and a number such
        # as 1e999 is read as infinity, which JSON cannot hold.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise _make_error(place, f"{error}"[:80]) from error
    text = value.get("text") if isinstance(value, dict) else value
    if not isinstance(text, str):
        raise _make_error(place, f"{line[:40]!r}")
    return text


def _write_json(line, translation, of_words, hypotheses):
    """Returns the line of the output, a JSON object."""
    # It has the fields of the input's line except "text", the best hypothesis
    # with what is known of it, and the list of `hypotheses`.
    value = json.loads(line)
    fields = value if isinstance(value, dict) else {}
    fields = {name: fields[name] for name in fields if name != "text"}
    fields.update(_make_fields(translation.hypotheses[0]), **of_words)
    if translation.quality is not None:
        fields["quality"] = round(translation.quality, 4)
    if translation.matches:
        fields["memory"] = [
            {**pair._asdict(), "similarity": round(similarity, 4)}
            for pair, similarity in translation.matches
        ]
    if hypotheses:
        fields["hypotheses"] = list(map(_make_fields, hypotheses))
    fields["warnings"] = list(translation.warnings)
    return json.dumps(fields, ensure_ascii=False)


def _make_fields(hypothesis):
    return {
        "translation": hypothesis.text,
        "score": round(hypothesis.score, 6),
    }


def _refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def _make_error(place, reason):
    return UserError(
        'With `--format=jsonl` each line must be a JSON object with "text", or '
        f"a JSON string. Received: {place}: {reason}. Correct the line."
    )
