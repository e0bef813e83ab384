"""Requests that kt-serve has to refuse: JSON bodies and gRPC messages."""

import dataclasses

PREDICT = "/v1/models/translate:predict"


@dataclasses.dataclass(frozen=True)
class Body:
    """A body of a REST request, and the answer that it gets."""

    content: bytes
    says: str
    path: str = PREDICT
    status: int = 400
    method: str = "POST"

    def __str__(self):
        shown = f"{self.method} {self.path} {self.content[:50]!r}"
        return f"{shown} {len(self.content)}"


@dataclasses.dataclass(frozen=True)
class Message:
    """Bytes or inputs of a gRPC call, and the error that it gets."""

    says: str
    code: str = "INVALID_ARGUMENT"
    inputs: tuple = (("text", ("a",)),)  # pairs of a name and its values
    spec: tuple = (("name", "translate"),)  # fields of the model_spec
    content: bytes | None = None  # instead of the inputs
    dtype: str = ""  # of all inputs, if not that of the values
    method: str = "Predict"
    outputs: tuple = ()

    def __str__(self):
        fields = dataclasses.asdict(self)
        return " ".join(str(field)[:60] for field in fields.values())


def body(content, says="", **options):
    content = content.encode() if isinstance(content, str) else content
    return Body(content, says, **options)


BODIES = [
    body("", "JSON"),
    body(" ", "JSON"),
    body("{", "JSON"),
    body("{}", "instances"),
    body("[]", "object"),
    body("null", "object"),
    body("7", "object"),
    body('"text"', "object"),
    body("NaN", "object"),
    body("{'instances': ['a']}", "JSON"),
    body('{"instances": ["a"],}', "JSON"),
    body('{"instances": ["a"]} {}', "JSON"),
    body('{"instances": ["a\n"]}', "JSON"),
    body('{"instances": ["\\ud800"]}', "surrogates"),
    body('{"instances": ["\\udc00\\ud800"]}', "surrogates"),
    body('{"\\ud800": ["a"]}', "surrogates"),
    body(b'{"instances": ["\xff"]}', "UTF-8"),
    body(b'{"instances": ["\xed\xa0\x80"]}', "UTF-8"),
    body('{"instances": ["a"]}'.encode("utf-16"), "UTF-8"),
    body('{"instances": ["a"]}'.encode("utf-32"), "UTF-8"),
    body(b"\xef\xbb\xbf{}", "JSON"),
    body(b"\x1f\x8b\x08\0", "UTF-8"),
    body(b"\0" * 9, "JSON"),
    body("[" * 100_000, "nested too deeply"),
    body('{"a":' * 100_000, "nested too deeply"),
    body(
        '{"instances": ' + "[" * 50_000 + "]" * 50_000 + "}",
        "nested too deeply",
    ),
    body('{"instances": [' + "9" * 5000 + "]}"),
    body('{"instances": [1e999]}', "text"),
    body('{"instances": null}', "instances"),
    body('{"instances": []}', "instances"),
    body('{"instances": {}}', "instances"),
    body('{"instances": "a"}', "instances"),
    body('{"instances": 7}', "instances"),
    body('{"instances": [7]}', "text"),
    body('{"instances": [null]}', "text"),
    body('{"instances": [true]}', "text"),
    body('{"instances": [["a"]]}', "shape"),
    body('{"instances": [["a"], ["b", "c"]]}', "text"),
    body('{"instances": ["a", 7]}', "text"),
    body('{"instances": ["a", ["b"]]}', "text"),
    body('{"instances": [{}]}', "text"),
    body('{"instances": [{"txt": "a"}]}', "txt"),
    body('{"instances": [{"text": "a", "more": 1}]}', "more"),
    body('{"instances": [{"text": "a"}, "b"]}', "object"),
    body('{"instances": [{"text": {"b64": "!"}}]}', "64"),
    body('{"instances": [{"text": {"b64": 7}}]}'),
    body('{"instances": [{"b64": "YQ"}]}', "64"),
    body('{"instances": ["a"], "inputs": ["a"]}', "instances"),
    body('{"inputs": {}}', "text"),
    body('{"inputs": {"text": 7}}', "text"),
    body('{"inputs": {"text": "a"}}', "shape"),
    body('{"inputs": {"text": [["a"]]}}', "shape"),
    body('{"inputs": {"words": ["a"]}}', "words"),
    body('{"signature_name": 7, "instances": ["a"]}', "signature_name"),
    body('{"signature_name": "x", "instances": ["a"]}', '"x" not found'),
    body('{"instances": ["' + "a " * 100_000 + '"]}', "most"),
    body('{"instances": ["a"], "alignments": 1}', "alignments"),
    body('{"instances": ["a"], "alignments": true}', "CTranslate2"),
    body('{"quality": true, "instances": ["a"]}', "--calibrate"),
    body('{"instances": ["a"], "glossary": ["a"]}', "glossary"),
    body('{"instances": ["a"], "glossary": {"a": ["b"]}}', "glossary"),
    body('{"instances": ["a"], "glossary": {"\\ud800": "b"}}', "surrogate"),
    body(
        '{"instances": ["a"], "glossary": {"a": "' + "b" * 40_000 + '"}}',
        "32768 characters",
    ),
    body(
        '{"instances": ["a"]}',
        "nope",
        path="/v1/models/nope:predict",
        status=404,
    ),
    body(
        '{"instances": ["a"]}',
        "9",
        path="/v1/models/translate/versions/9:predict",
        status=404,
    ),
    body(
        '{"instances": ["a"]}',
        "Unknown request",
        path="/v1/models/translate/versions/x:predict",
    ),
    body('{"instances": ["a"]}', "Unknown request", path="/"),
    body(
        '{"instances": ["a"]}',
        "Unknown request",
        path="/v1/models/../../etc:predict",
    ),
    body(
        '{"instances": ["a"]}',
        "predict",
        path="/v1/models/translate:classify",
        status=501,
    ),
    body("", "Unknown request", method="GET"),
    body("", "Unknown request", method="DELETE"),
]
MESSAGES = [
    Message("", content=b"\xff" * 9),
    Message("", content=b"\x0a\xff\xff\xff\xff\x7f"),
    Message("", content=b"a" * 99),
    Message("ModelSpec", content=b""),
    Message("other", code="NOT_FOUND", spec=(("name", "other"),)),
    Message("", code="NOT_FOUND", spec=(("name", ""),)),
    Message(
        "nope",
        "FAILED_PRECONDITION",
        spec=(("name", "translate"), ("signature_name", "nope")),
    ),
    Message("label", spec=(("name", "translate"), ("version_label", "x"))),
    Message("text", inputs=()),
    Message("more", inputs=(("text", ("a",)), ("more", ("b",)))),
    Message("words", inputs=(("words", ("a",)),)),
    Message("string", inputs=(("text", (1,)),)),
    Message("string", inputs=(("text", (1.5,)),)),
    Message("string", inputs=(("text", (True,)),)),
    Message("string", inputs=(("text", (1,)),), dtype="int64"),
    Message("string", inputs=(("text", (1j,)),), dtype="complex64"),
    Message("shape", inputs=(("text", "a"),)),
    Message("shape", inputs=(("text", (("a",),)),)),
    Message("UTF-8", inputs=(("text", (b"\xff",)),)),
    Message("UTF-8", inputs=(("text", (b"\xed\xa0\x80",)),)),
    Message("most", inputs=(("text", ("a " * 100_000,)),)),
    Message("alias", outputs=("nope",)),
    Message("", "UNIMPLEMENTED", method="Regress"),
    Message("", "UNIMPLEMENTED", method="Nope"),
]
