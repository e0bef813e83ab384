import bz2
import contextlib
import gzip
import hashlib
import io
import lzma
import os
import re
import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.data.cleaning.rules import is_broken
from keras_transformer.data.text import text_files


def pack_zip(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("text", content)
    return file.getvalue()


LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\ufeff"))
PACKED = {"bzip2": bz2.compress, "xz": lzma.compress, "zip": pack_zip}


def write(path, content):
    path.write_bytes(content)
    return str(path)


@contextlib.contextmanager
def piped(tmp_path, content):
    """Yields the path of a named pipe that another thread writes to."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(path.write_bytes, content)
        yield str(path)
        writing.result()
    path.unlink()


class ReadLinesTest:
    def test_lines_come_without_their_ends(self, tmp_path):
        path = write(tmp_path / "text", b"one\ntwo\n")
        assert list(text_files.read_lines(path)) == ["one", "two"]

    @given(
        st.lists(LINE, min_size=1),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from(["utf-8", "utf-8-sig"]),
    )
    def test_any_lines_come_back(self, lines, end, encoding):
        text = "".join(line + end for line in lines)
        file = io.BytesIO(text.encode(encoding))
        assert list(text_files.split_lines(file, "text")) == lines

    def test_last_line_needs_no_end(self, tmp_path):
        path = write(tmp_path / "text", b"one\ntwo")
        assert list(text_files.read_lines(path)) == ["one", "two"]

    def test_empty_lines_are_kept(self, tmp_path):
        path = write(tmp_path / "text", b"\none\n\n")
        assert list(text_files.read_lines(path)) == ["", "one", ""]

    def test_windows_line_ends_are_removed(self, tmp_path):
        path = write(tmp_path / "text", b"one\r\ntwo\r\n\r\n")
        assert list(text_files.read_lines(path)) == ["one", "two", ""]

    def test_byte_order_mark_is_removed_at_the_start_only(self, tmp_path):
        path = write(tmp_path / "text", "\ufeffone\n\ufefftwo\n".encode())
        assert list(text_files.read_lines(path)) == ["one", "\ufefftwo"]

    def test_exact_lines_keep_both(self, tmp_path):
        content = "\ufeffone\r\n\r\ntwo".encode()
        for written in (content, gzip.compress(content)):
            path = write(tmp_path / "text", written)
            lines = list(text_files.read_lines(path, exact=True))
            assert lines == ["\ufeffone\r", "\r", "two"]

    def test_other_separators_do_not_end_a_line(self, tmp_path):
        sentence = "a\u2028b\u0085c\x0bd\x0ce\rf\u2029g"
        path = write(tmp_path / "text", f"{sentence}\nnext\n".encode())
        assert list(text_files.read_lines(path)) == [sentence, "next"]

    def test_gzip_reads_the_same_whatever_the_name(self, tmp_path):
        content = "\ufeffÄpfel\r\nBirnen\n".encode()
        for name in ("text.gz", "text"):
            path = write(tmp_path / name, gzip.compress(content))
            assert list(text_files.read_lines(path)) == ["Äpfel", "Birnen"]

    def test_invalid_utf8_names_file_and_line(self, tmp_path):
        path = write(tmp_path / "text.de", b"gut\n\xc3\xa4\xe4\n")
        with pytest.raises(ValueError, match=r"text\.de, line 2 .* 3 is 0xe4"):
            list(text_files.read_lines(path))

    def test_truncated_character_at_the_end_is_an_error(self, tmp_path):
        path = write(tmp_path / "text", b"gut\nsch\xc3")
        with pytest.raises(ValueError, match="line 2"):
            list(text_files.read_lines(path))

    def test_damaged_gzip_is_named(self, tmp_path):
        whole = gzip.compress(bytes(range(1, 128)) * 50)
        for content in (whole[:-9], whole[:20] + b"\xff" * 60, whole + b"rest"):
            path = write(tmp_path / "text.gz", content)
            with pytest.raises(ValueError, match=r"text\.gz is damaged"):
                list(text_files.read_lines(path))

    @pytest.mark.parametrize("program", PACKED)
    def test_other_compression_is_named(self, tmp_path, program):
        path = write(tmp_path / "text", PACKED[program](b"one\n"))
        with pytest.raises(ValueError, match=f"was compressed by {program}"):
            list(text_files.read_lines(path))

    def test_zero_bytes_are_not_text(self, tmp_path):
        path = write(tmp_path / "text", "gut\n".encode("utf-16-le"))
        with pytest.raises(ValueError, match="line 1 .* 2 is 0x00.* UTF-16"):
            list(text_files.read_lines(path))

    def test_a_single_zero_byte_is_a_fault_of_its_line(self, tmp_path):
        path = write(tmp_path / "text", b"a dog\na\0cat\n\0\nend\n")
        lines = list(text_files.read_lines(path))
        assert lines == ["a dog", "a\ufffdcat", "\ufffd", "end"]
        assert is_broken(lines[1])  # kt-clean drops the pair
        (_, cat, *_) = text_files.read_lines(path, exact=True)
        assert cat == "a\0cat"

    @pytest.mark.parametrize(
        "mark, encoding",
        [
            (b"", "latin-1"),
            (b"\xff\xfe", "utf-16-le"),
            (b"\xfe\xff", "utf-16-be"),
        ],
    )
    def test_the_advised_command_converts_the_text(
        self, tmp_path, mark, encoding
    ):
        content = mark + "grün\nÄpfel\n".encode(encoding)
        path = write(tmp_path / "text", content)
        with pytest.raises(ValueError, match="line 1 .*iconv") as caught:
            list(text_files.read_lines(path))
        command = re.search("iconv -f [^ ]+ -t UTF-8", str(caught.value))[0]
        converted = subprocess.check_output([*command.split(), path])
        path = write(tmp_path / "converted", converted)
        assert list(text_files.read_lines(path)) == ["grün", "Äpfel"]

    def test_a_pipe_is_read_once(self, tmp_path):
        for content in (b"one\ntwo\n", gzip.compress(b"one\ntwo\n")):
            with piped(tmp_path, content) as path:
                assert list(text_files.read_lines(path)) == ["one", "two"]

    def test_a_line_without_an_end_does_not_fill_the_memory(self):
        lines = text_files.read_lines("/dev/zero", "surrogateescape")
        with pytest.raises(ValueError, match="/dev/zero, line 1, which has m"):
            list(lines)

    def test_the_longest_line_is_read(self, tmp_path, monkeypatch):
        monkeypatch.setattr(text_files, "MAX_LINE_BYTES", 5)
        path = write(tmp_path / "text", b"\n1234\n12345\n")
        lines = text_files.read_lines(path)
        assert [next(lines), next(lines)] == ["", "1234"]
        with pytest.raises(ValueError, match="at most 5 .*, line 3,.*xmllint"):
            next(lines)

    def test_a_gzip_bomb_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr(text_files, "MAX_GZIP_BYTES", 2**20)
        line = b"a" * 1023 + b"\n"
        path = write(tmp_path / "text.gz", gzip.compress(line * 4096))
        with pytest.raises(ValueError, match="at most 200 times.* bytes come"):
            list(text_files.read_lines(path))

    def test_missing_file_and_directory_are_errors(self, tmp_path):
        with pytest.raises(ValueError, match="none.de, which does not exist"):
            list(text_files.read_lines(str(tmp_path / "none.de")))
        with pytest.raises(ValueError, match="which is a directory"):
            list(text_files.read_lines(str(tmp_path)))


class PairsTest:
    def test_pairs_are_aligned_by_line(self, tmp_path):
        source = write(tmp_path / "en", b"one\n\nthree\n")
        target = write(tmp_path / "de", gzip.compress(b"eins\nzwei\ndrei"))
        assert list(text_files.read_rows(source, target)) == [
            ("one", "eins"),
            ("", "zwei"),
            ("three", "drei"),
        ]

    def test_unequal_counts_name_both_files_and_both_counts(self, tmp_path):
        longer = write(tmp_path / "text.en", b"1\n2\n3\n")
        shorter = write(tmp_path / "text.de", b"1\n2\n")
        for source, target in ((longer, shorter), (shorter, longer)):
            with pytest.raises(ValueError) as error:
                list(text_files.read_rows(source, target))
            assert "text.en with 3 lines" in str(error.value)
            assert "text.de with 2 lines" in str(error.value)

    def test_pipes_are_counted_while_they_are_read(self, tmp_path):
        target = write(tmp_path / "text.de", b"1\n2\n")
        with piped(tmp_path, b"1\n2\n3\n4\n") as source:
            with pytest.raises(ValueError, match="with 4 lines .*with 2 lines"):
                list(text_files.read_rows(source, target))

    def test_a_very_long_rest_is_not_counted_to_its_end(self, tmp_path):
        size = 5_000_000
        longer = write(tmp_path / "text.en", gzip.compress(b"\n" * size))
        shorter = write(tmp_path / "text.de", b"1\n2\n")
        lines = "text.en with more than 1,000,003 lines"
        with pytest.raises(ValueError, match=lines):
            list(text_files.read_rows(longer, shorter))
        with pytest.raises(ValueError, match="more than 1,000,002 lines"):
            text_files.read_parallel_lines(longer, 2, "a text")

    def test_every_message_is_one_line(self, tmp_path):
        source = write(tmp_path / "text.en", b"1\n")
        target = write(tmp_path / "text.de", b"")
        with pytest.raises(ValueError) as error:
            list(text_files.read_rows(source, target))
        assert "\n" not in str(error.value)


class Sha256Test:
    def test_hash_is_of_the_bytes_on_disk(self, tmp_path):
        content = gzip.compress(b"one\n")
        path = write(tmp_path / "text.gz", content)
        assert text_files.sha256(path) == hashlib.sha256(content).hexdigest()


class CheckRereadableTest:
    def test_only_regular_files_pass(self, tmp_path):
        text_files.check_rereadable([write(tmp_path / "text", b"")])
        for path in ("/dev/null", str(tmp_path)):
            with pytest.raises(
                ValueError, match=f"{path} more than once, because it is"
            ):
                text_files.check_rereadable([path])
