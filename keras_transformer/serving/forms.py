"""The fields of a request in a form or in JSON, for the tools' protocols."""

import email.message
import json
import typing
import urllib.parse

from keras_transformer.serving.errors import InvalidRequest

MAX_FIELDS = 4096  # of a form: as many texts as may wait, and more
MAX_HEADER_CHARACTERS = 4096  # of a part of a form


class File(typing.NamedTuple):
    """A file of a form."""

    name: str
    content: bytes


def read_fields(content_type, body):
    """Returns the fields of a form or of JSON, a dictionary.

    A file of a form is a `File`.
    """
    try:
        if content_type.lower().startswith("multipart/form-data"):
            return _read_parts(content_type, body)
        text = bytes(body).decode()
        # Many clients do not say that they send JSON.
        if text.lstrip()[:1] not in ("{", "[") and (
            "json" not in content_type.lower()
        ):
            fields = urllib.parse.parse_qs(
                text,
                keep_blank_values=True,
                errors="strict",
                max_num_fields=MAX_FIELDS,
            )
            return _join_repeated(fields)
        request = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(
            "The body must be a form or JSON in UTF-8. Received: other bytes "
            f"({error}). Send q, source and target."
        ) from error
    if not isinstance(request, dict):
        raise InvalidRequest(
            "The body must be an object. Received: "
            f"{text[:40]!r}. Send q, source and target."
        )
    return request


def _read_parts(content_type, body):
    """Returns the fields of a form with files."""
    # The type is a header of the message that the form is.
    header = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    form = email.message_from_bytes(header + body)
    parts = form.get_payload()
    if not form.is_multipart() or len(parts) > MAX_FIELDS:
        raise ValueError(f"a form needs up to {MAX_FIELDS} parts")
    fields = {}
    for part in parts:
        header = _read_disposition(part)
        name = header.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True) or b""
        path = header.get_filename()
        fields.setdefault(name, []).append(
            content.decode() if path is None else File(path, content)
        )
    return _join_repeated(fields)


def _read_disposition(part):
    """Returns a message with the header that names a part, in UTF-8."""
    header = email.message.Message()
    for name, value in part.raw_items():
        if name.lower() == "content-disposition":
            # `email` takes quadratic time.
            if len(value) > MAX_HEADER_CHARACTERS:
                raise ValueError("the header of a part is too long")
            value = value.encode("ascii", "surrogateescape").decode()
            header["content-disposition"] = value
    return header


def _join_repeated(fields):
    return {
        name: values[0] if len(values) == 1 else values
        for name, values in fields.items()
    }


def read_key(content_type, body):
    """Returns the key in the body of a request, or None."""
    return read_fields(content_type, body).get("api_key")


def check_utf_8(text):
    """Raises an error if JSON held half of a pair of surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "A text must be UTF-8. Received: the surrogate "
            f"{text[error.start]!a}. Send both halves of a pair."
        ) from error
