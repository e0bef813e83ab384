"""Corrections that clients send count at once."""

import json
import re

import pytest
from tool_client import ask
from tool_client import export_demo
from tool_client import translate

from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.decoding.served_model import open_model
from keras_transformer.serving import text_translator
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.keys import Keys
from keras_transformer.serving.libretranslate import LibreTranslate
from keras_transformer.serving.server import Server
from keras_transformer.serving.text_translator import Answer
from keras_transformer.serving.text_translator import Pairs
from keras_transformer.serving.text_translator import TextTranslator

PAIR = ("en", "es")


def read_correction(memories, needs_key, correction):
    pairs = Pairs({PAIR: "translate"})
    translator = TextTranslator(None, pairs, memories)
    tool = LibreTranslate(translator, needs_key)
    fields = {"q": "One.", "s": correction, "source": "en", "target": "es"}
    return tool.endpoints["/correct"].function(fields, "")


class CorrectionsTest:
    @pytest.fixture(scope="class")
    def corrected(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("corrections")
        (folder / "keys").write_text("a-good-key\n", encoding="utf-8")
        server = Server(
            export_demo(folder),
            rest_api_port=0,
            open_model=open_model,
            routes={PAIR: "translate"},
            keys=Keys(folder / "keys"),
            memories={PAIR: TranslationMemory(folder / "memory")},
        )
        server.start()
        yield f"http://localhost:{server.rest_api_port}"
        server.stop()

    def correct(self, address, q, s, path="/correct", key="a-good-key"):
        fields = {"q": q, "s": s, "source": "en", "target": "es"}
        fields = json.dumps({**fields, "api_key": key})
        kind = {"content-type": "application/json"}
        return ask(address, path, fields, **kind)[::2]

    @pytest.mark.parametrize("path", ["/correct", "/suggest"])
    def test_a_correction_counts_at_once(self, corrected, path):
        key = {"api_key": "a-good-key"}
        before = translate(corrected, "Good morning.", **key)
        better = f"Buenos días de {path}."
        status, response = self.correct(
            corrected, "Good morning. I love you.", better + " Te quiero.", path
        )
        assert (status, response) == (200, {"success": True})
        text = "Good morning.\nHow are you?\nI love you.\n"
        after = translate(corrected, text, **key)["translatedText"]
        assert before["translatedText"] not in after
        assert after.startswith(f"{better}\n")
        assert after.endswith("\nTe quiero.\n")
        _, _, settings = ask(corrected, "/frontend/settings")
        assert settings["suggestions"]

    def test_the_alternatives_of_a_correction_differ_from_it(self, corrected):
        fields = {"api_key": "a-good-key", "alternatives": 2}
        before = translate(corrected, "See you tomorrow.", **fields)
        best, (second, third) = (
            before[name] for name in ("translatedText", "alternatives")
        )
        self.correct(corrected, "See you tomorrow.", second)
        after = translate(corrected, "See you tomorrow.", **fields)
        assert after["translatedText"] == second
        assert after["alternatives"] == [best, third]

    @pytest.mark.parametrize(
        "q, s, error",
        [
            ("One. Two.", "Uno.", r"\[2\] and \[1\]"),
            ("One.", "", r"\[1\] and \[0\]"),
            ("17", "71", r"\[0\] and \[0\]"),
            # As many in all, but "Dos." belongs to another text.
            (["One. Two.", "Three."], ["Uno.", "Dos. Tres."], r"\[2, 1\] and"),
            ([], [], "Received: no text"),
        ],
    )
    def test_a_wrong_correction_is_refused(self, corrected, q, s, error):
        status, response = self.correct(corrected, q, s)
        assert status == 400
        assert re.search(error, response["error"])

    def test_a_full_disk_is_no_fault_of_the_client(self, tmp_path):
        memory = TranslationMemory(tmp_path / "memory")
        memory._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(RequestError, match="disk is full") as caught:
            read_correction({PAIR: memory}, True, "Uno" * 10_000)
        assert caught.value.http_status == 503

    def test_a_memory_that_breaks_is_no_bug_of_the_server(self, tmp_path):
        memory = TranslationMemory(tmp_path / "memory")
        memory.close()
        with pytest.raises(RequestError, match="cannot be used") as caught:
            text_translator._correct(memory, "One.", Answer(["Uno."]))
        assert caught.value.http_status == 503

    def test_a_wrong_key_is_refused(self, corrected):
        status, _ = self.correct(corrected, "One.", "Uno.", key="wrong")
        assert status == 403

    @pytest.mark.parametrize(
        "memories, needs_key, missing",
        [(None, True, "--memory"), ({PAIR: "memory"}, False, "--api_keys")],
    )
    def test_both_flags_are_needed(self, memories, needs_key, missing):
        with pytest.raises(RequestError, match=missing):
            read_correction(memories, needs_key, "Uno.")
