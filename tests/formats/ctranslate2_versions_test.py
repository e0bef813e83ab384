"""Exports to CTranslate2 are numbered versions, complete or absent."""

import json
import os
import pathlib
import resource

import pytest

from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions

pytest.importorskip("ctranslate2")

SETTINGS = (
    '{"add_source_bos": false, "add_source_eos": true, '
    '"decoder_start_token": "<pad>"'
)
RUN = pathlib.Path(__file__).parents[1] / "fixtures/v0.1/run"


@pytest.fixture(scope="module")
def run():
    return RunDirectory(str(RUN))


class VersionsTest:
    def test_each_export_is_the_next_version(self, run, tmp_path):
        out = str(tmp_path / "out")
        first = export_ctranslate2(run, out, DecodeOptions(), None, "int8")
        second = export_ctranslate2(run, out, DecodeOptions())
        paths = [os.path.join(out, name) for name in "12"]
        assert [first, second] == paths
        small, large = (
            os.path.getsize(os.path.join(path, "model.bin")) for path in paths
        )
        assert small < large
        assert sorted(os.listdir(out)) == ["1", "2", "README.md"]
        assert os.listdir(tmp_path) == ["out"]
        assert (
            Translator(CTranslate2Engine(out)).engine.record["precision"]
            == "float32"
        )
        assert (
            Translator(CTranslate2Engine(first)).engine.record["precision"]
            == "int8"
        )

    def test_the_name_of_a_directory_need_not_be_utf_8(self, run, tmp_path):
        path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
        export_ctranslate2(run, path, DecodeOptions())
        assert Translator(CTranslate2Engine(path))(["a dog"])

    def test_a_model_without_a_version_stays_and_is_read(self, run, tmp_path):
        """Version 0.1 wrote the files into `export_dir` itself."""
        out = tmp_path / "out"
        os.rename(
            export_ctranslate2(run, str(tmp_path / "new"), DecodeOptions()), out
        )
        with pytest.raises(ValueError, match="Move its files to .*out/1, or"):
            export_ctranslate2(run, str(out), DecodeOptions())
        assert not (out / "1").exists()
        (out / "2").mkdir()  # is no version, beside the files of a model
        assert Translator(CTranslate2Engine(str(out)))(["a dog"])

    def test_versions_of_another_format_are_refused(self, run, tmp_path):
        (tmp_path / "1").mkdir()
        (tmp_path / "1/saved_model.pb").write_text("mine")
        with pytest.raises(ValueError, match="not of the format ctranslate2"):
            export_ctranslate2(run, str(tmp_path), DecodeOptions())
        assert os.listdir(tmp_path) == ["1"]

    @pytest.mark.parametrize("name", ["notes.txt", "model.bin"])
    def test_other_files_are_refused_and_left_alone(self, name, run, tmp_path):
        path = tmp_path / "out"
        path.mkdir()
        (path / name).write_text("mine")
        with pytest.raises(ValueError, match="holds other files. Name"):
            export_ctranslate2(run, str(path), DecodeOptions())
        assert (path / name).read_text() == "mine"
        assert os.listdir(path) == [name]
        assert os.listdir(tmp_path) == ["out"]

    def test_file_is_refused(self, run, tmp_path):
        (tmp_path / "out").write_text("mine")
        with pytest.raises(ValueError, match="which is a file"):
            export_ctranslate2(run, str(tmp_path / "out"), DecodeOptions())

    def test_full_disk_leaves_the_earlier_versions(self, run, tmp_path):
        out = tmp_path / "out"
        path = out / "1"
        export_ctranslate2(run, str(out), DecodeOptions(), None, "int8")
        before = {file.name: file.read_bytes() for file in path.iterdir()}
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                export_ctranslate2(run, str(out), DecodeOptions())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        after = {file.name: file.read_bytes() for file in path.iterdir()}
        assert after == before
        assert sorted(os.listdir(out)) == ["1", "README.md"]


class SettingsTest:
    @pytest.fixture
    def copied(self, run, tmp_path):
        path = export_ctranslate2(run, str(tmp_path / "out"), DecodeOptions())
        return pathlib.Path(path)

    def test_a_precision_that_is_no_text_is_refused(self, copied):
        record = json.loads((copied / "export.json").read_text())
        record["precision"] = None
        (copied / "export.json").write_text(json.dumps(record))
        with pytest.raises(ValueError, match="`precision` must be text"):
            Translator(CTranslate2Engine(str(copied)))

    @pytest.mark.parametrize(
        "name, content, message",
        [
            ("shared_vocabulary.json", "[]", "which differs from vocab.model"),
            ("shared_vocabulary.json", "[1]", "`\\[0\\]` must be text"),
            ("config.json", "[]", "must be an object"),
            ("config.json", SETTINGS + ', "unk_token": 1}', "must be text"),
            ("config.json", SETTINGS + ', "unk_tokem": ""}', "m' is unknown"),
            ("config.json", SETTINGS.replace("bos", "box") + "}", "lacks `add"),
            ("config.json", SETTINGS.replace("start", "") + "}", "lacks `dec"),
        ],
    )
    def test_edited_settings_are_refused(self, name, content, message, copied):
        (copied / name).write_text(content)
        with pytest.raises(ValueError, match=message):
            Translator(CTranslate2Engine(str(copied)))
