"""The page of kt-studio in Chromium: keys, labels, contrast, hostile text."""

import pathlib
import re
import shutil

import pytest
from studio_runs import TEXT
from studio_runs import VIEWS

from keras_transformer.data.memory.store import TranslationMemory

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = [pytest.mark.slow, pytest.mark.browser]
EVIL = "<img src=x onerror=alert(1)></textarea><script>alert(2)</script>{{x}}"


class LookTest:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("name", [*VIEWS, "trees"])
    def test_axe_finds_no_fault(
        self, visit, address, parser_address, name, scheme
    ):
        at = parser_address if name == "trees" else address
        page = visit(name, at=at, color_scheme=scheme)
        if name == "translate":
            page.click(".word >> nth=1")
            page.wait_for_selector(".choices button", timeout=60_000)
        if name == "compare":
            page.click(".set button")
            page.wait_for_selector(".sentence", timeout=60_000)
        results = axe.Axe().run(page)
        assert not results.violations_count, results.generate_report()

    @pytest.mark.parametrize("name", VIEWS)
    def test_nothing_is_cut_off_on_a_phone(self, visit, name):
        page = visit(name, viewport={"width": 400, "height": 800})
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width == 400
        place = page.locator("[aria-current]").bounding_box()
        assert 0 <= place["x"] and place["x"] + place["width"] <= 400


class HostileTextTest:
    @pytest.mark.parametrize("name", [v for v in VIEWS if v != "training"])
    def test_text_is_never_markup(self, visit, name):
        page = visit(name, EVIL)
        for frame in page.frames:
            tags = frame.evaluate(
                "[...document.querySelectorAll('*')].map((e) => e.localName)"
            )
            assert tags.count("img") == (name == "explain")
            assert frame.locator("script[src], script").count() <= 2
        assert page.input_value("#text") == EVIL

    def test_brackets_are_never_markup(self, visit, parser_address):
        page = visit("trees", at=parser_address)
        page.fill(".brackets", f"(S (<b> {EVIL.split()[0]}))")
        page.wait_for_selector("text=<img", timeout=60_000)
        assert page.locator("#view b, #view img").count() == 0
        page.fill(".brackets", "(S")
        status = page.wait_for_selector("#status.wrong", timeout=60_000)
        brackets = page.locator(".brackets").bounding_box()
        assert status.bounding_box()["y"] < brackets["y"]


class TranslateTest:
    def test_one_can_type_at_once(self, visit):
        page = visit("translate", "", waits=False)
        page.keyboard.type("a b c")
        page.wait_for_selector(".word", timeout=60_000)
        assert page.input_value("#text") == "a b c"

    def test_another_word_is_chosen_by_the_keyboard(self, visit):
        page = visit("translate")
        before = page.text_content(".output")
        words = page.locator(".word").all_text_contents()
        page.locator(".word >> nth=1").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector(".choices button:focus", timeout=60_000)
        page.keyboard.press("ArrowDown")
        chosen = page.evaluate("document.activeElement.firstChild.textContent")
        page.keyboard.press("Enter")
        page.wait_for_selector(".word.fixed", timeout=60_000)
        after = page.locator(".word").all_text_contents()
        assert after[:2] == [words[0], chosen]
        page.click("text=Translate freely again")
        output = page.locator(".output")
        playwright.expect(output).to_have_text(before, timeout=60_000)

    def test_escape_closes_the_choices(self, visit):
        page = visit("translate")
        page.click(".word >> nth=0")
        page.wait_for_selector(".choices", timeout=60_000)
        page.keyboard.press("Escape")
        assert page.locator(".choices").count() == 0

    def test_an_emoji_does_not_shift_the_words(self, visit):
        page = visit("translate", "a b c d", waits=False)
        page.wait_for_selector(".word", timeout=60_000)
        page.route(
            "**/api/translate",
            lambda route: route.fulfill(
                json={"hypotheses": [{"text": "x \U0001f600 yy z", "score": 0}]}
            ),
        )
        page.fill("#text", "a b c")
        page.wait_for_selector(".word:text('yy')", timeout=60_000)
        words = page.locator(".word").all_text_contents()
        assert words == ["x", "\U0001f600", "yy", "z"]
        with page.expect_request("**/api/alternatives") as request:
            page.click(".word:text('z')")
        assert request.value.post_data_json["prefix"] == "x \U0001f600 yy "

    def test_only_the_chosen_sentence_changes(self, visit):
        pytest.importorskip("sentencex")
        page = visit("translate", "a b\nc d")
        last = ".word[data-sentence='1']"
        page.wait_for_selector(last, timeout=60_000)
        first = page.locator("[data-sentence='0']").all_text_contents()
        with page.expect_request("**/api/alternatives") as request:
            page.click(last)
        values = request.value.post_data_json
        assert (values["text"], values["prefix"]) == ("c d", "")
        page.click(".choices button >> nth=1", timeout=60_000)
        page.wait_for_selector(f"{last}.fixed:focus", timeout=60_000)
        kept = page.locator("[data-sentence='0']").all_text_contents()
        assert kept == first

    def test_a_correction_replaces_the_translation(
        self, visit, serve, translation_runs, tmp_path
    ):
        memory = TranslationMemory(tmp_path / "memory")
        page = visit("translate", at=serve(translation_runs[:1], memory))
        page.click("text=Correct")
        assert axe.Axe().run(page).violations_count == 0
        spelled = {"key": "Enter", "isComposing": True}
        page.dispatch_event(".correction", "keydown", spelled)
        page.fill(".correction", "better <b>text</b>")
        page.press(".correction", "Enter")
        page.locator(".output", has_text="<b>").wait_for(timeout=60_000)
        assert memory.find(TEXT).target == "better <b>text</b>"
        assert memory.count() == 1
        assert page.locator(".correction").is_hidden()
        assert "a correction" in page.text_content(".below")

    @pytest.mark.parametrize("width", [400, 1280])
    def test_pairs_that_have_the_words_are_shown(self, visit, width):
        page = visit("translate", viewport={"width": width, "height": 800})
        page.click("text=Why?")
        page.wait_for_selector(".origins mark", timeout=60_000)
        assert page.locator(".origins li").count() == 5
        marked = page.locator(".origins mark").all_text_contents()
        assert set(marked) <= set(TEXT)
        assert axe.Axe().run(page).violations_count == 0
        page.click("text=Why?")
        page.locator(".origins li").first.wait_for(state="detached")

    def test_the_words_can_be_selected(self, visit):
        page = visit("translate")
        page.hover(".output", position={"x": 2, "y": 35})
        page.mouse.down()
        page.hover(".output", position={"x": 500, "y": 35})
        page.mouse.up()
        text = page.evaluate("getSelection().toString()")
        assert text == page.text_content(".output") != ""


