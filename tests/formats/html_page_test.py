"""A run as one page: what is refused, and what it does in Chromium."""

import dataclasses
import json
import pathlib
import re
import subprocess
import sys

import pytest
from commands import assert_fails
from commands import call
from processes import environment
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import make_kana_vocabulary
from small_translators import make_run
from small_translators import make_tree_vocabulary
from small_translators import make_vocabulary
from watched_pages import watch_pages

from keras_transformer import load
from keras_transformer.bin import exporter
from keras_transformer.data.text.letter_case import restore_case
from keras_transformer.data.vocabulary.bpe_symbols import write_symbols
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.errors import UserError
from keras_transformer.files.array_files import write_arrays
from keras_transformer.formats.exported import quantize
from keras_transformer.formats.html.node import find_node
from keras_transformer.formats.html.node import translate
from keras_transformer.formats.html.writer import export_html
from keras_transformer.runs.weights import read_weights
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import VOCABULARY_TYPES

MODELS = {
    "post-norm": {},
    "pre-norm": {
        "norm": "pre",
        "activation": "gelu",
        "positional_encoding": "learned",
        "attention_bias": True,
        "output_bias": True,
        "d_k": 6,
        "d_v": 10,
        "num_decoder_layers": 2,
        "tied_embeddings": "none",
        "decoder_start": "padding",
    },
    "relative": {
        "activation": "silu",
        "positional_encoding": "none",
        "max_relative_position": 2,
        "scale_embeddings": False,
        "tied_embeddings": "target",
    },
    "tensor2tensor": {"positional_encoding": "tensor2tensor", "norm": "pre"},
}
SENTENCES = [text for text in TEXTS if text.strip()]
SENTENCES += [text.upper() for text in SENTENCES]
SENTENCES += [
    "a dog 🐶 runs 👍🏽",
    "\u00a0cafe\u0301  \ufb01ve\u200b ",
    "the dog is \u05e9\u05dc\u05d5\u05dd 東京",
    "\u2581 <a> & \\ \x01",
    "🏴\U000e0067\U000e007f 1\ufe0f\u20e3",
]


def make_rounded_run(folder, vocabulary=None, **changes):
    """Makes a run whose weights have 8 bits, so that its page has the same."""
    hparams = dataclasses.replace(HPARAMS, **changes)
    vocabulary = vocabulary or make_vocabulary(folder / "vocabulary")
    source = None
    if hparams.tied_embeddings != "all":
        source = make_kana_vocabulary(folder / "source")
    run = make_run(folder / "run", vocabulary, hparams, source)
    arrays = read_weights(run.checkpoints)
    for name, array in arrays.items():
        if array.ndim == 2:
            numbers, scales = quantize(array)
            arrays[name] = numbers * scales
    write_arrays(run.checkpoints.path(run.checkpoints.find()), arrays)
    return run


def export(run, path, **options):
    options = DecodeOptions.from_hparams(run.hparams).replace(**options)
    return export_html(run, str(path), options)


