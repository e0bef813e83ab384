"""Encrypted connections, with a certificate that signs itself."""

import contextlib

import pytest
import toy_saved_model as toy
from certificates import make_certificate

from keras_transformer.errors import UserError
from keras_transformer.serving import client
from keras_transformer.serving.server import Server


@pytest.fixture(scope="module")
def tls(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"), "server")


@pytest.fixture(scope="module")
def server(tls, tmp_path_factory):
    export_dir = str(tmp_path_factory.mktemp("export"))
    server = toy.start_server(export_dir, port=0, rest_api_port=0, tls=tls)
    yield server
    server.stop()


@pytest.fixture(params=["rest", "grpc"])
def connect(request, server):
    """Returns a function that connects with the scheme of an address."""
    with contextlib.ExitStack() as stack:

        def connect(scheme):
            port = server.port
            if request.param == "rest":
                port = server.rest_api_port
            address = f"{scheme}://localhost:{port}"
            ask = client.connect(address, request.param, "toy")
            return stack.enter_context(contextlib.closing(ask))

        yield connect


class TlsTest:
    def test_a_client_that_trusts_the_certificate_is_answered(
        self, connect, tls, monkeypatch
    ):
        monkeypatch.setenv("SSL_CERT_FILE", tls[0])
        assert connect("https")(["x"]).translations[0][0] == toy.best("x")

    def test_a_client_that_does_not_trust_it_sends_nothing(
        self, connect, tmp_path, monkeypatch
    ):
        other, _ = make_certificate(tmp_path, "other")
        monkeypatch.setenv("SSL_CERT_FILE", other)
        with pytest.raises(UserError, match="No answer from localhost"):
            connect("https")(["x"])

    def test_a_client_without_encryption_is_not_answered(self, connect):
        with pytest.raises(UserError, match="No answer from localhost"):
            connect("http")(["x"])

    def test_the_addresses_name_the_scheme(self, server):
        assert (
            f"https://localhost:{server.rest_api_port}"
            in server.list_addresses()
        )

    def test_files_that_do_not_belong_together_are_refused(self, tls, tmp_path):
        _, other_key = make_certificate(tmp_path, "other")
        toy.write_version(str(tmp_path), 1)
        for pair in ((tls[0], other_key), (tls[1], tls[0])):
            with pytest.raises(UserError, match="`tls_certificate` and"):
                Server(str(tmp_path), rest_api_port=0, tls=pair)
        with pytest.raises(FileNotFoundError, match="missing.pem"):
            Server(str(tmp_path), tls=(str(tmp_path / "missing.pem"), tls[1]))
