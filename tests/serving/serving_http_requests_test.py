import io

import pytest

from keras_transformer.serving import limits
from keras_transformer.serving.http_requests import HttpError
from keras_transformer.serving.http_requests import read_head


def head(*lines, line="POST /v1/models/toy:predict HTTP/1.1"):
    content = "".join(f"{each}\r\n" for each in (line, *lines, ""))
    return read_head(io.BytesIO(content.encode("latin-1")))


def assert_refused(status, *lines, **options):
    with pytest.raises(HttpError) as error:
        head(*lines, **options)
    assert error.value.http_status == status
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


class HeadTest:
    def test_fields_are_read(self):
        received = head(
            "hOST: x", "content-LENGTH:\t17 ", "Expect: 100-Continue"
        )
        assert received.method == "POST"
        assert received.path == "/v1/models/toy:predict"
        assert received.body_length == 17
        assert received.keeps_alive
        assert received.expects_continue

    def test_a_query_a_host_and_an_empty_line_before_are_no_part_of_it(self):
        content = b"\r\nGET http://h:1/a%20b?c=d HTTP/1.0\r\n\r\nrest"
        file = io.BytesIO(content)
        received = read_head(file)
        assert (received.path, received.keeps_alive) == ("/a%20b", False)
        assert file.read() == b"rest"

    @pytest.mark.parametrize(
        "version, option, keeps_alive",
        [
            ("1.1", "Close", False),
            ("1.1", "x, close", False),
            ("1.1", "keep-alive", True),
            ("1.0", "Keep-Alive", True),
        ],
    )
    def test_a_client_can_ask_to_close(self, version, option, keeps_alive):
        line = f"GET / HTTP/{version}"
        received = head(f"Connection: {option}", line=line)
        assert received.keeps_alive == keeps_alive

    @pytest.mark.parametrize(
        "line, status",
        [
            ("GET http://[/x HTTP/1.1", 400),
            ("GET /", 400),  # HTTP/0.9
            ("GET / HTTP/2.0", 505),
            ("GET / HTTP/1.1 x", 400),
            ("GET  / HTTP/1.1", 400),
            ("get / HTTP/1.1", 400),
            ("GET /\0 HTTP/1.1", 400),
            ("GET /ä HTTP/1.1", 400),
            ("GET / HTTP/1.1\rX: y", 400),
            ("\x16\x03\x01\x02\0\x01\0", 400),  # the start of TLS
            (f"GET /{'x' * limits.MAX_LINE_BYTES} HTTP/1.1", 414),
        ],
    )
    def test_malformed_request_lines_are_refused(self, line, status):
        assert_refused(status, line=line)

    @pytest.mark.parametrize(
        "value",
        ["+5", "-1", "5_0", " 5 0", "0x5", "5,5", "", "5.0", "²", "5" * 19],
    )
    def test_a_content_length_is_digits_alone(self, value):
        assert_refused(400, f"Content-Length: {value}")

    @pytest.mark.parametrize(
        "lines",
        [
            ["Content-Length: 5", "Content-Length: 6"],
            ["Content-Length: 5", "content-length: 5"],
            ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
            ["Transfer-Encoding: chunked", "Content-Length: 5"],
            ["Transfer-Encoding: identity", "Content-Length: 5"],
            ["Host: a", "Host: b"],
            ["Content-Length : 5"],
            ["X: y", " Content-Length: 5"],
            ["X: y\0"],
            ["X: y\rContent-Length: 5"],
            ["no colon"],
            [": no name"],
        ],
    )
    def test_headers_that_can_be_read_in_two_ways_are_refused(self, lines):
        assert_refused(400, *lines)

    def test_a_body_of_unknown_length_is_refused(self):
        assert_refused(411, "Transfer-Encoding: chunked")

    def test_other_expectations_are_refused(self):
        assert_refused(417, "Expect: miracles")

    def test_a_body_has_a_largest_length(self):
        most = limits.MAX_BODY_BYTES
        assert head(f"Content-Length: {most}").body_length == most
        assert_refused(413, f"Content-Length: {most + 1}")

    def test_headers_have_a_largest_number_and_size(self):
        most = [f"X-{i}: y" for i in range(limits.MAX_HEADERS)]
        assert head(*most)
        assert_refused(431, *most, "One: more")
        assert_refused(431, *[f"X: {'y' * 4096}"] * 10)
        assert_refused(431, f"X: {'y' * limits.MAX_HEADER_BYTES}")

    @pytest.mark.parametrize("content", [b"", b"GET", b"GET / HTTP/1.1\r\nX"])
    def test_a_client_may_disconnect_at_any_byte(self, content):
        with pytest.raises(ConnectionAbortedError):
            read_head(io.BytesIO(content))