class WriterTest:
    def test_it_names_what_no_page_can_do(self, tmp_path):
        vocabulary = make_tree_vocabulary(tmp_path / "trees")
        parser = make_run(tmp_path / "parser", vocabulary)
        with pytest.raises(UserError, match="A page must translate"):
            export(parser, tmp_path / "page")
        path = str(tmp_path / "symbols")
        symbols = write_symbols(["Res@@", "um@@", "ption"], path)
        run = make_run(tmp_path / "symbols_run", symbols)
        with pytest.raises(UserError, match="or is of given symbols"):
            export(run, tmp_path / "page")
        run = make_rounded_run(tmp_path, neighbourhood_size=3)
        with pytest.raises(UserError, match="`neighbourhood_size` must be 0"):
            export(run, tmp_path / "page")

    def test_it_replaces_its_page_and_no_other(self, tmp_path):
        run = make_rounded_run(tmp_path)
        with pytest.raises(UserError, match="`temperature` must be 0 in a p"):
            export(run, tmp_path / "site", temperature=1.0)
        path = export(run, tmp_path / "site")
        assert path == export(run, tmp_path / "site" / "index.html")
        pathlib.Path(path).write_text("<!DOCTYPE html>mine")
        with pytest.raises(UserError, match="must not hold another page"):
            export(run, tmp_path / "site")

    @pytest.mark.skipif(not find_node(), reason="needs Node.js")
    def test_node_translates_in_every_locale(self, tmp_path):
        path = export(make_rounded_run(tmp_path), tmp_path / "page")
        code = f"""if True:
            from keras_transformer.formats.html.node import translate
            (translation,), _ = translate({path!r}, ["a dog \\U0001f44d"])
            assert translation[-1] == "\\U0001f44d"
        """
        # In this one, Python reads and writes ASCII.
        locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment(__file__, **locale),
            check=True,
        )

    def test_the_command_prints_the_path(self, tmp_path, capsys):
        run = make_rounded_run(tmp_path)
        flags = [f"--output_dir={run.path}", "--format=html"]
        assert call(exporter, *flags) == 0
        path = pathlib.Path(capsys.readouterr().out.strip())
        assert path == pathlib.Path(run.path, "export_html", "index.html")
        page = path.read_text()
        assert "weights in 8 bits" in page  # the card
        assert not re.findall(r"(?:src|href)=\"(?!data:)", page)
        faults = ["quantization", "no effect with --format=html"]
        assert_fails(capsys, faults, exporter, *flags, "--quantization=int8")


@pytest.mark.skipif(not find_node(), reason="needs Node.js")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            kind, marks=() if kind == "characters" else pytest.mark.slow
        )
        for kind in VOCABULARY_TYPES
    ],
)
def test_it_reads_every_kind_of_vocabulary(tmp_path, kind):
    vocabulary = train_subwords(
        *([*SENTENCES[:9], "la la"] * 9, 310, str(tmp_path / "vocabulary")),
        ["<num>"],
        ["(x)"],
        vocabulary_type=kind,
    )
    run = make_rounded_run(tmp_path, vocabulary)
    texts = [*SENTENCES, "<num> dogs (x) two<num>", "a  dog(x)s"]
    expected = load(run.path, engine="keras")(texts)
    assert len(set(expected)) > 2
    assert translate(export(run, tmp_path / "page"), texts) == (expected, None)


@pytest.mark.skipif(not find_node(), reason="needs Node.js")
def test_it_restores_the_case_of_a_text_as_the_run_does(tmp_path):
    small = [text.lower() for text in TEXTS]
    vocabulary = train_subwords(
        *(small * 20, 60, str(tmp_path / "vocabulary")),
        vocabulary_type="characters",
    )
    texts = ["Z\u00c9BRA DOGS", "DOGS \u2167", "A\ufeff\u00c9 \x85 DOG"]
    page = export(make_rounded_run(tmp_path, vocabulary), tmp_path / "page")
    content = pathlib.Path(page).read_text(encoding="utf-8")
    worker, model = (
        re.search(
            f'<script type="text/plain" id="{name}">(.*?)</script>',
            content,
            re.S,
        )[1]
        for name in ("worker", "model")
    )
    script = f"""{worker}
    open({json.dumps(model)}).then(() => console.log(JSON.stringify(
      {json.dumps(texts)}.map((one) => restoreCase(one, translator.source)))));
    """
    done = subprocess.run(
        [find_node(), "-"], input=script, capture_output=True, encoding="utf-8"
    )
    assert json.loads(done.stdout) == restore_case(texts, vocabulary)


@pytest.fixture
def visit(chromium):
    """Returns a function that opens a page from the disk, without a network."""
    with watch_pages(chromium) as make_page:

        def visit(path, script="", status="Ready", **options):
            address = pathlib.Path(path).as_uri()
            page = make_page(address, offline=True, **options)
            page.add_init_script(script)
            page.goto(address)
            wait(page, status)
            return page

        yield visit


def wait(page, status):
    page.locator("#status", has_text=status).wait_for(timeout=60_000)


