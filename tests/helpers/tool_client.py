"""What tests send to the demo model as translation tools do."""

import json
import urllib.error
import urllib.parse
import urllib.request

import pytest

from keras_transformer.decoding.served_model import open_model
from keras_transformer.formats import demo
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions


def export_demo(folder, **changes):
    """Returns the path of an export of the demo with three hypotheses.

    The changes are those of other `DecodeOptions`.
    """
    with pytest.MonkeyPatch().context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        run = RunDirectory(demo.find_directory("demo://en-es"))
    options = DecodeOptions.from_hparams(run.hparams)
    options = options.replace(num_hypotheses=3, **changes)
    export_ctranslate2(run, str(folder / "export"), options)
    return str(folder / "export")


def open_tagged(path, **tags):
    """Opens a model that wants words before texts into some languages."""
    model = open_model(path)
    model.find_tag = lambda language: tags.get(language, "")
    return model


def ask(address, path="/translate", data=None, method=None, **headers):
    """Returns status, headers and JSON of a response; a dict is a form."""
    if isinstance(data, dict):
        data = urllib.parse.urlencode(data, doseq=True)
    request = urllib.request.Request(
        address + path, data and data.encode(), headers, method=method
    )
    try:
        with urllib.request.urlopen(request) as response:
            body = response.read()
            return response.status, response.headers, body and json.loads(body)
    except urllib.error.HTTPError as error:
        return error.code, error.headers, json.loads(error.read())


def translate(address, q, **more):
    fields = {"q": q, "source": "en", "target": "es", **more}
    kind = {"content-type": "application/json"}
    return ask(address, data=json.dumps(fields), **kind)[2]


def ask_parts(address, path, fields, status=200):
    """Returns the response to a form as browsers send it with a file."""
    parts = [
        f'--x\r\nContent-Disposition: form-data; name="{name}"'
        + (f'; filename="{value[0]}"' if isinstance(value, tuple) else "")
        + f"\r\n\r\n{value[1] if isinstance(value, tuple) else value}\r\n"
        for name, value in fields.items()
    ]
    kind = {"content-type": "multipart/form-data; boundary=x"}
    found, _, response = ask(
        address, path, "".join(parts) + "--x--\r\n", **kind
    )
    assert found == status
    return response
