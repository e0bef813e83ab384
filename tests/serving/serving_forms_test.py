"""Forms of several parts, and the limits of what they hold."""

import base64
import json
import time

import pytest

from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.forms import MAX_FIELDS
from keras_transformer.serving.forms import read_fields
from keras_transformer.serving.forms import read_options

KIND = "multipart/form-data; boundary=x"
DISPOSITION = 'Content-Disposition: form-data; name="q"'


def read_parts(*parts, end="--x--\r\n"):
    body = "".join(f"--x\r\n{part}\r\n" for part in parts) + end
    return read_fields(KIND, bytearray(body.encode()))


class PartsTest:
    def test_bytes_of_a_file_stay(self):
        content = bytes(range(256)) + b"\r\n--\r\n\n\r"
        head = f'--x\r\n{DISPOSITION}; filename="é.bin"\r\n\r\n'
        body = head.encode() + content + b"\r\n--x--"
        assert read_fields(KIND, body)["q"] == ("é.bin", content)

    @pytest.mark.parametrize("kind", ["message/rfc822", "multipart/mixed"])
    def test_a_part_of_any_type_keeps_its_text(self, kind):
        text = "Subject: a\r\n\r\nb"
        part = f"Content-Type: {kind}\r\n{DISPOSITION}\r\n\r\n{text}"
        assert read_parts(part) == {"q": text}

    def test_base_64_is_decoded(self):
        text = base64.b64encode("é".encode()).decode()
        head = f"{DISPOSITION}\r\nContent-Transfer-Encoding: base64"
        assert read_parts(f"{head}\r\n\r\n{text}") == {"q": "é"}

    def test_a_form_that_was_cut_off_is_refused(self):
        for end in ("", "--x\r\n", f"--x\r\n{DISPOSITION}\r\n\r\nGood"):
            with pytest.raises(InvalidRequest, match="parts and an end"):
                read_parts(f"{DISPOSITION}\r\n\r\na", end=end)

    @pytest.mark.parametrize("kind", [KIND, KIND[:-1], KIND[:-11]])
    def test_other_bytes_are_no_form(self, kind):
        with pytest.raises(InvalidRequest, match="parts and an end"):
            read_fields(kind, b"a")

    @pytest.mark.parametrize("part", ["\r\na", "Content-Type: a\r\n\r\na", ""])
    def test_a_part_without_a_name_is_refused(self, part):
        with pytest.raises(InvalidRequest, match="a part has no name"):
            read_parts(part)

    @pytest.mark.parametrize(
        "name", ["*0=a; filename*=b", "*=raw-unicode-escape''%5Cud800.txt"]
    )
    def test_a_malformed_name_of_a_file_is_refused(self, name):
        with pytest.raises(InvalidRequest, match="must be a form"):
            read_parts(f"{DISPOSITION}; filename{name}\r\n\r\na")

    def test_headers_of_many_parameters_are_refused(self):
        """`email` would take quadratic time for them."""
        for number in (4000, 30_000):
            many = '; a="' + ";" * number
            with pytest.raises(InvalidRequest, match="too long"):
                read_fields(KIND + many, b"--x--")
        with pytest.raises(InvalidRequest, match="too long"):
            read_parts(f"{DISPOSITION}{many[:4000]}\r\n\r\na")

    @pytest.mark.parametrize("outer", ["", "Content-Type: multipart/mixed; "])
    def test_too_many_parts_are_refused_before_they_are_made(self, outer):
        part = f"{DISPOSITION}\r\n\r\na"
        assert len(read_parts(*[part] * MAX_FIELDS)["q"]) == MAX_FIELDS
        head = f"{outer}boundary=y\r\n\r\n" if outer else ""
        mark = "y" if outer else "x"
        begin = time.monotonic()
        with pytest.raises(InvalidRequest, match="up to 4096|has no name"):
            read_parts(head + f"--{mark}\r\n\r\n" * 500_000)
        assert time.monotonic() - begin < 2


class GlossaryTest:
    def test_json_in_a_text_has_the_limits_of_a_body(self):
        fields = {"glossary": json.dumps({"car": "coche", "Tom": None})}
        pairs = (("Tom", None), ("car", "coche"))
        assert read_options(fields).glossary == pairs
        begin = time.process_time()
        with pytest.raises(InvalidRequest, match="`glossary` must be"):
            read_options({"glossary": "[" + "[]," * 1_000_000 + "[]]"})
        with pytest.raises(InvalidRequest, match="`glossary` must be"):
            read_options({"glossary": '{"a": "b", "a": "c"}'})
        assert time.process_time() - begin < 0.5

    def test_a_body_of_too_many_terms_is_not_read_to_its_end(self):
        terms = {f"{number:x}": None for number in range(40_000)}
        body = json.dumps({"q": "a", "glossary": terms}).encode()
        with pytest.raises(InvalidRequest, match="at most 32768 lists, texts"):
            read_fields("application/json", body)
