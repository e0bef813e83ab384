"""kt-attention on a run that has learned to copy, and the model card."""

import os
import pathlib

import numpy as np
import pytest
from attention_examples import Page
from attention_examples import decoded
from commands import assert_fails
from commands import call

from keras_transformer.bin import attention
from keras_transformer.bin import evaluate
from keras_transformer.decoding.engines.attention import compute_attention
from keras_transformer.decoding.translator import Translator

TEXT = "a b c d"


@pytest.fixture(scope="module")
def translator(trained_run):
    return Translator.load(trained_run, engine="keras")


def expected(translator, text, target):
    ids = translator.codec.vocabulary.encode([text, target])
    return compute_attention(
        translator.engine.model, translator.codec.vocabularies, *ids
    )


def assert_page_shows(path, attention):
    page = Page(path.read_text(encoding="utf-8"))
    for kind in page.data["kinds"]:
        queries, keys, weights = attention.select(kind["name"])
        assert (kind["queries"], kind["keys"]) == (queries, keys)
        np.testing.assert_allclose(
            decoded(attention, kind), weights, rtol=0, atol=2e-5
        )


class AttentionCommandTest:
    def test_a_page_and_a_picture_of_the_runs_own_translation(
        self, trained_run, translator, tmp_path, capsys
    ):
        from matplotlib.image import imread

        page, picture = tmp_path / "a.html", tmp_path / "a.png"
        status = call(
            attention,
            f"--output_dir={trained_run}",
            f"--text={TEXT}",
            f"--html={page}",
            f"--picture={picture}",
        )
        output = capsys.readouterr()
        assert status == 0, output.err
        assert output.out == f"{TEXT}\n"
        assert f"Page: {page}" in output.err
        assert_page_shows(page, expected(translator, TEXT, TEXT))
        assert imread(picture).ndim == 3
        assert sorted(os.listdir(tmp_path)) == ["a.html", "a.png"]

    def test_a_target_is_forced_and_the_title_is_the_text(
        self, trained_run, translator, tmp_path, capsys
    ):
        page = tmp_path / "a.html"
        text = "a < b </script>"
        status = call(
            attention,
            f"--output_dir={trained_run}",
            "--checkpoint_step=best",
            f"--text={text}",
            "--target_text=q w",
            f"--html={page}",
        )
        assert status == 0
        assert capsys.readouterr().out == ""
        best = Translator.load(trained_run, "best", engine="keras")
        assert_page_shows(page, expected(best, text, "q w"))
        page = Page(page.read_text(encoding="utf-8"))
        assert page.texts["title"] == [f"Attention: {text}\n→ q w"]

    @pytest.mark.parametrize("kind", ["encoder", "decoder"])
    def test_the_picture_shows_the_attention_that_is_asked_for(
        self, trained_run, tmp_path, kind
    ):
        path = tmp_path / "a.svg"
        flags = [f"--text={TEXT}", f"--target_text={TEXT}", f"--picture={path}"]
        flags.append(f"--attention={kind}")
        assert call(attention, f"--output_dir={trained_run}", *flags) == 0
        assert f"{kind.title()} self-attention" in path.read_text()

    @pytest.mark.parametrize("number", ["3", "4", "5"])
    def test_a_figure_of_the_paper_as_page_and_picture(
        self, trained_run, tmp_path, capsys, number
    ):
        page, picture = tmp_path / "a.html", tmp_path / "a.svg"
        status = call(
            attention,
            f"--output_dir={trained_run}",
            f"--figure={number}",
            "--text=a b c d e f",
            f"--html={page}",
            f"--picture={picture}",
        )
        output = capsys.readouterr()
        assert status == 0, output.err
        (caption,) = output.out.splitlines()
        assert caption.startswith(f"Figure {number}. ")
        texts = Page(page.read_text(encoding="utf-8")).texts
        assert texts["text"][:4] == ["a", "a", "b", "b"]
        assert picture.read_text().count("<!-- e -->") in (2, 4)

    def test_heads_are_ranked_over_a_split(self, trained_run, tmp_path, capsys):
        page, picture = tmp_path / "a.html", tmp_path / "a.svg"
        status = call(
            attention,
            f"--output_dir={trained_run}",
            "--find=test",
            f"--html={page}",
            f"--picture={picture}",
        )
        output = capsys.readouterr()
        assert status == 0, output.err
        assert output.out.split()[:3] == ["diagonal", "local", "sharp"]
        headings = Page(page.read_text(encoding="utf-8")).texts["h3"]
        assert "Layer 1, head 2" in headings
        assert "<!-- sharp -->" in picture.read_text()

    def test_heads_are_ranked_over_a_text_file(
        self, trained_run, tmp_path, capsys
    ):
        path = tmp_path / "a.txt"
        path.write_text("a b c d\n\na b c\n")
        call(attention, f"--output_dir={trained_run}", f"--find={path}")
        output = capsys.readouterr()
        assert "2 of 2 sentences" in output.err
        assert output.out.startswith("diagonal")

    @pytest.mark.parametrize("ending", ["pdf", "svg"])
    def test_the_ending_of_the_picture_decides_its_format(
        self, trained_run, tmp_path, ending
    ):
        path = tmp_path / f"a.{ending}"
        flags = [f"--text={TEXT}", f"--target_text={TEXT}", f"--picture={path}"]
        assert call(attention, f"--output_dir={trained_run}", *flags) == 0
        signature = {"pdf": b"%PDF-", "svg": b"<?xml"}[ending]
        assert path.read_bytes().startswith(signature)

    @pytest.mark.parametrize(
        "flags, words",
        [
            (["--text=a b"], ["--html", "--picture"]),
            (["--html={out}"], ["--text"]),
            (["--text=  ", "--html={out}"], ["--text", "sentence"]),
            (["--text=\udcff", "--html={out}"], ["--text", "UTF-8"]),
            (
                ["--text=a", "--target_text= ", "--html={out}"],
                ["--target_text", "sentence"],
            ),
            (["--text=a", "--html={tmp}"], ["`--html`", "{tmp}, which is"]),
            (
                ["--text=a", "--html={out}", "--picture={tmp}/no/a.png"],
                ["`--picture`", "{tmp}/no/a.png, whose"],
            ),
            (
                ["--text=a", "--picture={tmp}/a.gif"],
                ["--picture", "{tmp}/a.gif"],
            ),
            (
                ["--text=a", "--html={out}", "--picture={tmp}/a"],
                [".svg", "{tmp}/a"],
            ),
            (["--text=a", "--html={pic}", "--picture={pic}"], ["must differ"]),
            (["--text=" + "a b " * 200, "--html={out}"], ["at most 256"]),
            (
                ["--text=a", "--html={out}", "--checkpoint_step=7"],
                ["step 7"],
            ),
            (
                ["--text=a", "--html={out}", "--output_dir={tmp}"],
                ["run.json", "{tmp}"],
            ),
        ],
    )
    def test_bad_input_is_one_line_and_leaves_no_file(
        self, trained_run, tmp_path, capsys, flags, words
    ):
        places = {"tmp": tmp_path, "out": tmp_path / "a.html"}
        places["pic"] = tmp_path / "a.png"
        flags = [flag.format(**places) for flag in flags]
        status = call(attention, f"--output_dir={trained_run}", *flags)
        output = capsys.readouterr()
        assert status == 2
        assert output.out == ""
        assert output.err.count("\n") == 1
        for word in words:
            assert word.format(**places) in output.err
        assert os.listdir(tmp_path) == []

    def test_an_export_has_no_heads_to_rank(self, capsys):
        export = pathlib.Path(__file__).parents[1] / "fixtures/v0.1/ctranslate2"
        flags = [f"--output_dir={export}", "--find=test"]
        assert_fails(capsys, [f"{export}", "run.json"], attention, *flags)


class CardTest:
    def test_training_writes_a_card_with_counts_and_time(self, trained_run):
        card = self.read(trained_run)
        assert "| train | 10,000 |" in card
        assert "| Updates | 1,000 |" in card
        assert "| Training time |" in card
        assert "at update 1,000," in card

    def test_evaluation_adds_its_scores(self, trained_run, capsys):
        assert call(evaluate, f"--output_dir={trained_run}") == 0
        words = capsys.readouterr().out.split()
        signatures = {word for word in words if "version:" in word}
        assert len(signatures) == 4
        card = self.read(trained_run)
        for signature in signatures:
            assert signature in card

    def read(self, run):
        with open(os.path.join(run, "README.md"), encoding="utf-8") as file:
            return file.read()
