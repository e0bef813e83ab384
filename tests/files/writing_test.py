import errno
import os

import pytest

from keras_transformer.errors import UserError
from keras_transformer.files import writing
from keras_transformer.files.writing import atomic_write
from keras_transformer.files.writing import atomic_write_together
from keras_transformer.files.writing import check_space


class WrittenAsideTest:
    def test_file_appears_when_complete(self, tmp_path):
        path = tmp_path / "a.txt"
        with atomic_write(str(path)) as file:
            file.write("ä\n")
            assert not path.exists()
        assert path.read_bytes() == "ä\n".encode()
        assert os.listdir(tmp_path) == ["a.txt"]

    def test_error_leaves_what_was_there(self, tmp_path):
        path = tmp_path / "a.txt"
        path.write_text("before")
        with pytest.raises(KeyError), atomic_write(str(path)) as file:
            file.write("after")
            raise KeyError
        assert path.read_text() == "before"
        assert os.listdir(tmp_path) == ["a.txt"]

    @pytest.mark.parametrize("content", ["ä\n", b"\xc3\xa4\n"])
    def test_a_whole_file_is_text_or_bytes(self, tmp_path, content):
        path = tmp_path / "a"
        writing.write_file(str(path), content)
        assert path.read_bytes() == b"\xc3\xa4\n"

    def test_bytes_are_written_as_they_are(self, tmp_path):
        path = tmp_path / "a"
        with atomic_write(str(path), "wb") as file:
            file.write(b"\r\n\xff")
        assert path.read_bytes() == b"\r\n\xff"

    def test_directory_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="Cannot replace .*Name a file"):
            with atomic_write(str(tmp_path)):
                pass

    def test_full_disk_leaves_the_earlier_file(self, tmp_path):
        path = tmp_path / "a"
        path.write_bytes(b"before")
        full = tmp_path / "a.kt-incomplete"
        full.symlink_to("/dev/full")  # every write to it fails for lack of room
        with pytest.raises(OSError, match="a: No space left.*Make room"):
            with atomic_write(str(path), "wb") as file:
                file.write(b"x" * 100_000)
        assert path.read_bytes() == b"before"
        assert os.listdir(tmp_path) == ["a"]

    def test_permissions_of_the_earlier_file_stay(self, tmp_path):
        path = tmp_path / "a"
        path.write_text("before")
        path.chmod(0o600)
        with atomic_write(str(path)):
            aside = tmp_path / f"a{writing.INCOMPLETE}"
            assert aside.stat().st_mode & 0o777 == 0o600
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_file_with_a_usual_name_beside_it_stays(self, tmp_path):
        names = ("a.incomplete", "space.incomplete")
        for name in names:
            (tmp_path / name).write_text("mine")
        check_space(str(tmp_path), 10)
        with atomic_write(str(tmp_path / "a")):
            pass
        assert [(tmp_path / name).read_text() for name in names] == ["mine"] * 2

    def test_space_is_found_before_it_is_needed(self, tmp_path, limit_files):
        limit_files(10_000)
        check_space(str(tmp_path), 10_000)
        with pytest.raises(OSError) as caught:
            check_space(str(tmp_path), 10_001)
        assert caught.value.errno == errno.EFBIG
        assert os.listdir(tmp_path) == []

    def test_limit_on_the_size_is_named_with_the_file(
        self, tmp_path, limit_files
    ):
        path = tmp_path / "a"
        path.write_bytes(b"before")
        limit_files(10_000)
        with pytest.raises(OSError, match="File too large.*still") as caught:
            with atomic_write(str(path), "wb") as file:
                file.write(b"x" * 100_000)
        assert str(path) in str(caught.value)
        assert path.read_bytes() == b"before"
        assert os.listdir(tmp_path) == ["a"]

    def test_other_system_errors_pass_unchanged(self, tmp_path):
        with pytest.raises(FileNotFoundError) as caught:
            with atomic_write(str(tmp_path / "a")):
                open(tmp_path / "absent")
        assert caught.value.errno == errno.ENOENT

    def test_name_without_a_directory_is_in_the_working_one(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.chdir(tmp_path)
        with atomic_write("a") as file:
            file.write("here")
        assert (tmp_path / "a").read_text() == "here"

    def test_link_stays_and_its_file_is_replaced(self, tmp_path):
        real = tmp_path / "folder" / "real"
        real.parent.mkdir()
        real.write_text("before")
        link = tmp_path / "link"
        link.symlink_to("folder/real")
        with atomic_write(str(link)) as file:
            file.write("after")
            assert real.read_text() == "before"
        assert link.is_symlink()
        assert real.read_text() == "after"
        assert os.listdir(real.parent) == ["real"]

    def test_link_to_a_new_file_makes_it(self, tmp_path):
        link = tmp_path / "link"
        link.symlink_to("new")
        with atomic_write(str(link)) as file:
            file.write("here")
        assert link.is_symlink()
        assert (tmp_path / "new").read_text() == "here"

    def test_link_to_a_pipe_is_refused_and_stays(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        link = tmp_path / "link"
        link.symlink_to("pipe")
        with pytest.raises(ValueError, match="link, which is .* a device"):
            with atomic_write(str(link)):
                pass
        assert link.is_symlink()
        assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]

    @pytest.mark.skipif(
        not os.path.isdir("/proc/self/fd"), reason="opens a file in /proc"
    )
    def test_link_to_an_open_file_is_refused_like_a_device(self, tmp_path):
        log, link = tmp_path / "log", tmp_path / "link"
        log.write_text("before")
        # The same as the link /dev/stdout after `>>log`.
        with open(log, "a") as file:
            link.symlink_to(f"/proc/self/fd/{file.fileno()}")
            with pytest.raises(ValueError, match="link, which is .* a device"):
                with atomic_write(str(link)):
                    pass
            with pytest.raises(ValueError, match="link, which is .* a device"):
                writing.check_writable(str(link))
        assert link.is_symlink()
        assert log.read_text() == "before"

    def test_link_to_itself_is_no_endless_loop(self, tmp_path):
        link = tmp_path / "link"
        link.symlink_to("link")
        with atomic_write(str(link)) as file:
            file.write("here")
        assert link.read_text() == "here"


class WrittenTogetherTest:
    def test_files_appear_when_all_are_complete(self, tmp_path):
        paths = [str(tmp_path / name) for name in "ab"]
        (tmp_path / "a").write_text("before")
        with atomic_write_together(paths) as files:
            for file in files:
                file.write("after")
            assert (tmp_path / "a").read_text() == "before"
            assert not (tmp_path / "b").exists()
        texts = [(tmp_path / name).read_text() for name in "ab"]
        assert texts == ["after", "after"]
        assert sorted(os.listdir(tmp_path)) == ["a", "b"]

    def test_full_disk_leaves_all_earlier_files(self, tmp_path):
        for name in "abc":
            (tmp_path / name).write_text("before")
        (tmp_path / "b.kt-incomplete").symlink_to("/dev/full")
        paths = [str(tmp_path / name) for name in "abc"]
        with pytest.raises(OSError, match="b: No space left.*Make room"):
            with atomic_write_together(paths) as files:
                for file in files:
                    file.write("after")
        texts = {(tmp_path / name).read_text() for name in "abc"}
        assert texts == {"before"}
        assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]

    def test_links_stay_and_their_files_are_replaced(self, tmp_path):
        for name in "ab":
            (tmp_path / name).write_text("before")
            (tmp_path / f"link_{name}").symlink_to(name)
        paths = [str(tmp_path / f"link_{name}") for name in "ab"]
        with atomic_write_together(paths) as files:
            for file in files:
                file.write("after")
        assert all(map(os.path.islink, paths))
        assert {(tmp_path / name).read_text() for name in "ab"} == {"after"}


