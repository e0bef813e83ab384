"""JSON lines as the input and output of kt-decoder."""

import json

from keras_transformer.errors import UserError


def text_of(line, place):
    """Returns the text of a line, a JSON object with "text" or a JSON string.

    The message about another line names its `place`.
    """
    value = _value(line, place)
    text = value.get("text") if isinstance(value, dict) else value
    if not isinstance(text, str):
        raise _fault(place, f"{line[:40]!r}")
    return text


def json_line(line, translation, num_hypotheses, of_words):
    """Returns the line of the output, a JSON object.

    It has the fields of the input's line except "text", the best hypothesis of
    a `Translation` with the fields `of_words`, and all of several hypotheses.
    """
    value = json.loads(line)
    fields = value if isinstance(value, dict) else {}
    fields = {name: fields[name] for name in fields if name != "text"}
    rows = [
        {"translation": one.text, "score": round(one.score, 6)}
        for one in translation.hypotheses[:num_hypotheses]
    ]
    fields.update(rows[0], **of_words)
    if num_hypotheses > 1:
        fields["hypotheses"] = rows
    fields["warnings"] = translation.warnings
    return json.dumps(fields, ensure_ascii=False)


def _value(line, place):
    try:
        value = json.loads(line, parse_constant=_refuse)
        # Half of a surrogate pair cannot be written as UTF-8, and a number such
        # as 1e999 is read as infinity, which JSON cannot hold.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise _fault(place, f"{error}"[:80]) from error
    return value


def _refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def _fault(place, reason):
    return UserError(
        'With `--format=jsonl` each line must be a JSON object with "text", or '
        f"a JSON string. Received: {place}: {reason}. Correct the line."
    )
