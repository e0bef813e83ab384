import errno
import os

import pytest

from keras_transformer.files import directories
from keras_transformer.files import writing
from keras_transformer.files.directories import stage_directory


class CheckDirectoryTest:
    def test_a_new_one_and_an_earlier_one_can_be_written(self, tmp_path):
        directories.check_directory(str(tmp_path / "new" / "er"))
        directories.check_directory(str(tmp_path))
        directories.check_directory("")
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("name", ["file", "file/new", "link"])
    def test_what_is_no_directory_is_refused(self, tmp_path, name):
        (tmp_path / "file").write_text("text")
        (tmp_path / "link").symlink_to("nowhere")
        with pytest.raises(ValueError, match="`--out` must be a dir.*is no"):
            directories.check_directory(str(tmp_path / name), "`--out`")


class DirectoryAsideTest:
    def test_it_is_gone_at_the_end(self, tmp_path):
        with stage_directory(str(tmp_path / "a.incomplete")) as aside:
            (tmp_path / "a.incomplete" / "file").write_text("half")
            assert os.listdir(aside) == ["file"]
        assert os.listdir(tmp_path) == []

    def test_it_stays_under_its_new_name(self, tmp_path):
        with stage_directory(str(tmp_path / "a.incomplete")) as aside:
            (tmp_path / "a.incomplete" / "file").write_text("whole")
            writing.synchronise(aside)
            writing.move(aside, str(tmp_path / "a"))
        assert os.listdir(tmp_path) == ["a"]
        assert (tmp_path / "a" / "file").read_text() == "whole"

    def test_it_begins_empty_after_a_kill(self, tmp_path):
        (tmp_path / "a.incomplete").mkdir()
        (tmp_path / "a.incomplete" / "leftover").write_text("half")
        with stage_directory(str(tmp_path / "a.incomplete")) as aside:
            assert os.listdir(aside) == []


class ReplacedDirectoryTest:
    def test_it_replaces_an_earlier_one(self, tmp_path):
        path = str(tmp_path / "a")
        for name in ("first", "second"):
            with directories.replace_directory(path) as aside:
                open(os.path.join(aside, name), "w").close()
        assert os.listdir(tmp_path) == ["a"]
        assert os.listdir(path) == ["second"]

    def test_an_error_leaves_the_earlier_one(self, tmp_path):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "earlier").write_text("whole")
        with pytest.raises(OSError, match="Cannot write .*a: "):
            with directories.replace_directory(str(tmp_path / "a")) as aside:
                open(os.path.join(aside, "new"), "w").close()
                raise OSError(errno.ENOSPC, "No space left on device")
        assert os.listdir(tmp_path) == ["a"]
        assert os.listdir(tmp_path / "a") == ["earlier"]

    def test_an_error_leaves_no_new_directories(self, tmp_path):
        path = str(tmp_path / "x" / "y" / "average")
        with pytest.raises(ZeroDivisionError):
            with directories.replace_directory(path, lambda: 1 / 0):
                pass
        assert os.listdir(tmp_path) == []

    def test_a_second_writer_is_an_error_and_disturbs_nothing(self, tmp_path):
        path = str(tmp_path / "a")
        with directories.replace_directory(path) as aside:
            open(os.path.join(aside, "first"), "w").close()
            with pytest.raises(
                ValueError, match="Another process is writing to "
            ):
                with directories.replace_directory(path):
                    pass
        assert os.listdir(path) == ["first"]

    @pytest.mark.parametrize("left", ["a.outdated", "a.incomplete", "both"])
    def test_what_a_killed_process_left_is_put_right(self, tmp_path, left):
        names = ["a.outdated", "a.incomplete"] if left == "both" else [left]
        for name in names:
            (tmp_path / name).mkdir()
            (tmp_path / name / "earlier").write_text(name)
        with pytest.raises(KeyError):
            with directories.replace_directory(str(tmp_path / "a")) as aside:
                assert os.listdir(aside) == []
                raise KeyError
        # Of the two renames, the kill came before the second.
        is_kept = left != "a.incomplete"
        assert os.listdir(tmp_path) == (["a"] if is_kept else [])
        if is_kept:
            assert (tmp_path / "a" / "earlier").read_text() == "a.outdated"


class FullDiskTest:
    def test_full_disk_is_named_for_a_directory(self, tmp_path):
        path = str(tmp_path / "model")
        with pytest.raises(OSError, match="model: No space left.*Make room"):
            with stage_directory(path + writing.INCOMPLETE) as aside:
                os.symlink("/dev/full", os.path.join(aside, "weights"))
                with open(os.path.join(aside, "weights"), "wb") as file:
                    file.write(b"x")
        assert os.listdir(tmp_path) == []
