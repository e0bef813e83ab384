"""A CTranslate2 model is decoded and served without TensorFlow or Keras."""

import pathlib
import shutil
import subprocess
import sys

import pytest
from ports import free_port
from processes import environment

pytest.importorskip("ctranslate2")

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures/v0.1"
MODEL = FIXTURES / "ctranslate2"
# What takes long to import, and none of which decoding needs.
HEAVY = {
    *("tensorflow", "keras", "jax", "torch", "tensorflow_serving"),
    *("matplotlib", "pandas", "scipy", "sacrebleu"),
}
END = f"""
import sys
print(sorted({HEAVY} & set(sys.modules)))
"""
DECODE = """
import io, sys
sys.stdin = io.TextIOWrapper(io.BytesIO(b"a b c\\n"))
from keras_transformer.bin import decoder
try:
    decoder.run(["decoder", "--output_dir=" + sys.argv[1]])
except SystemExit as end:
    assert not end.code
"""
LOAD = """
import sys
from keras_transformer import load
print(load(sys.argv[1])(["a b c"])[0])
"""
SERVE = """
import json, os, signal, sys, threading, time, urllib.request
from keras_transformer.bin import serve
from keras_transformer.serving.client import connect
path, rest, grpc = sys.argv[1:]

def ask():
    url = f"http://localhost:{rest}/v1/models/translate"
    while True:
        try:
            with urllib.request.urlopen(f"{url}/metadata") as answer:
                json.load(answer)
            break
        except OSError:
            time.sleep(0.05)
    for protocol, port in (("rest", rest), ("grpc", grpc)):
        client = connect(f"localhost:{port}", protocol)
        print(client(["a b c"]).translations[0][0])
        client.close()
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=ask, daemon=True).start()
flags = [f"--export_dir={path}", f"--rest_api_port={rest}", f"--port={grpc}"]
try:
    serve.run(["serve", *flags])
except SystemExit as end:
    assert not end.code
"""


def output_of(script, *arguments, model=MODEL):
    done = subprocess.run(
        [sys.executable, "-c", script + END, str(model), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment(__file__),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class ColdStartTest:
    @pytest.mark.parametrize("script", [DECODE, LOAD], ids=["decoder", "load"])
    def test_decoding_imports_nothing_heavy(self, script):
        assert output_of(script) == "a b c\n[]\n"

    @pytest.mark.parametrize(
        "script",
        [DECODE, pytest.param(LOAD, marks=pytest.mark.slow)],
        ids=["decoder", "load"],
    )
    def test_converting_and_decoding_a_run_imports_nothing_heavy(
        self, script, tmp_path
    ):
        run = shutil.copytree(
            FIXTURES / "run",
            tmp_path / "run",
            ignore=shutil.ignore_patterns("*.converted-*"),
        )
        for _ in range(2):  # the first one converts the checkpoint
            assert output_of(script, model=run) == "a b c\n[]\n"

    def test_serving_over_both_protocols_imports_nothing_heavy(self):
        output = output_of(SERVE, str(free_port()), str(free_port()))
        assert output == "a b c\n" * 2 + "[]\n"

    def test_both_protocols_of_kt_query_import_nothing_heavy(self):
        script = (
            "from keras_transformer.bin import query\n"
            "from keras_transformer.serving import grpc_client, rest_client\n"
        )
        assert output_of(script) == "[]\n"