class AddressTest:
    def test_it_begins_with_a_sentence_of_dev(self, visit, address):
        page = visit("translate")
        page.goto(address)
        page.wait_for_selector(".word", timeout=60_000)
        examples = page.locator("#examples button")
        texts = examples.all_text_contents()
        assert len(texts) == 3 and page.input_value("#text") == texts[0]
        examples.nth(1).click()
        assert page.input_value("#text") == texts[1]

    def test_reload_and_back_keep_the_choices(self, visit):
        page = visit("translate")
        output = page.locator(".output")
        before = output.text_content()
        page.click(".word >> nth=1")
        page.click(".choices button >> nth=1", timeout=60_000)
        page.wait_for_selector(".word.fixed", timeout=60_000)
        after = output.text_content()
        page.reload()
        page.wait_for_selector(".word.fixed", timeout=60_000)
        assert output.text_content() == after != before
        page.go_back()
        playwright.expect(output).to_have_text(before, timeout=60_000)
        page.go_forward()
        page.wait_for_selector(".word.fixed", timeout=60_000)
        page.click("nav >> text=Search")
        page.wait_for_selector(".node[data-step]", timeout=60_000)
        page.locator("input[type=range] >> nth=0").fill("2")
        page.click("nav >> text=Translate")
        page.wait_for_selector(".word.fixed", timeout=60_000)
        page.go_back()
        assert page.locator("output >> nth=0").text_content() == "2"

    def test_attention_keeps_kind_layer_and_heads(self, visit):
        page = visit("attention")
        page.frames[1].click("#kinds label >> nth=0", timeout=60_000)
        page.frames[1].click("[data-head='1']")
        kept = "#kind=encoder&layer=1&heads=1"
        with page.expect_event(
            "framenavigated", lambda frame: frame.url.endswith(kept)
        ):
            page.fill("#text", "a b c")


class SearchTest:
    def test_arrow_keys_move_and_tell_why(self, visit):
        page = visit("search")
        page.locator(".node[data-step] >> nth=0").focus()
        assert "Kept: number 1" in page.text_content(".details")
        for _ in range(7):
            page.keyboard.press("ArrowDown")
        assert "Cut off" in page.text_content(".details")

    def test_the_slider_searches_again(self, visit):
        page = visit("search")
        rows = '.node[data-step="0"]'
        assert page.locator(rows).count() == 8
        page.locator("input[type=range] >> nth=0").fill("2")
        playwright.expect(page.locator(rows)).to_have_count(4, timeout=60_000)

    def test_a_long_search_can_be_stopped(self, visit):
        page = visit("search", "a b c d " * 100, waits=False)
        page.click("#stop", timeout=60_000)
        assert page.text_content("#status") == "Stopped."
        page.fill("#text", TEXT)
        page.wait_for_selector(".node[data-step]", timeout=60_000)


