import gzip
import hashlib

import pytest

from keras_transformer.data import text_files


def write(path, content):
    path.write_bytes(content)
    return str(path)


class ReadLinesTest:
    def test_lines_come_without_their_ends(self, tmp_path):
        path = write(tmp_path / "text", b"one\ntwo\n")
        assert list(text_files.read_lines(path)) == ["one", "two"]

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
        with pytest.raises(ValueError, match=r"text\.de, line 2, .* 3 is 0xe4"):
            list(text_files.read_lines(path))

    def test_truncated_character_at_the_end_is_an_error(self, tmp_path):
        path = write(tmp_path / "text", b"gut\nsch\xc3")
        with pytest.raises(ValueError, match="line 2"):
            list(text_files.read_lines(path))

    def test_damaged_gzip_is_named(self, tmp_path):
        whole = gzip.compress(bytes(range(128)) * 50)
        for content in (whole[:-9], whole[:20] + b"\xff" * 60, whole + b"rest"):
            path = write(tmp_path / "text.gz", content)
            with pytest.raises(ValueError, match=r"text\.gz, damaged"):
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
        assert list(text_files.read_pairs(source, target)) == [
            ("one", "eins"),
            ("", "zwei"),
            ("three", "drei"),
        ]
        assert text_files.count_pairs(source, target) == (3, 2)

    def test_unequal_counts_name_both_files_and_both_counts(self, tmp_path):
        longer = write(tmp_path / "text.en", b"1\n2\n3\n")
        shorter = write(tmp_path / "text.de", b"1\n2\n")
        for source, target in ((longer, shorter), (shorter, longer)):
            with pytest.raises(ValueError) as error:
                list(text_files.read_pairs(source, target))
            assert "text.en with 3 lines" in str(error.value)
            assert "text.de with 2 lines" in str(error.value)

    @pytest.mark.parametrize("content", [b"", b"\n \n\t\n"])
    def test_no_text_at_all_is_an_error(self, tmp_path, content):
        source = write(tmp_path / "text.en", content)
        target = write(tmp_path / "text.de", content)
        with pytest.raises(ValueError, match="text.en and"):
            text_files.count_pairs(source, target)

    def test_every_message_is_one_line(self, tmp_path):
        source = write(tmp_path / "text.en", b"1\n")
        target = write(tmp_path / "text.de", b"")
        with pytest.raises(ValueError) as error:
            text_files.count_pairs(source, target)
        assert "\n" not in str(error.value)


class Sha256Test:
    def test_hash_is_of_the_bytes_on_disk(self, tmp_path):
        content = gzip.compress(b"one\n")
        path = write(tmp_path / "text.gz", content)
        assert text_files.sha256(path) == hashlib.sha256(content).hexdigest()