def type_text(page, text):
    page.fill("#text", text)
    wait(page, "Translated")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return export(make_rounded_run(folder), folder / "page")


@pytest.mark.slow
@pytest.mark.browser
class BrowserTest:
    @pytest.mark.parametrize("name", MODELS)
    def test_its_translations_are_those_of_keras(self, tmp_path, visit, name):
        run = make_rounded_run(tmp_path, **MODELS[name])
        page = visit(export(run, tmp_path / "page"))
        translate = load(run.path, engine="keras")
        for beam_size in (1, 4):
            texts = [
                page.evaluate(
                    "([text, size]) => ask('translate', text, size)",
                    [sentence, beam_size],
                )["text"]
                for sentence in SENTENCES
            ]
            assert texts == translate(SENTENCES, beam_size=beam_size)

    def test_one_may_type_before_the_model_is_open(self, visit, path):
        script = """addEventListener("DOMContentLoaded", () => {
            window.seen = [];
            new MutationObserver(() => seen.push(status.textContent)).observe(
                status, {childList: true});
            text.value = "two women";
            run(update);
        });"""
        page = visit(path, script, status="Translated")
        assert not re.search("Failed", " ".join(page.evaluate("seen")))
        assert page.text_content("#output")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_no_fault(self, visit, path, scheme):
        axe = pytest.importorskip("axe_playwright_python.sync_playwright")
        page = visit(path, color_scheme=scheme)
        type_text(page, "a dog runs")
        page.click(".word >> nth=0")
        page.wait_for_selector(".choices button", timeout=60_000)
        results = axe.Axe().run(page)
        assert not results.violations_count, results.generate_report()

    def test_another_word_is_chosen_by_the_keyboard(self, visit, path):
        page = visit(path, viewport={"width": 400, "height": 800})
        type_text(page, "two women")
        before = page.text_content("#output")
        page.locator(".word >> nth=0").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(".choices button:focus", timeout=60_000)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width == 400
        page.keyboard.press("ArrowDown")
        chosen = page.evaluate("document.activeElement.firstChild.textContent")
        page.keyboard.press("Enter")
        page.wait_for_selector("#again:not([hidden])", timeout=60_000)
        assert page.locator(".word").all_text_contents()[0] == chosen
        page.click("#again")
        page.wait_for_selector("#again", state="hidden", timeout=60_000)
        assert page.text_content("#output") == before

    def test_a_text_is_selected_where_no_page_may_copy(self, visit, path):
        script = "Object.defineProperty(navigator, 'clipboard', {value: null})"
        page = visit(path, script)
        type_text(page, "two women")
        page.click("#copy")
        wait(page, "Selected")
        selected = page.evaluate("getSelection().toString()")
        assert selected == page.text_content("#output")

    def test_a_long_text_keeps_its_lines_and_no_text_is_markup(
        self, visit, path
    ):
        page = visit(path)
        evil = "<img src=x onerror=alert(1)><script>alert(2)</script>"
        lines = [evil, "\u05e9\u05dc\u05d5\u05dd 👍", *["A dog. " * 20] * 60]
        type_text(page, "\n\n".join(lines))
        output = page.text_content("#output")
        assert output.count("\n\n") == len(lines) - 1
        assert "👍" in output
        assert page.locator("#output img, #output script").count() == 0


@pytest.mark.slow
@pytest.mark.browser
def test_firefox_translates_as_keras_does(tmp_path):
    pytest.importorskip("tornado")
    from firefox import Firefox
    from firefox import find_firefox

    if not find_firefox():
        pytest.skip("needs Firefox")
    run = make_rounded_run(tmp_path)
    path = pathlib.Path(export(run, tmp_path / "page"))
    with Firefox() as browser:
        browser.visit(path.as_uri())
        results = browser.evaluate(
            f"opened.then(() => Promise.all({json.dumps(SENTENCES)}.map("
            "(text) => ask('translate', text, 4))))"
        )
        assert not browser.log
    translate = load(run.path, engine="keras")
    expected = translate(SENTENCES, beam_size=4)
    assert [each["text"] for each in results] == expected
