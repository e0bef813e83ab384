"""kt-decoder --document on a run that has learned to copy."""

import importlib.util
import os

import pytest
from commands import assert_fails
from commands import call
from commands import call_apart

from keras_transformer.bin import decoder

pytest.importorskip("sentencex")
pytest.importorskip("markdown_it")

HTML = """<html><body class="a b">
<h1>a b c</h1><p>q w <b>e r</b> t<br/>
x y z</p><pre>h u  k</pre></body></html>\r
"""
MARKDOWN = "# a b c\n\n- q *w* e\n- `x y`\n\n> m n\n> o p"


@pytest.fixture
def translate(trained_run, tmp_path):
    """Function that translates a document and returns status and text."""

    def run(name, text, *flags, model=trained_run):
        source, target = tmp_path / name, tmp_path / f"out-{name}"
        source.write_bytes(text.encode())
        status = call(
            decoder,
            f"--output_dir={model}",
            "--document",
            f"--decode_from_file={source}",
            f"--decode_to_file={target}",
            *flags,
        )
        assert sorted(os.listdir(tmp_path)) == sorted([name, f"out-{name}"])
        return status, target.read_bytes().decode()

    return run


class DocumentCommandTest:
    @pytest.mark.parametrize(
        "name, text",
        [
            ("a.html", HTML),
            pytest.param("a.md", MARKDOWN, marks=pytest.mark.slow),
            pytest.param("a.txt", "a b c\r\n\r\nq w e", marks=pytest.mark.slow),
            ("empty.txt", ""),
        ],
    )
    def test_a_copied_document_is_the_same_each_time(
        self, translate, name, text, capsys
    ):
        assert translate(name, text) == (0, text)
        assert translate(name, text) == (0, text)

    def test_the_format_can_be_named(self, translate):
        text = "<p>a b <i>c</i></p>"
        assert translate("a.txt", text, "--document_format=html")[1] == text

    def test_placeholders_and_values_are_kept(self, translate, quick_model):
        text = '<p>a {name} <b>c %s</b> d {{ e.f }}</p><img alt="a b">'
        flags = ("--protect", "--translate_attributes=false")
        _, result = translate("a.html", text, *flags)
        for part in ("{name}", "%s", "{{ e.f }}", '<img alt="a b">', "<b>"):
            assert result.count(part) == 1

    def test_a_long_sentence_is_translated_in_parts(
        self, translate, quick_model, capsys
    ):
        text = "a b c d e f g h i j k l m n\n"
        flag = "--max_sentence_tokens=8"
        assert translate("a.txt", text, flag, model=quick_model) == (3, text)
        errors = capsys.readouterr().err
        assert "warning: sentence 1" in errors and "in parts" in errors

    def test_a_document_passes_through_a_pipe(self, quick_model):
        text = MARKDOWN.replace("*", "")  # no markup within a sentence
        result = call_apart(
            "decoder",
            f"--output_dir={quick_model}",
            "--document",
            "--document_format=markdown",
            input=text.encode(),
        )
        assert result.returncode == 0, result.stderr
        assert result.stdout.decode() == text
        assert b"3 of 3 sentences in" in result.stderr

    def test_a_missing_library_is_one_line(
        self, trained_run, monkeypatch, tmp_path, capsys
    ):
        path = tmp_path / "a.txt"
        path.write_text("a b\n")
        find_spec = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name: None if name == "sentencex" else find_spec(name),
        )
        assert_fails(
            capsys,
            ["pip install sentencex"],
            decoder,
            f"--output_dir={trained_run}",
            "--document",
            f"--decode_from_file={path}",
        )
