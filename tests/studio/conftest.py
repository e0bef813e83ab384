"""Studios whose models need no training, and their pages in Chromium."""

import urllib.parse

import pytest
from studio_runs import TEXT
from studio_runs import VIEWS
from studio_runs import make_parsing_run
from studio_runs import make_translation_runs
from watched_pages import watch_pages

from keras_transformer.serving.http_server import HttpServer
from keras_transformer.studio.app import StudioApp
from keras_transformer.studio.models import Studio


@pytest.fixture(scope="session")
def translation_runs(tmp_path_factory):
    return make_translation_runs(tmp_path_factory.mktemp("translation"))


@pytest.fixture(scope="session")
def parsing_run(tmp_path_factory):
    return make_parsing_run(tmp_path_factory.mktemp("parsing"))


@pytest.fixture(scope="session")
def studio(translation_runs):
    return Studio(translation_runs)


@pytest.fixture(scope="session")
def parsing_studio(parsing_run):
    return Studio([parsing_run])


@pytest.fixture(scope="module")
def serve():
    """Returns a function that serves runs, and returns the address."""
    servers = []

    def serve(paths, memory=None):
        app = StudioApp(Studio(paths, memory=memory))
        server = HttpServer(app, "localhost", 0, name="kt-studio")
        server.start()
        servers.append(server)
        return f"http://localhost:{server.port}/"

    yield serve
    for server in servers:
        server.stop(5)


@pytest.fixture(scope="module")
def address(serve, translation_runs):
    return serve(translation_runs)


@pytest.fixture(scope="module")
def parser_address(serve, parsing_run):
    return serve([parsing_run])


@pytest.fixture
def visit(chromium, address):
    """Returns a function that opens a view and waits for its answer."""

    def is_expected(message):
        # The browser reports a refused request.
        endings = ("(Bad Request)", "(Not Found)")
        return message.type != "error" or message.text.endswith(endings)

    with watch_pages(chromium, is_expected) as make_page:

        def visit(name, text=TEXT, at=address, waits=True, **options):
            page = make_page(at, **options)
            page.goto(f"{at}#{name}?text={urllib.parse.quote(text)}")
            page.wait_for_selector("nav a")
            if waits:
                answer = VIEWS.get(name, "#view svg")
                page.wait_for_selector(answer, timeout=60_000)
            return page

        yield visit
