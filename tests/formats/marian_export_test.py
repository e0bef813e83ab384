"""Runs become Marian models, and what a Marian model lacks is refused."""

import json

import pytest
from small_translators import make_run
from tensor2tensor_examples import write_subtokens
from tiny_marian import write_tiny_marian

from keras_transformer.errors import UserError
from keras_transformer.formats.marian.reader import import_marian
from keras_transformer.formats.marian.writer import export_marian
from keras_transformer.formats.tensor2tensor.vocabulary import (
    read_tensor2tensor_vocabulary,
)
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions


def edit(directory, name="config.json", **changes):
    path = directory / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


class ExportMarianTest:
    @pytest.mark.parametrize(
        "changes, words",
        [
            ({"norm": "pre"}, "`norm` must be 'post'"),
            ({"positional_encoding": "learned"}, "`positional_encoding`"),
            ({"neighbourhood_size": 3}, "`neighbourhood_size`"),
            ({"d_k": 3}, "`d_k` and `d_v`"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_what_marian_lacks_is_refused_by_name(
        self, changes, words, tmp_path
    ):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        run = import_marian(str(source), str(tmp_path / "run"))
        edit(tmp_path / "run", "hparams.json", **changes)
        run = RunDirectory(run.path)
        options = DecodeOptions.from_hparams(run.hparams)
        with pytest.raises(UserError, match=words):
            export_marian(run, str(tmp_path / "export"), options)
        assert not (tmp_path / "export").exists()

    @pytest.mark.parametrize(
        "name, value",
        [("temperature", 0.5), ("no_repeat_ngram_size", 3), ("min_length", 2)],
    )
    def test_options_that_the_files_do_not_hold_are_refused(
        self, name, value, tmp_path
    ):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        run = import_marian(str(source), str(tmp_path / "run"))
        options = DecodeOptions(**{name: value})
        with pytest.raises(UserError, match=f"{name}={value}. Leave"):
            export_marian(run, str(tmp_path / "export"), options)
        assert not (tmp_path / "export").exists()

    def test_the_number_of_hypotheses_is_kept(self, tmp_path, caplog):
        write_tiny_marian(tmp_path / "marian")
        run = import_marian(str(tmp_path / "marian"), str(tmp_path / "run"))
        options = DecodeOptions(num_hypotheses=3, extra_length=7)
        path = export_marian(run, str(tmp_path / "export"), options)
        # The other option has no place in the files.
        assert "cannot state extra_length=7" in caplog.text
        with open(f"{path}/generation_config.json") as file:
            assert json.load(file)["num_return_sequences"] == 3
        import_marian(path, str(tmp_path / "again"))

    def test_a_vocabulary_that_spells_text_is_refused(self, tmp_path):
        write_subtokens(tmp_path / "vocab.subwords")
        vocabulary = read_tensor2tensor_vocabulary(tmp_path / "vocab.subwords")
        run = make_run(tmp_path / "run", vocabulary)
        with pytest.raises(UserError, match="not be one of Tensor2Tensor"):
            export_marian(run, str(tmp_path / "export"), DecodeOptions())

    def test_other_files_are_not_replaced(self, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        run = import_marian(str(source), str(tmp_path / "run"))
        options = DecodeOptions.from_hparams(run.hparams)
        for path in (source, tmp_path / "run"):
            before = {file.name: file.stat() for file in path.iterdir()}
            with pytest.raises(UserError, match="hold an earlier export"):
                export_marian(run, str(path), options)
            after = {file.name: file.stat() for file in path.iterdir()}
            assert after == before

    def test_files_beside_an_earlier_export_stay(self, tmp_path):
        write_tiny_marian(tmp_path / "marian")
        run = import_marian(str(tmp_path / "marian"), str(tmp_path / "run"))
        options = DecodeOptions.from_hparams(run.hparams)
        export = tmp_path / "export"
        export_marian(run, str(export), options)
        mine = {"README.md": "mine", ".git/HEAD": "mine", "notes.txt": "mine"}
        for name, text in mine.items():
            (export / name).parent.mkdir(exist_ok=True)
            (export / name).write_text(text)
        weights = (export / "model.safetensors").read_bytes()
        (export / "config.json").write_text("{}")
        export_marian(run, str(export), options)
        assert (export / "model.safetensors").read_bytes() == weights
        assert (export / "config.json").read_text() != "{}"
        for name, text in mine.items():
            assert (export / name).read_text() == text

    def test_the_working_directory_can_be_the_output(
        self, tmp_path, monkeypatch
    ):
        write_tiny_marian(tmp_path / "marian")
        (tmp_path / "run").mkdir()
        monkeypatch.chdir(tmp_path / "run")
        run = import_marian("../marian", ".")
        assert RunDirectory(".").checkpoints.steps == run.checkpoints.steps