class TrainingTest:
    def test_the_pointer_reads_values(self, visit):
        page = visit("training")
        page.hover(".chart >> nth=0", position={"x": 60, "y": 60})
        values = page.text_content(".values >> nth=0")
        assert values.startswith("update 1: this train 3.00")

    def test_new_rows_appear_while_the_page_is_open(
        self, visit, translation_runs
    ):
        page = visit("training")
        path = pathlib.Path(translation_runs[0]) / "metrics.csv"
        before = path.read_text()
        path.write_text(before + ",,\n500,0.5,,\n")
        try:
            page.wait_for_selector("text=500 updates", timeout=20_000)
        finally:
            path.write_text(before)


class AttentionTest:
    def test_weights_that_are_gone_are_not_drawn(self, visit, address):
        page = visit("attention")
        frame = page.frames[1]
        frame.wait_for_selector("#matrix image", timeout=60_000)
        for _ in range(8):
            page.request.post(f"{address}api/attention", data={"text": "a"})
        frame.click("#kinds label >> nth=0")
        alert = frame.wait_for_selector("[role=alert]", timeout=60_000)
        assert "no longer kept" in alert.text_content()
        assert not frame.locator("#matrix, #overview").count()

    def test_512_tokens_are_drawn(self, visit):
        page = visit("attention", "a b c d e f g h " * 63)
        frame = page.frames[1]
        frame.wait_for_selector("#matrix image", timeout=60_000)
        assert frame.locator("#queries .token").count() > 400


class CompareTest:
    def test_a_checkpoint_that_the_trainer_deleted_is_compared(
        self, visit, serve, translation_runs, tmp_path
    ):
        paths = [
            shutil.copytree(path, tmp_path / pathlib.Path(path).name)
            for path in translation_runs
        ]
        at = serve(list(map(str, paths)))
        page = visit("translate", at=at)
        for checkpoint in (paths[0] / "checkpoints").glob("ckpt-*.npz"):
            checkpoint.unlink()
        page = visit("compare", at=at)
        page.wait_for_selector(".grid .translation", timeout=60_000)
        assert page.locator(".grid h2").count() == 2


class ExplanationTest:
    def test_a_long_sentence_is_shown_in_part(self, visit):
        page = visit("explain", " ".join("abcdefgh" * 5))
        assert "of 41 tokens are shown" in page.text_content("#view .faint")


def test_a_view_is_saved_when_it_is_complete(visit, tmp_path):
    page = visit("translate", waits=False)
    with page.expect_download(timeout=60_000) as download:
        page.click("#save")
    download.value.save_as(tmp_path / "view.html")
    saved = (tmp_path / "view.html").read_text("utf-8")
    assert 'class="word"' in saved and page.text_content(".word") in saved


@pytest.mark.parametrize("name", VIEWS)
def test_a_saved_view_works_without_the_server(visit, chromium, name, tmp_path):
    page = visit(name)
    if name == "compare":
        page.click(".set button")
        page.wait_for_selector(".sentence", timeout=60_000)
    with page.expect_download() as download:
        page.click("#save")
    path = tmp_path / "view.html"
    download.value.save_as(path)
    requests = []
    saved = chromium.new_page(offline=True)
    saved.on("request", lambda request: requests.append(request.url))
    saved.goto(path.as_uri())
    text = re.sub(r"\s+", " ", saved.text_content("body"))
    assert TEXT in text or name in ("attention", "compare", "training")
    shown = {"attention": "#matrix image", "compare": "h2"}
    assert saved.locator(shown.get(name, VIEWS[name])).count()
    assert not saved.locator(".live").count()
    others = [url for url in requests if not url.startswith(("file:", "data:"))]
    assert not others
    saved.close()


class LeftViewTest:
    def test_its_polls_end_while_an_answer_is_on_its_way(self, visit):
        page = visit("training")
        page.evaluate(
            """() => {
                const {fetch} = window;
                window.fetch = async (path, ...options) => {
                    const answer = await fetch(path, ...options);
                    if (path.endsWith("training")) {
                        location.hash = "#search?text=a";
                        await new Promise((go) => setTimeout(go, 300));
                    }
                    return answer;
                };
            }"""
        )
        page.wait_for_selector("body.search", timeout=60_000)
        asked = []
        page.on("request", lambda one: asked.append(one.url))
        page.wait_for_timeout(4000)
        assert not [url for url in asked if url.endswith("training")]
