"""Keys, health, metrics and the access log of a server."""

import concurrent.futures
import json
import os
import shutil
import threading
import time
import urllib.error
import urllib.request

import pytest
from commands import assert_fails
from commands import call
from source_files import ROOT

from keras_transformer.bin import query
from keras_transformer.bin import serve
from keras_transformer.decoding.served_model import open_model
from keras_transformer.errors import UserError
from keras_transformer.formats import demo
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions
from keras_transformer.serving.keys import Keys
from keras_transformer.serving.monitor import Monitor
from keras_transformer.serving.server import Server

KEY, SLOW_KEY = "correct-horse", "battery-staple"
TEXT = "Good morning. I love you."
FIELDS = {"q": TEXT, "source": "en", "target": "es"}
CHAT = {"model": "en-es", "messages": [{"role": "user", "content": TEXT}]}
BODIES = {
    "/translate": FIELDS,
    "/v1/chat/completions": CHAT,
    "/v1/models/translate:predict": {"instances": [TEXT]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("operator")
    with pytest.MonkeyPatch().context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        run = RunDirectory(demo.find_directory("demo://en-es"))
    options = DecodeOptions.from_hparams(run.hparams)
    export_ctranslate2(run, str(folder / "export"), options)
    (folder / "keys").write_text(f"# Weblate\n{KEY}\n\n{SLOW_KEY} 3\n")
    return folder


def start_server(folder, **monitored):
    server = Server(
        str(folder / "export"),
        port=0,
        rest_api_port=0,
        open_model=open_model,
        routes={("en", "es"): "translate"},
        keys=Keys(str(folder / "keys")),
        monitor=Monitor(**monitored),
    )
    server.start()
    return server


@pytest.fixture(scope="module")
def server(folder):
    pytest.importorskip("prometheus_client")
    log = str(folder / "log")
    server = start_server(folder, metrics=True, access_log=log)
    yield server
    server.stop()


def ask(server, path, fields=None, key=None):
    """Returns status and content of a response."""
    body = None if fields is None else json.dumps(fields).encode()
    headers = {"content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    address = f"http://localhost:{server.rest_api_port}{path}"
    try:
        with urllib.request.urlopen(
            urllib.request.Request(address, body, headers)
        ) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class KeysTest:
    @pytest.mark.parametrize("path", BODIES)
    @pytest.mark.parametrize("key", [None, KEY[:-1], KEY + "x", "é"])
    def test_no_face_answers_without_a_key(self, server, path, key):
        status, content = ask(server, path, BODIES[path], key)
        error = json.loads(content)["error"]
        if path == "/v1/chat/completions":
            assert error["code"] == "invalid_api_key"
            error = error["message"]
        assert status == (403 if path == "/translate" else 401)
        assert "must have a key" in error
        assert KEY[:-1] not in content

    @pytest.mark.parametrize("path", BODIES)
    def test_every_face_takes_it_in_the_header(self, server, path):
        status, content = ask(server, path, BODIES[path], KEY)
        assert status == 200
        assert "Buenos días" in content

    def test_the_name_of_its_scheme_is_in_any_case(self, folder):
        Keys(str(folder / "keys")).check(f"bearer {KEY}", Monitor())

    @pytest.mark.parametrize("key", [KEY, KEY + "x", "", 7, None, [KEY]])
    def test_libretranslate_takes_it_in_the_body(self, server, key):
        fields = {**FIELDS, "api_key": key}
        expected = 200 if key == KEY else 403
        assert ask(server, "/translate", fields)[0] == expected

    def test_its_clients_send_it(self, server):
        client = pytest.importorskip("libretranslatepy")
        openai = pytest.importorskip("openai")
        address = f"http://localhost:{server.rest_api_port}"
        api = client.LibreTranslateAPI(address + "/", api_key=KEY)
        assert api.translate("Good morning.", "en", "es") == "Buenos días."
        base = {"base_url": address + "/v1", "max_retries": 0}
        assert list(openai.OpenAI(**base, api_key=KEY).models.list())
        with pytest.raises(openai.AuthenticationError, match="must have a key"):
            openai.OpenAI(**base, api_key="none").models.list()

    def test_grpc_takes_it_in_the_metadata(self, server):
        grpc = pytest.importorskip("grpc")
        method = "/tensorflow.serving.ModelService/GetModelStatus"
        request = b"\x0a\x0b\x0a\x09translate"
        with grpc.insecure_channel(f"localhost:{server.port}") as channel:
            call = channel.unary_unary(method)
            metadata = [("authorization", f"Bearer {KEY}")]
            assert call(request, metadata=metadata)
            for metadata in ([], [("authorization", "Bearer x")]):
                with pytest.raises(grpc.RpcError) as error:
                    call(request, metadata=metadata)
                assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED

    @pytest.mark.parametrize("protocol", ["rest", "grpc"])
    def test_kt_query_sends_it(self, server, folder, protocol, capsys):
        port = server.port if protocol == "grpc" else server.rest_api_port
        flags = [f"--server=localhost:{port}", f"--protocol={protocol}"]
        flags += ["--text=I love you."]
        assert_fails(capsys, ["must have a key"], query, *flags)
        assert call(query, *flags, f"--api_key_file={folder}/keys") == 0
        assert capsys.readouterr().out == "Te amo.\n"

    def test_a_limit_holds_for_all_faces_together(self, server):
        statuses = [
            ask(server, path, BODIES[path], SLOW_KEY)[0]
            for path in (*BODIES, *BODIES)
        ]
        assert statuses == 3 * [200] + 3 * [429]
        _, content = ask(server, "/translate", FIELDS, SLOW_KEY)
        assert "3 requests per minute. Try again in" in content

    def test_a_limit_lasts_a_minute(self, folder, monkeypatch):
        now = [1000.0]
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        keys = Keys(str(folder / "keys"))
        for seconds in (0, 30, 20, 11, 30):
            now[0] += seconds
            keys.check(SLOW_KEY, Monitor())
        with pytest.raises(UserError, match="in 19 s"):
            keys.check(SLOW_KEY, Monitor())
        now[0] += 18.9  # at "in 0 s", a client would be refused again
        with pytest.raises(UserError, match="in 1 s"):
            keys.check(SLOW_KEY, Monitor())

    def test_pages_learn_that_a_key_is_needed(self, server):
        status, content = ask(server, "/frontend/settings")
        assert status == 200
        assert json.loads(content)["apiKeys"] is True

    @pytest.mark.parametrize(
        "content, says",
        [
            ("", "which holds none"),
            ("# a comment\n", "which holds none"),
            ("short", "line 1"),
            (f"{KEY}\n{SLOW_KEY} 0", "line 2"),
            (f"{KEY} 60 a", "line 1"),
            (f"{KEY} {10**6}", "line 1"),
            ("schlüssel-schlüssel", "line 1"),
            (f"{KEY}\n{KEY} 60", "line 2, which repeats a key"),
            (b"\xff", "not UTF-8"),
        ],
    )
    def test_a_faulty_file_is_named_without_a_key(
        self, tmp_path, content, says
    ):
        content = content if isinstance(content, bytes) else content.encode()
        (tmp_path / "keys").write_bytes(content)
        with pytest.raises(UserError, match=says) as error:
            Keys(str(tmp_path / "keys"))
        assert KEY not in str(error.value)
        assert SLOW_KEY not in str(error.value)


class HealthTest:
    def test_rest_and_grpc_tell_it_without_a_key(self, server):
        grpc = pytest.importorskip("grpc")
        for path in ("/health", "/ready"):
            assert ask(server, path) == (200, '{"status": "ok"}')
        with grpc.insecure_channel(f"localhost:{server.port}") as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            assert check(b"") == b"\x08\x01"

    def test_without_a_model_it_lives_but_is_not_ready(self, folder):
        server = Server(
            str(folder / "export"), rest_api_port=0, open_model=open_model
        )
        server._rest.start()  # and not `server.start`, which loads the model
        assert ask(server, "/health")[0] == 200
        status, content = ask(server, "/ready")
        assert status == 503
        assert "still being loaded" in content
        status, content = ask(server, "/metrics")
        assert status == 400
        assert "--metrics" in content
        server._rest.stop(1)


class ComposeTest:
    def test_it_starts_kt_serve_and_asks_whether_it_is_ready(self):
        yaml = pytest.importorskip("yaml")
        path = ROOT / "compose.yaml"
        service = yaml.safe_load(path.read_text())["services"]["translate"]
        serve.FLAGS(["kt-serve", *service["command"]])
        assert serve.FLAGS.export_dir == "demo://en-es"
        (port,) = service["ports"]
        assert port.endswith(f":{serve.FLAGS.rest_api_port}")
        assert f":{serve.FLAGS.rest_api_port}/ready" in str(service)


class ReplacementTest:
    def test_no_request_fails_while_a_model_is_replaced(self, folder, tmp_path):
        exports = tmp_path / "export"
        shutil.copytree(folder / "export", exports)
        server = Server(
            str(exports),
            rest_api_port=0,
            open_model=open_model,
            routes={("en", "es"): "translate"},
        )
        server.start()
        server.watch()
        is_over = threading.Event()

        def ask_until_the_end(_):
            faults = []
            while not is_over.is_set():
                for request in (("/translate", FIELDS), ("/ready",)):
                    status, content = ask(server, *request)
                    if status != 200:
                        faults.append((status, content))
            return faults

        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            found = threads.map(ask_until_the_end, range(2))
            try:
                copy = shutil.copytree(exports / "1", tmp_path / "2")
                os.rename(copy, exports / "2")
                self.wait_for(server, ["AVAILABLE", "AVAILABLE"])
                shutil.rmtree(exports / "1")
                self.wait_for(server, ["AVAILABLE", "END"])
            finally:
                is_over.set()
            assert list(found) == [[], []]
        server.stop()

    def wait_for(self, server, states):
        for _ in range(600):
            response = server.service.get_status("translate")
            versions = response.model_version_status
            if [one.State.Name(one.state) for one in versions] == states:
                return
            time.sleep(0.05)
        raise TimeoutError(response)


class StopTest:
    def test_a_translation_that_runs_is_finished(self, folder):
        server = Server(
            str(folder / "export"),
            rest_api_port=0,
            open_model=open_model,
            routes={("en", "es"): "translate"},
        )
        server.start()
        fields = {**FIELDS, "q": 200 * ["I love you."]}
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            call = threads.submit(ask, server, "/translate", fields)
            while not server._batcher.num_waiting:
                time.sleep(0.001)
            server.stop()
            status, content = call.result()
        assert status == 200
        assert json.loads(content)["translatedText"] == 200 * ["Te amo."]
        with pytest.raises(OSError, match="refused"):
            ask(server, "/health")


class MetricsTest:
    def read(self, server):
        content = ask(server, "/metrics", key=KEY)[1]
        lines = [line for line in content.splitlines() if line[0] != "#"]
        pairs = (line.rsplit(" ", 1) for line in lines)
        return {name: float(number) for name, number in pairs}

    def test_a_request_moves_its_counters_only(self, server):
        before = self.read(server)
        ask(server, "/translate", FIELDS, KEY)
        after = self.read(server)
        changes = {
            name: after[name] - before.get(name, 0)
            for name in after
            if after[name] != before.get(name) and "_created" not in name
        }
        one = 'kt_requests_total{face="libretranslate",status="200"}'
        assert changes[one] == 1
        assert changes["kt_sentences_total"] in (1, 2)  # sentencex divides it
        assert changes['kt_tokens_total{side="source"}'] > 4
        assert changes['kt_tokens_total{side="target"}'] > 4
        for stage in ("read", "queue", "model", "write"):
            assert changes[f'kt_seconds_count{{stage="{stage}"}}'] == 1
        assert after["kt_queue"] == 0
        assert not any("alarm" in name for name in changes)

    def test_an_alarm_is_counted(self, server):
        text = (
            "The quick brown fox jumps over the lazy dog while seventeen green "
            "parrots recite the constitution of Liechtenstein in front of an "
            "astonished audience of retired plumbers and dentists from the "
            "northern provinces of Finland."
        )
        name = 'kt_alarms_total{alarm="loop"}'
        before = self.read(server).get(name, 0)
        ask(server, "/translate", {**FIELDS, "q": text}, KEY)
        fields = {"instances": [text]}
        ask(server, "/v1/models/translate:predict", fields, KEY)
        assert self.read(server)[name] == before + 2

    def test_a_key_is_needed(self, server):
        assert ask(server, "/metrics")[0] == 401


class AccessLogTest:
    def test_a_line_has_no_text_and_no_key(self, folder, tmp_path):
        path = tmp_path / "log"
        server = start_server(folder, access_log=str(path))
        ask(server, "/translate", {**FIELDS, "api_key": KEY})
        ask(server, "/translate", FIELDS, "wrong-secret")
        ask(server, "/Good%20morning?q=secret", FIELDS, KEY)
        for _ in range(4):
            ask(server, "/v1/models", key=SLOW_KEY)
        server.stop()
        content = path.read_text()
        for secret in ("morning", "love", "secret", KEY):
            assert secret not in content
        lines = list(map(json.loads, content.splitlines()))
        shown = [
            (line["face"], line["path"], line["status"], line["key"])
            for line in lines
        ]
        assert shown == [
            ("libretranslate", "/translate", 200, 2),
            ("libretranslate", "/translate", 403, None),
            ("unknown", None, 400, 2),
            *[("openai", "/v1/models", 200, 4)] * 3,
            ("openai", "/v1/models", 429, 4),
        ]
        assert lines[0]["sentences"] in (1, 2)
        assert 0 < lines[0]["seconds"] < 60
        assert lines[0]["client"] in ("127.0.0.1", "::1")

    def test_no_request_waits_for_a_reader(self, tmp_path):
        path = str(tmp_path / "pipe")
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        monitor = Monitor(access_log=path)
        for _ in range(12_000):  # more than a pipe and the queue take
            with monitor.follow("grpc", "a", None, None):
                pass
        os.close(reader)
        monitor.close()

    def test_a_file_that_was_moved_is_begun_anew(self, tmp_path):
        path = tmp_path / "log"
        monitor = Monitor(access_log=str(path))
        path.rename(tmp_path / "log.1")
        with monitor.follow("grpc", "a", None, None):
            pass
        monitor.close()
        assert path.read_text().count("\n") == 1
