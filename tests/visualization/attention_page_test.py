"""Tests the file of the attention page and its behaviour in a browser."""

import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest
from attention_examples import Page
from attention_examples import decoded
from attention_examples import random_attention

from keras_transformer.decoding.engines.attention import Attention
from keras_transformer.visualization.attention_page import attention_page
from keras_transformer.visualization.attention_page import write_attention_page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
EVIL = (
    "</script><img src=x onerror=\"alert('a')\"><!-- &lt; {{script}} $1 \\u2028"
)
# Headless Chromium has no window as narrow as a phone, but a frame can be.
FRAME = """<body><script>
addEventListener("message", (e) => { document.body.title =
  JSON.stringify(e.data); });
</script><iframe src="page.html" style="border: 0; width: %dpx"></iframe>"""


ATTENTION = random_attention(
    ["▁A", "▁brown", "▁dog", "gy", "(end)"], ["▁Ein", "▁Hund", "(end)"]
)
DEEP_SHALLOW = random_attention(
    ["▁A", "▁dog", "(end)"], ["▁Ein", "(end)"], num_layers=3, decoder_depth=1
)


class AttentionPageTest:
    @pytest.mark.parametrize("attention", [ATTENTION, DEEP_SHALLOW])
    def test_it_holds_all_weights_and_labels(self, attention):
        page = Page(attention_page(attention))
        assert page.data["heads"] == 3
        names = [kind["name"] for kind in page.data["kinds"]]
        assert names == ["encoder", "decoder", "cross"]
        for kind in page.data["kinds"]:
            queries, keys, weights = attention.select(kind["name"])
            assert (kind["queries"], kind["keys"]) == (queries, keys)
            assert kind["layers"] == len(weights)
            np.testing.assert_allclose(
                decoded(attention, kind), weights, rtol=0, atol=0.51 / 65535
            )

    def test_weights_of_zero_and_one_are_exact(self):
        array = np.zeros((1, 1, 2, 2), "float32")
        array[..., 0] = 1.0
        attention = Attention(["a", "b"], ["a", "b"], array, array, array)
        for kind in Page(attention_page(attention)).data["kinds"]:
            np.testing.assert_array_equal(decoded(attention, kind), array)

    def test_the_heading_keeps_its_lines(self):
        page = Page(attention_page(ATTENTION, "A dog\n→ Ein Hund"))
        assert page.texts["h1"] == page.texts["title"]
        assert page.texts["h1"] == ["A dog\n→ Ein Hund"]

    def test_it_makes_no_network_request(self):
        text = attention_page(ATTENTION)
        for tag, attributes in Page(text).elements:
            assert tag != "link"
            assert not {"src", "href"} & attributes.keys()
        for word in ("@import", "url(", "fetch(", "XMLHttp", "import("):
            assert word not in text
        # The namespace of SVG elements; no browser requests it.
        addresses = set(re.findall(r"https?://[^\"' ]+", text))
        assert addresses == {"http://www.w3.org/2000/svg"}
        assert "default-src 'none'" in text

    def test_any_text_is_harmless(self):
        tokens = [EVIL, "▁<b>", "{{title}}", "\u2028", "\ud7ff🙂", "(end)"]
        attention = random_attention(tokens, tokens)
        page = Page(attention_page(attention, title=EVIL))
        expected = Page(attention_page(ATTENTION))
        tags = [tag for tag, _ in page.elements]
        assert tags == [tag for tag, _ in expected.elements]
        assert page.data["kinds"][0]["queries"] == tokens
        assert page.texts["title"] == page.texts["h1"] == [EVIL]
        assert page.texts["script"][1] == expected.texts["script"][1]

    def test_it_is_small_for_a_base_model(self):
        tokens = ["▁token"] * 30
        attention = random_attention(tokens, tokens, 6, 8)
        assert len(attention_page(attention)) < 400_000

    def test_a_file_is_written_whole_or_not_at_all(self, tmp_path):
        path = tmp_path / "page.html"
        write_attention_page(ATTENTION, str(path), "Title")
        assert path.read_text("utf-8") == attention_page(ATTENTION, "Title")
        broken = ATTENTION._replace(cross=None)
        with pytest.raises(AttributeError):
            write_attention_page(broken, str(path))
        assert os.listdir(tmp_path) == ["page.html"]
        assert "Title" in path.read_text("utf-8")


