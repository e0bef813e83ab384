"""Pages of other origins that translate in Chromium."""

import contextlib
import functools
import http.server
import threading

import pytest
import toy_saved_model as toy

from keras_transformer.serving.server import Server

pytestmark = [pytest.mark.slow, pytest.mark.browser]
# JSON makes a browser ask first whether it may; a form does not.
ASK = """async ([address, isForm]) => {
    const fields = {q: "a dog", source: "en", target: "de"};
    const json = {"Content-Type": "application/json", Authorization: "Bearer"};
    try {
        const response = await fetch(address + "/translate", isForm
            ? {method: "POST", body: new URLSearchParams(fields)}
            : {method: "POST", body: JSON.stringify(fields), headers: json});
        return (await response.json()).translatedText;
    } catch (error) {
        return error.name;
    }
}"""


@pytest.fixture(scope="module")
def origins(tmp_path_factory):
    """The addresses of two sites with an empty page."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text("<!doctype html><title>Site</title>")
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=str(folder)
    )
    with contextlib.ExitStack() as stack:
        addresses = []
        for _ in range(2):
            site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
            stack.enter_context(site)
            stack.callback(site.shutdown)
            threading.Thread(target=site.serve_forever).start()
            addresses.append(f"http://127.0.0.1:{site.server_port}")
        yield addresses


@pytest.fixture(scope="module")
def address(tmp_path_factory, origins):
    export_dir = str(tmp_path_factory.mktemp("export"))
    toy.write_version(export_dir, 1)
    server = Server(
        export_dir,
        rest_api_port=0,
        routes={("en", "de"): "translate"},
        allowed_origin=origins[0],
    )
    server.start()
    yield f"http://localhost:{server.rest_api_port}"
    server.stop()


@pytest.mark.parametrize("is_form", [False, True])
@pytest.mark.parametrize(
    "site, answer", [(0, toy.best("a dog")), (1, "TypeError")]
)
def test_only_a_page_of_the_allowed_origin_gets_a_translation(
    chromium, origins, address, site, answer, is_form
):
    page = chromium.new_page()
    page.goto(origins[site])
    assert page.evaluate(ASK, [address, is_form]) == answer
    page.close()
