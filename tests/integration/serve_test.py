"""Tests kt-serve and kt-query as processes, under load and with bad input."""

import contextlib
import http.client
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest
import toy_saved_model as toy
from ports import free_port
from serve_load import run_load
from served import Served
from served_versions import CTranslate2Versions
from served_versions import ToyVersions

from keras_transformer.serving import limits

TEXTS = [f"Sentence {i} of {'a few ' * (i % 7)}words" for i in range(50)]
V01 = pathlib.Path(__file__).parents[1] / "fixtures/v0.1"


def call(command, *flags, **options):
    """Runs a command to its end and returns the completed process."""
    return subprocess.run(
        [sys.executable, "-m", f"keras_transformer.bin.{command}", *flags],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )


@pytest.fixture(scope="module")
def export_dir(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("export"))
    toy.write_version(path, 1)
    return path


@pytest.fixture(scope="module")
def served(export_dir):
    served = Served(export_dir)
    yield served
    served.process.kill()
    served.process.communicate()


@pytest.fixture
def serve(request):
    """Returns a function that starts servers, which are killed afterwards."""

    def start(*arguments):
        served = Served(*arguments)
        request.addfinalizer(served.process.kill)
        return served

    return start


def assert_one_line(done, *words):
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr


class ServeTest:
    def test_one_line_gives_the_addresses(self, served):
        assert "Serving translate, version 1" in served.first_line
        for address in served.addresses.values():
            assert address in served.first_line

    def test_many_clients_get_right_answers_among_malformed_requests(
        self, served
    ):
        report = run_load(
            served.addresses,
            "translate",
            TEXTS,
            lambda text, best: best == toy.best(text),
            seconds=3,
        )
        figures = report.figures()
        assert report.errors == []
        assert figures["wrong_answers"] == 0
        assert figures["malformed_not_refused_rightly"] == 0
        assert figures["requests"] > 100
        assert figures["malformed"] > 10

    def test_300_stalled_clients_neither_hold_threads_nor_keep_others_out(
        self, served
    ):
        threads_before = served.status("Threads")
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                client = socket.create_connection(("localhost", served.rest))
                stack.enter_context(client).sendall(b"POST")
            time.sleep(1.1)  # after a second, they may lose their places
            for _ in range(5):
                status = served.get("/v1/models/translate")
                assert list(status) == ["model_version_status"]
            # Threads of clients that lost their places end a little later.
            most = threads_before + limits.MAX_RUNNING
            deadline = time.monotonic() + 2
            while served.status("Threads") > most:
                assert time.monotonic() < deadline
                time.sleep(0.1)

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", [ToyVersions, CTranslate2Versions])
    def test_versions_change_under_load(self, kind, tmp_path, serve):
        versions = kind(tmp_path)
        versions.write(1)
        served = serve(versions.export_dir)
        seen = set()

        def is_right(text, best):
            version = versions.version_of(text, best)
            seen.add(version)
            return version is not None

        def change():
            for version in (2, 3):
                versions.write(version)
                served.wait_for_newest(version)
                shutil.rmtree(f"{versions.export_dir}/{version - 1}")
            versions.write_broken(4)
            served.wait_for_newest(4, "END")

        changing = threading.Thread(target=change)
        changing.start()
        is_changed = False
        while not is_changed:
            is_changed = not changing.is_alive()
            report = run_load(
                served.addresses,
                "translate",
                versions.texts,
                is_right,
                seconds=1,
            )
            assert report.errors == [], f"exit status {served.process.poll()}"
            assert report.num_wrong == 0
        assert seen == {"1", "2", "3"}
        status = served.get("/v1/models/translate")["model_version_status"]
        states = {entry["version"]: entry["state"] for entry in status}
        assert states["3"] == "AVAILABLE"
        assert states["1"] == "END"
        (broken,) = [entry for entry in status if entry["version"] == "4"]
        assert broken["state"] == "END"
        assert versions.fault_of_broken in broken["status"]["error_message"]
        code, messages = served.end()
        assert code == 0
        assert "Version 4 cannot be loaded" in messages
        assert "Traceback" not in messages

    def test_a_directory_of_pairs_is_loaded_on_demand(self, tmp_path, serve):
        for name in ("en-es", "es-pt_BR"):
            toy.write_version(str(tmp_path / name), 1)
        (tmp_path / "notes").mkdir()
        served = serve(None, f"--models={tmp_path}")
        assert served.first_line.startswith("Serving en-es, es-pt_BR: ")
        codes = [each["code"] for each in served.get("/languages")]
        assert codes == ["en", "es", "pt_BR"]
        served.get("/v1/models/en-es/metadata")
        for name, state in (("en-es", "AVAILABLE"), ("es-pt_BR", "START")):
            response = served.get(f"/v1/models/{name}")
            assert response["model_version_status"][0]["state"] == state
        assert served.end()[0] == 0

    def test_a_signal_ends_the_wait_at_any_line_of_it(self):
        program = """
import signal, sys
from keras_transformer.bin import serve

for last in range(8):
    stop_requests = serve.collect_signals()
    lines = 0

    def trace(frame, event, argument):
        global lines
        lines += 1
        if lines == last + 1:
            signal.raise_signal(signal.SIGTERM)
        return trace

    sys.settrace(trace)
    serve.wait_for(stop_requests)
    sys.settrace(None)
    assert stop_requests == [signal.SIGTERM]
"""
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

    @pytest.mark.slow
    def test_a_signal_lets_running_requests_finish(self, export_dir, serve):
        served = serve(export_dir, "--model_name=toy")
        connection = http.client.HTTPConnection("localhost", served.rest)
        connection.request(
            "POST", "/v1/models/toy:predict", '{"instances": ["slow"]}'
        )
        time.sleep(0.3)
        assert served.end() == (0, "")
        response = connection.getresponse()
        assert response.status == 200
        (prediction,) = json.loads(response.read())["predictions"]
        assert prediction["translations"][0] == toy.best("slow")

    def test_bad_input_is_one_line(self, export_dir, served, tmp_path):
        missing = str(tmp_path / "missing")
        rest = f"--rest_api_port={free_port()}"
        (tmp_path / "1").mkdir()
        for flags, words in (
            ([], "--export_dir"),
            ([f"--export_dir={missing}"], missing),
            ([f"--export_dir={export_dir}/1"], "Use its parent directory"),
            ([f"--export_dir={tmp_path}", "--port=0", rest], "saved_model.pb"),
            (
                [f"--export_dir={export_dir}", "--tls_certificate=", rest],
                "`--tls_certificate` needs `--tls_key`",
            ),
            (
                [f"--export_dir={export_dir}", "--tls_key=key.pem", rest],
                "`--tls_key` needs `--tls_certificate`",
            ),
            (
                [f"--export_dir={export_dir}", "--tls_key=", rest],
                "`--tls_key` needs `--tls_certificate`",
            ),
            (
                [f"--export_dir={export_dir}", "--port=0", "--rest_api_port=0"],
                "`port` or `rest_api_port` must be on",
            ),
            (
                [
                    f"--export_dir={export_dir}",
                    "--port=0",
                    f"--rest_api_port={served.rest}",
                ],
                "already in use",
            ),
        ):
            assert_one_line(call("serve", *flags), words)

    def test_without_ctranslate2_one_line_says_how_to_install_it(self):
        # The script hides the package, as if it were not installed.
        script = (
            "import sys, importlib.util as util\n"
            "find = util.find_spec\n"
            "util.find_spec = lambda name: None if name == 'ctranslate2' else "
            "find(name)\n"
            "from keras_transformer.bin import serve\n"
            "serve.run(sys.argv)\n"
        )
        flags = [f"--export_dir={V01 / 'ctranslate2'}", "--port=0"]
        done = subprocess.run(
            [
                *(sys.executable, "-c", script, *flags),
                f"--rest_api_port={free_port()}",
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert_one_line(done, "Install it with pip install ctranslate2")


class QueryTest:
    def query(self, served, protocol, *flags, **options):
        return call(
            "query",
            f"--server={served.addresses[protocol]}",
            f"--protocol={protocol}",
            *flags,
            **options,
        )

    @pytest.mark.parametrize("protocol", ["rest", "grpc"])
    def test_lines_in_lines_out(self, served, protocol):
        lines = [f"{'wörd ' * (i % 5)}{i}" for i in range(100)] + [""]
        text = "\n".join(lines) + "\n"
        done = self.query(served, protocol, "--write_scores", input=text)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "".join(
            f"{toy.best(t)}\t{len(t) + 2:.6f}\n" for t in lines
        )

    @pytest.mark.parametrize("protocol", ["rest", "grpc"])
    def test_a_translation_cannot_send_commands_to_the_terminal(
        self, served, protocol
    ):
        text = "a\x1b[2J b\x9b31m \x07\x1f\x7f \u200d\U0001f642\tc"
        done = self.query(served, protocol, f"--text={text}")
        assert (done.returncode, done.stderr) == (0, "")
        shown = re.sub("[\x1b\x9b\x07\x1f\x7f]", "\ufffd", toy.best(text))
        assert done.stdout == f"{shown}\n"

    @pytest.mark.parametrize("protocol", ["rest", "grpc"])
    def test_only_translations_without_their_terms_are_asked_for_again(
        self, served, protocol, tmp_path
    ):
        glossary = tmp_path / "terms.tsv"
        glossary.write_text("dog\tDOG\ncat\tfelino\nTom\n")
        lines = ["a dog", "", "Tom and a cat", "no terms"]
        done = self.query(
            served,
            protocol,
            f"--glossary={glossary}",
            input="".join(f"{line}\n" for line in lines),
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == [
            "1:A DOG",
            "1:",
            "1:TOM AND A CAT Tom felino",
            "1:NO TERMS",
        ]

    @pytest.mark.parametrize("protocol", ["rest", "grpc"])
    def test_an_error_of_the_server_is_one_line(self, served, protocol):
        done = self.query(served, protocol, "--text=poison")
        assert_one_line(done, "assertion failed", "localhost")

    def test_one_sentence_and_other_errors(self, served):
        done = self.query(served, "rest", "--text=a dog")
        assert done.stdout == "1:A DOG\n"
        for flags, word in (
            (["--text=a", "--model_name=other"], "Servable not found"),
            (["--text=a", "--model_version=7"], "Specific(translate, 7)"),
            (["--text=slow", "--timeout_secs=0.1"], "within 0.1 s"),
            (["--text=a", f"--server=localhost:{free_port()}"], "refused"),
            (["--text=a", "--server=no host"], "`server` must be a host"),
        ):
            assert_one_line(self.query(served, "rest", *flags), word)

    def test_rest_starts_without_tensorflow(self, served):
        script = (
            "import sys\n"
            "from keras_transformer.bin import query\n"
            "try:\n"
            "    query.run(['query'] + sys.argv[1:])\n"
            "finally:\n"
            "    print({'tensorflow', 'grpc', 'keras'} & set(sys.modules))\n"
        )
        flags = [f"--server=localhost:{served.rest}", "--protocol=rest"]
        done = subprocess.run(
            [sys.executable, "-c", script, *flags, "--text=a"],
            capture_output=True,
            text=True,
        )
        assert done.stdout == "1:A\nset()\n"
