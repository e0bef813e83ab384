"""The readers that are fuzzed: each takes any bytes, or refuses them.

A target reads bytes as the package reads a file or a request with this content.
It returns if the content is good, and raises `Refused` if the reader refuses it
as the package promises. Any other exception is a fault of the reader.
"""

import asyncio
import dataclasses
import io
import json
import pathlib
import tempfile
import zipfile

import numpy as np

from keras_transformer import hparam
from keras_transformer.data.generation.generated_data import GeneratedData
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.errors import UserError
from keras_transformer.parsing import linearization
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.treebank import read_treebank
from keras_transformer.runs.checkpoints import Checkpoints
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions
from keras_transformer.search.options import parse_decode_hparams
from keras_transformer.serving import json_reader
from keras_transformer.serving import json_tensors
from keras_transformer.serving.batcher import Batcher
from keras_transformer.serving.errors import CODES
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import Options
from keras_transformer.serving.forms import read_options
from keras_transformer.serving.rest import RestApp
from keras_transformer.serving.service import Service
from keras_transformer.serving.signature import Signature
from keras_transformer.serving.signature import Tensor

FIXTURE = pathlib.Path(__file__).parents[1] / "fixtures/v0.1"
RUN = FIXTURE / "run"
TREE = b"(S (NP (DT The) (NN dog)) (VP (VBZ sleeps)) (. .))\n"
TEXT_INPUT = {"text": Tensor(np.dtype(object), (None,))}
TWO_INPUTS = {
    "ids": Tensor(np.dtype("int32"), (None, None)),
    "scale": Tensor(np.dtype("float32"), (None,)),
}


class Refused(Exception):
    """The reader refused the content as it should."""


def trees(content):
    """A file of a treebank: what is read survives writing and linearizing."""
    for tree in read_treebank([_file("a.mrg", content)]):
        assert parse_tree(str(tree)) == tree
        symbols = linearization.linearize(tree, "tagged")
        read = linearization.delinearize(symbols, tree.words(), "tagged")
        assert read == tree or read.children == (tree,)


def hparams(content):
    """The text of --hparams and of --decode_hparams, and hparams.json."""
    text = content.decode(errors="replace")
    refusals = 0
    for read in (_overrides, _decode_changes):
        try:
            read(text)
        except ValueError as error:
            _check_refusal(error)
            refusals += 1
    for name in ("run.json", "vocab.model"):
        _file(name, (RUN / name).read_bytes())
    _file("hparams.json", content)
    try:
        run = RunDirectory(str(_directory()))
        values = json.dumps(dataclasses.asdict(run.hparams))
        _file("hparams.json", values.encode())
        assert RunDirectory(str(_directory())).hparams == run.hparams
    except ValueError as error:
        _check_refusal(error)
        refusals += 1
    if refusals == 3:
        raise Refused


def manifests(content):
    """The manifest of generated data, and what reads it."""
    _file("data/manifest.json", content)
    data = GeneratedData("data", str(_directory()))
    for split, counts in data.manifest["splits"].items():
        assert isinstance(split, str) and counts["pairs"] >= 0


def checkpoints(content):
    """A checkpoint, and an array within a checkpoint: all are numbers."""
    refusals = 0
    # Within a ZIP file of its own, the content passes the checksums.
    for whole in (content, _zipped(content)):
        _file("checkpoints/ckpt-1.npz", whole)
        try:
            arrays = Checkpoints(str(_directory() / "checkpoints")).load(1)
        except ValueError as error:
            _check_refusal(error)
            refusals += 1
        else:
            kinds = {array.dtype.kind for array in arrays.values()}
            assert kinds <= set("biufV"), kinds
    if refusals == 2:
        raise Refused


def runs(content):
    """The record of a run, run.json."""
    for name in ("hparams.json", "vocab.model"):
        _file(name, (RUN / name).read_bytes())
    _file("run.json", content)
    run = RunDirectory(str(_directory()))
    assert isinstance(run.problem_name, str) and run.vocabulary