@pytest.fixture
def browse(tmp_path):
    """Returns a function that opens a page and returns its elements."""

    def open_page(
        attention, address="", script="", title="Page", frame_width=None
    ):
        text = attention_page(attention, title)
        watch = "addEventListener('error', e => fail(e.message));"
        watch += "const fail = (m) => document.documentElement.append("
        watch += "Object.assign(document.createElement('q'), {title: m}));"
        text = text.replace("<title>", f"<script>{watch}</script><title>", 1)
        after = "const say = (value) => parent.postMessage(value, '*');"
        after += f"addEventListener('load', () => {{ {script} }});"
        text = text.replace("</body>", f"<script>{after}</script></body>")
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        if frame_width:
            path = tmp_path / "frame.html"
            path.write_text(FRAME % frame_width)
        done = subprocess.run(
            [
                *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu"),
                *("--no-first-run", "--disable-background-networking"),
                *("--disable-component-update", "--disable-sync"),
                f"--user-data-dir={tmp_path / 'profile'}",
                *("--virtual-time-budget=2000", "--dump-dom"),
                f"{path.as_uri()}#{address}",
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        elements = Page(done.stdout).elements
        failures = [a["title"] for tag, a in elements if tag == "q"]
        assert not failures
        return elements

    return open_page


def lines_of(elements):
    """Returns the opacities of the visible lines by the number of the head."""
    shown, head, is_shown = {}, None, False
    for tag, attributes in elements:
        if attributes.get("id") in ("all-lines", "token-lines"):
            is_shown = "none" not in attributes.get("style", "")
        if "data-lines" in attributes:
            head = int(attributes["data-lines"])
            if is_shown:
                shown[head] = []
        if tag == "line" and is_shown:
            shown[head].append(float(attributes["stroke-opacity"]))
    return shown


def focused_tokens(elements):
    """Returns side and index of each highlighted token."""
    return [
        (attributes["data-side"], int(attributes["data-index"]))
        for tag, attributes in elements
        if "token focused" in attributes.get("class", "")
    ]


SAY_ADDRESS = "document.body.dataset.address = location.hash;"


def address_of(elements):
    return dict(elements)["body"]["data-address"]


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
class BrowserTest:
    def test_lines_are_the_weights_of_the_chosen_layer_and_head(self, browse):
        elements = browse(ATTENTION, "kind=encoder&layer=1&heads=2")
        weights = ATTENTION.encoder[0, 1].ravel()
        ((head, opacities),) = lines_of(elements).items()
        assert head == 2
        np.testing.assert_allclose(
            opacities, weights[weights >= 0.01], atol=1e-3
        )

    @pytest.mark.parametrize("side", ["query", "key"])
    def test_a_token_in_the_address_shows_its_lines_only(self, browse, side):
        elements = browse(ATTENTION, f"kind=cross&layer=2&{side}=2")
        lines = lines_of(elements)
        assert list(lines) == [1, 2, 3]
        for head, opacities in lines.items():
            weights = ATTENTION.cross[1, head - 1]
            weights = weights[1] if side == "query" else weights[:, 1]
            np.testing.assert_allclose(
                opacities, weights[weights >= 0.002], atol=1e-3
            )
        sides = {"query": "queries", "key": "keys"}
        assert focused_tokens(elements) == [(sides[side], 1)]

    def test_heads_are_toggled_and_chosen_alone(self, browse):
        click = "const click = (head, type, shiftKey) => document"
        click += ".querySelector(`#heads [data-head='${head - 1}']`)"
        click += ".dispatchEvent(new MouseEvent(type, {shiftKey}));"
        steps = {
            "click(2, 'click');": [1, 3],
            "click(2, 'click'); click(2, 'click');": [1, 2, 3],
            "click(3, 'dblclick');": [3],
            "click(1, 'click', true);": [1],
        }
        for script, heads in steps.items():
            elements = browse(ATTENTION, "", click + script)
            assert list(lines_of(elements)) == heads

    def test_keys_move_and_keep_and_the_address_follows(self, browse):
        press = "const press = (key) => document.activeElement"
        press += ".dispatchEvent(new KeyboardEvent('keydown',"
        press += " {key, bubbles: true}));"
        start = "document.querySelector('#queries .token').focus();"
        down = "press('ArrowDown');"
        elements = browse(
            ATTENTION,
            "kind=encoder&layer=1",
            press + start + down + down + "press('ArrowRight'); press('Enter');"
            "document.activeElement.blur();" + SAY_ADDRESS,
        )
        assert focused_tokens(elements) == [("keys", 2)]
        assert address_of(elements) == "#kind=encoder&layer=1&key=3"
        elements = browse(
            ATTENTION,
            "kind=encoder&layer=1&key=3",
            press + "press('Escape');" + SAY_ADDRESS,
        )
        assert focused_tokens(elements) == []
        assert address_of(elements) == "#kind=encoder&layer=1"

    def test_kind_and_layer_are_chosen_with_radio_buttons(self, browse):
        choose = "document.querySelectorAll('#kinds input')[1].click();"
        choose += "document.querySelectorAll('#layers input')[0].click();"
        elements = browse(ATTENTION, "", choose + SAY_ADDRESS)
        assert address_of(elements) == "#kind=decoder&layer=1"
        lines = lines_of(elements)
        weights = ATTENTION.decoder[0, 2].ravel()
        np.testing.assert_allclose(
            lines[3], weights[weights >= 0.01], atol=1e-3
        )

    def test_each_kind_has_the_layers_of_its_stack(self, browse):
        count = "document.body.dataset.shown = [...document.querySelectorAll("
        count += "'#layers label')].filter((e) => e.style.display !== 'none')"
        count += ".length;"
        elements = browse(DEEP_SHALLOW, "kind=encoder&layer=3", count)
        assert dict(elements)["body"]["data-shown"] == "3"
        choose = "document.querySelectorAll('#kinds input')[2].click();"
        elements = browse(
            DEEP_SHALLOW,
            "kind=encoder&layer=3",
            choose + count + SAY_ADDRESS,
        )
        assert dict(elements)["body"]["data-shown"] == "1"
        assert address_of(elements) == "#kind=cross&layer=1"
        weights = DEEP_SHALLOW.cross[0, 2].ravel()
        np.testing.assert_allclose(
            lines_of(elements)[3], weights[weights >= 0.01], atol=1e-3
        )

    def test_the_matrix_names_a_cell_only_while_it_is_pointed_at(self, browse):
        script = """
            const matrix = document.getElementById("matrix");
            const {left, top, width, height} = matrix.getBoundingClientRect();
            const captions = [];
            const point = (type, x, y) => {
              matrix.dispatchEvent(new PointerEvent(
                type, {clientX: left + x, clientY: top + y}));
              captions.push(
                document.querySelector("#matrix-title small").textContent);
            };
            point("pointermove", 1, 1);
            point("pointermove", width - 5, height - 5);
            point("pointermove", 1, height - 5);
            point("pointermove", width - 5, height - 5);
            point("pointerleave", 0, 0);
            document.body.dataset.captions = JSON.stringify(captions);
        """
        elements = browse(ATTENTION, "kind=cross&layer=1&heads=2", script)
        captions = json.loads(dict(elements)["body"]["data-captions"])
        cell = f"(end) → (end): {ATTENTION.cross[0, 1, 2, 4]:.3f}"
        usual = "weights of head 2"
        assert captions == [usual, cell, usual, cell, usual]

    def test_the_theme_is_in_the_address(self, browse):
        theme = "document.documentElement.dataset.theme"
        elements = browse(
            ATTENTION,
            "kind=encoder&layer=1&theme=dark",
            f"document.body.dataset.before = {theme};"
            "document.getElementById('theme').click();"
            f"document.body.dataset.after = {theme};" + SAY_ADDRESS,
        )
        body = dict(elements)["body"]
        assert (body["data-before"], body["data-after"]) == ("dark", "light")
        assert address_of(elements) == "#kind=encoder&layer=1&theme=light"

    def test_later_tokens_are_shown_as_masked(self, browse):
        elements = browse(ATTENTION, "kind=decoder&layer=1&query=1")
        tokens = [a for _, a in elements if "masked" in a.get("class", "")]
        places = [(a["data-side"], int(a["data-index"])) for a in tokens]
        assert places == [("keys", 1), ("keys", 2)]
        # Three cells of a matrix with three rows lie above its diagonal.
        (hatching,) = (a for _, a in elements if a.get("class") == "hatching")
        assert hatching["d"].count("M") == 3

    def test_nothing_is_cut_off_on_a_phone(self, browse):
        tokens = ["▁Donaudampfschifffahrtsgesellschaft", "▁a", "(end)"] * 15
        elements = browse(
            random_attention(tokens, tokens),
            "",
            "const ends = [...document.querySelectorAll('.token')]"
            ".map((e) => e.getBoundingClientRect().right);"
            "const {scrollWidth, clientWidth} = document.documentElement;"
            "say([Math.max(...ends), scrollWidth, clientWidth]);",
            frame_width=390,
        )
        message = dict(elements)["body"]["title"]
        last, page_width, window_width = json.loads(message)
        assert last < page_width == window_width <= 390

    def test_wrong_values_in_the_address_are_ignored(self, browse):
        address = "kind=none&layer=99&heads=7,x&query=0&theme=<b>"
        elements = browse(ATTENTION, address)
        assert lines_of(elements) == {}
        assert focused_tokens(elements) == []

    def test_no_text_becomes_an_element(self, browse):
        tokens = [EVIL, "▁<b>", "<0x3C>", "(end)"]
        attention = random_attention(tokens, tokens)
        elements = browse(attention, "query=1", title=EVIL)
        tags = {tag for tag, _ in elements}
        assert not tags & {"img"}
        assert len([a for _, a in elements if a.get("title") == EVIL]) >= 2

    def test_every_head_of_the_layer_has_a_map(self, browse):
        elements = browse(random_attention(["a"] * 70, ["b"] * 70, 1, 16))
        maps = [a["data-map"] for _, a in elements if "data-map" in a]
        assert maps == [str(head) for head in range(1, 17)]
