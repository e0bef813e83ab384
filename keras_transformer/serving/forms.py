"""The fields of a request in a form or in JSON, for the tools' protocols."""

import email.message
import typing
import urllib.parse

from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.json_reader import read_object

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
    kind = content_type.lower()
    is_multipart = kind.startswith("multipart/form-data")
    # Many clients do not say that they send JSON.
    has_bracket = body.lstrip()[:1] in (b"{", b"[")
    if not is_multipart and (has_bracket or "json" in kind):
        return read_object(body)
    try:
        if is_multipart:
            return _read_parts(content_type, body)
        fields = urllib.parse.parse_qs(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError as error:
        raise InvalidRequest(
            "The body must be a form or JSON in UTF-8. Received: other bytes "
            f"({error}). Send q, source and target."
        ) from error
    return _join_repeated(fields)


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