def evaluations(content):
    """The list of a run's evaluations, evaluations.json."""
    _file("checkpoints/ckpt-9000.npz", b"")
    _file("checkpoints/evaluations.json", content)
    checkpoints = Checkpoints(str(_directory() / "checkpoints"))
    for evaluation in checkpoints.evaluations:
        assert 0 <= evaluation.step <= 9000
    assert checkpoints.best_step in (None, 9000)


def timed_steps(content):
    """The list of a run's timed checkpoints, timed.json."""
    _file("checkpoints/ckpt-9000.npz", b"")
    _file("checkpoints/timed.json", content)
    steps = Checkpoints(str(_directory() / "checkpoints")).timed_steps
    assert steps == sorted(set(steps)) and set(steps) <= set(range(9001))


def json_bodies(content):
    """The body of a predict request."""
    request = json_reader.read_object(content)
    for inputs in (TEXT_INPUT, TWO_INPUTS):
        try:
            is_row, arrays = json_tensors.read_arrays(request, inputs)
            read_options(request)
        except RequestError as error:
            assert error.code in CODES
            json_tensors.dump({"error": str(error)})
        else:
            assert arrays.keys() == inputs.keys()
            json_tensors.format_response(arrays, is_row)


class _Echo:
    """A model whose translation is the text itself."""

    signatures = {
        "serving_default": Signature(TEXT_INPUT, {"translations": None})
    }
    max_tokens = 0  # no limit
    features = Options._fields

    def find_tag(self, language):
        return ""

    def call(self, name, arrays, options):
        columns = {
            "warnings": ["loop"],
            "quality": 0.5,
            "alignments": [(0, len(options.glossary))],
        }
        outputs = {"translations": arrays["text"][:, None]}
        for name, value in columns.items():
            outputs[name] = np.empty(len(arrays["text"]), object)
            outputs[name].fill(value)
        return outputs


class _Versions:
    loads_on_demand = False

    def get(self, version):
        return 1, _Echo()


def tool_bodies(content):
    """The body of a request of LibreTranslate's or OpenAI's protocol."""
    if _directory.app is None:
        batcher = Batcher(timeout_seconds=0)
        service = Service({"echo": _Versions()}, batcher)
        routes = {("en", "de"): "echo"}
        _directory.app = RestApp(service, routes)
    statuses = asyncio.run(_ask_tools(_directory.app, content))
    assert statuses <= {200, 400, 404}, statuses
    if 200 not in statuses:
        raise Refused


async def _ask_tools(app, content):
    """Returns the statuses of responses, which must be JSON or events."""
    statuses = set()
    for path, kind in (
        ("/translate", b"application/json"),
        ("/translate", b"application/x-www-form-urlencoded"),
        ("/translate", b"multipart/form-data; boundary=x"),
        ("/v1/chat/completions", b"application/json"),
    ):
        request = {"type": "http.request", "body": content, "more_body": False}
        received, sent = [request], []

        async def receive():
            if not received:
                await asyncio.sleep(60)  # the client waits
            return received.pop()

        async def send(message):
            sent.append(message)

        scope = {
            "method": "POST",
            "scheme": "http",
            "raw_path": path.encode(),
            "client": None,
            "headers": [(b"content-type", kind)],
        }
        await app(scope, receive, send)
        begin, body = sent
        statuses.add(begin["status"])
        if not body["body"].startswith(b"data: "):
            json.loads(body["body"])
    return statuses


def vocabularies(content):
    """A SentencePiece model: it encodes any text to ids that it has."""
    vocabulary = Subwords.from_bytes(content)
    (ids,) = vocabulary.encode(["A dog, ein Hund: 狗 \x00"])
    assert all(0 <= token_id < vocabulary.vocab_size for token_id in ids)
    assert isinstance(vocabulary.decode([ids])[0], str)
    vocabulary.pieces(ids)


def _overrides(text):
    changed = hparam.parse_overrides(hparam.HParams(), text)
    assert isinstance(json.dumps(dataclasses.asdict(changed)), str)


def _decode_changes(text):
    DecodeOptions().replace(**parse_decode_hparams(text))