class CheckWritableTest:
    def test_new_and_earlier_files_pass_and_stay(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "earlier").write_text("before")
        for path in ("new", "earlier", str(tmp_path / "new")):
            writing.check_writable(path)
        assert os.listdir(tmp_path) == ["earlier"]
        assert (tmp_path / "earlier").read_text() == "before"

    @pytest.mark.parametrize(
        "path, fault",
        [
            ("folder", "is a directory"),
            ("folder/", "is a directory"),
            ("no/file", "whose directory does not exist"),
            ("file/child", "whose directory does not exist"),
            ("/dev/null", "a device"),
        ],
    )
    def test_what_cannot_be_written_is_an_error(
        self, tmp_path, monkeypatch, path, fault
    ):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_text("before")
        words = f"`--out` must be .* Received: {path}, .*{fault}.* Name another"
        with pytest.raises(ValueError, match=words):
            writing.check_writable(path, "`--out`")

    def test_too_long_a_name_is_an_error_of_the_system(self, tmp_path):
        # The name itself would fit, but not the one that is written aside.
        with pytest.raises(OSError, match="too long"):
            writing.check_writable(str(tmp_path / ("x" * 250)))

    def test_link_is_judged_by_the_file_it_points_to(self, tmp_path):
        link = tmp_path / "link"
        link.symlink_to("no/file")
        with pytest.raises(ValueError, match="directory does not exist"):
            writing.check_writable(str(link))
        link.unlink()
        link.symlink_to("new")
        writing.check_writable(str(link))
        assert os.listdir(tmp_path) == ["link"]


class KeepSettingsTest:
    def test_a_directory_keeps_its_settings(self, tmp_path):
        path = str(tmp_path / "sweep.json")
        settings = {"table": "3", "grid": None, "train_steps": 2000}
        writing.keep_settings(path, settings)
        writing.keep_settings(path, settings)
        with pytest.raises(UserError, match="no --table, .*--table=3"):
            writing.keep_settings(path, {**settings, "table": None})
        with pytest.raises(UserError, match="Received: --train_steps=4000"):
            writing.keep_settings(path, {**settings, "train_steps": 4000})