# Examples of good content, from which a fuzzer starts.
SEEDS = {
    trees: [TREE, TREE * 2, b"( (S\n    (NP (-NONE- *) (NN a))))\n", b"(A b)"],
    hparams: [
        b"dropout=0.3,d_ff=1024,packed=true,optimizer=adamw",
        b"temperature=0.8,top_k=10,constrained=false",
        (RUN / "hparams.json").read_bytes(),
    ],
    manifests: [
        b'{"made_from": {"splits": ["train"], "vocab_size": 300, "files": '
        b'[{"name": "a", "sha256": "0"}]}, "vocab_size": 300, "vocab_sha256": '
        b'"0", "splits": {"train": {"pairs": 2, "dropped": {"empty_side": 0}, '
        b'"source_tokens": 9, "target_tokens": 9, "source_sha256": "0", '
        b'"target_sha256": "0"}}}'
    ],
    checkpoints: [],
    runs: [(RUN / "run.json").read_bytes()],
    evaluations: [(RUN / "checkpoints/evaluations.json").read_bytes()],
    timed_steps: [b"[1500, 3000]"],
    json_bodies: [
        b'{"instances": ["A dog", {"b64": "QQ=="}]}',
        b'{"inputs": {"ids": [[1, 2], [3, 4]], "scale": [0.5, 1e3]}}',
        b'{"signature_name": "a", "instances": [{"ids": [1], "scale": 2}]}',
        b'{"glossary": {"dog": "Hund", "b": null}, "alignments": true, '
        b'"quality": false, "instances": ["A dog"]}',
    ],
    tool_bodies: [
        b'{"q": ["A dog.", "b"], "source": "en", "target": "de"}',
        b'{"q": "A dog.\\nb", "source": "en", "target": "de", "alignments": '
        b'true, "quality": "", "glossary": {"dog": "Hund", "b": null}}',
        b"q=A+dog.&source=en&target=de&alignments=true&glossary="
        b"%7B%22dog%22%3A%22Hund%22%7D",
        b'{"q": "<p>a <b>b", "source": "auto", "target": "de", "format": '
        b'"html", "alternatives": 2}',
        b"q=A+dog.%0Ab&source=AUTO&target=de&format=text",
        b'--x\r\nContent-Disposition: form-data; name="q"\r\n\r\na\r\n--x--',
        b'{"model": "en-de", "stream": true, "messages": [{"role": "user", '
        b'"content": [{"type": "text", "text": "A dog."}]}]}',
    ],
    vocabularies: [(RUN / "vocab.model").read_bytes()],
}
# What breaks parsers: limits of integers, odd characters, brackets, escapes.
TOKENS = [b"\x00", b"\xff", b"-1", b"1e999", b"NaN", b"9" * 30, b"null", b"[]"]
TOKENS += [b"{", b"}", b"[", b"[" * 50, b"]", b"(", b")", b"(X ", b"-NONE-"]
TOKENS += [b'"', b",", b":", b"=", b"\n", b"\\ud800", "٣".encode(), b"true"]
TOKENS += [b'{"b64": "', b'"inputs"', b'"instances"', b"float32", b"object"]
TARGETS = {target.__name__: target for target in SEEDS}


def check(target, content):
    """Feeds a target and raises whatever the package should not raise.

    Returns:
        Whether the target accepted the content.
    """
    try:
        target(content)
    except Refused:
        return False
    except ValueError as error:
        _check_refusal(error)
        return False
    return True


def _check_refusal(error):
    """Raises an error again unless it is one of our messages."""
    if not isinstance(error, UserError):
        raise error
    if not isinstance(error, RequestError):
        message = str(error)
        assert len(message) < 3000, message
        message.encode()


def _directory():
    # In memory where the system has such a place, since a fuzzer writes often.
    if _directory.path is None:
        shared = pathlib.Path("/dev/shm")
        parent = shared if shared.is_dir() else None
        _directory.holder = tempfile.TemporaryDirectory(dir=parent)
        _directory.path = pathlib.Path(_directory.holder.name)
    return _directory.path


_directory.path = _directory.app = None


def _file(name, content):
    path = _directory() / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return str(path)


def _zipped(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model/bias.npy", content)
    return file.getvalue()


def _array():
    file = io.BytesIO()
    np.save(file, np.zeros(2, "float32"))
    return file.getvalue()


SEEDS[checkpoints] += [_zipped(_array()), _array()]
