import contextlib
import errno
import itertools
import os
import pathlib
import sys

import pytest

from keras_transformer.errors import UserError
from keras_transformer.files import directories
from keras_transformer.files import writing
from keras_transformer.files.directories import replace_content
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


class StagedDirectoryTest:
    def test_it_is_gone_at_the_end(self, tmp_path):
        with stage_directory(str(tmp_path)) as aside:
            pathlib.Path(aside, "file").write_text("half")
        assert os.listdir(tmp_path) == []

    def test_it_stays_under_its_new_name(self, tmp_path):
        with stage_directory(str(tmp_path)) as aside:
            pathlib.Path(aside, "file").write_text("whole")
            writing.synchronise(aside)
            writing.move(aside, str(tmp_path / "a"))
        assert os.listdir(tmp_path) == ["a"]
        assert (tmp_path / "a" / "file").read_text() == "whole"

    def test_it_begins_empty_after_a_kill(self, tmp_path):
        def write_half():
            with stage_directory(str(tmp_path)) as aside:
                pathlib.Path(aside, "file").write_text("half")
                os._exit(9)

        assert run_forked(write_half) == 9
        with stage_directory(str(tmp_path)) as aside:
            assert os.listdir(aside) == []
        assert os.listdir(tmp_path) == []

    def test_a_directory_without_our_mark_is_refused(self, tmp_path):
        thesis = tmp_path / directories.WORK / "new" / "thesis.txt"
        thesis.parent.mkdir(parents=True)
        thesis.write_text("years of work")
        with pytest.raises(UserError, match="that holds other files. Move it"):
            with stage_directory(str(tmp_path)):
                pass
        assert thesis.read_text() == "years of work"


def run_forked(function):
    """Runs a function in a copy of this process; returns its exit status."""
    child = os.fork()
    if not child:
        try:
            function()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read_all(path):
    return {
        str(file.relative_to(path)): file.read_text()
        for file in path.rglob("*")
        if file.is_file()
    }


def replace_by(path, content, **options):
    with replace_content(str(path), "last", **options) as aside:
        for name, text in content.items():
            file = pathlib.Path(aside, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)


FIRST = {"last": "1", "part": "1", "folder/a": "1", "gone": "1"}
SECOND = {"last": "2", "part": "2", "folder/b": "2", "added": "2"}
MINE = {"README.md": "mine", "mine/part": "mine"}
OWNED = ["last", "part", "folder", "gone", "added"]


class ReplacedContentTest:
    @pytest.fixture
    def place(self, tmp_path):
        place = tmp_path / "place"
        replace_by(place, FIRST)
        for name, text in MINE.items():
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(text)
        return place

    def test_what_is_not_ours_stays(self, place, tmp_path):
        for suffix in (".outdated", ".incomplete"):
            (tmp_path / f"place{suffix}").mkdir()
            (tmp_path / f"place{suffix}" / "thesis").write_text("mine")
        beside = read_all(tmp_path).keys() - {f"place/{n}" for n in FIRST}
        replace_by(place, SECOND, owned=OWNED)
        assert read_all(place) == {**SECOND, **MINE}
        assert beside <= read_all(tmp_path).keys()

    def test_a_kill_leaves_the_earlier_or_the_new_content(
        self, place, monkeypatch
    ):
        """The process dies at every single change of the file system."""
        monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # for speed
        whole = [{**content, **MINE} for content in (FIRST, SECOND)]
        outcomes = []
        for number in itertools.count(1):
            status = run_forked(lambda: die_at_change(number, place))
            if "last" in read_all(place):
                seen = read_all(place)
                assert any(each.items() <= seen.items() for each in whole)
            with contextlib.suppress(KeyError):
                replace_by(place, {}, check=lambda: {}["stop"])
            outcomes.append(whole.index(read_all(place)))
            replace_by(place, FIRST, owned=OWNED)
            if status == 0:
                break
        assert outcomes == sorted(outcomes)
        assert {0, 1} == set(outcomes)

    def test_an_error_leaves_the_earlier_content(self, place):
        with pytest.raises(OSError, match="Cannot write .*place: "):
            with replace_content(str(place), "last", owned=OWNED) as aside:
                open(os.path.join(aside, "new"), "w").close()
                raise OSError(errno.ENOSPC, "No space left on device")
        assert read_all(place) == {**FIRST, **MINE}

    def test_an_error_leaves_no_new_directories(self, tmp_path):
        path = str(tmp_path / "x" / "y" / "average")
        with pytest.raises(ZeroDivisionError):
            with replace_content(path, "last", lambda: 1 / 0):
                pass
        assert os.listdir(tmp_path) == []

    def test_a_second_writer_is_an_error_and_disturbs_nothing(self, tmp_path):
        path = str(tmp_path / "a")
        with replace_content(path, "last") as aside:
            open(os.path.join(aside, "first"), "w").close()
            with pytest.raises(
                ValueError, match="Another process is writing to "
            ):
                with replace_content(path, "last"):
                    pass
        assert os.listdir(path) == ["first"]

    def test_the_directory_itself_stays(self, tmp_path, monkeypatch):
        """So it may be a mount point, or the working directory."""
        tmp_path.chmod(0o700)
        monkeypatch.chdir(tmp_path)
        before = os.stat(".")
        replace_by(".", FIRST)
        assert os.path.samestat(os.stat("."), before)
        assert read_all(pathlib.Path()) == FIRST

    def test_permissions_stay(self, place):
        (place / "part").chmod(0o600)
        replace_by(place, SECOND, owned=OWNED)
        assert (place / "part").stat().st_mode & 0o777 == 0o600


def die_at_change(number, place):
    """Replaces the content, and dies before the change of this number."""
    changes = itertools.count(1)

    def die(event, arguments):
        if event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir"):
            if next(changes) == number:
                os._exit(9)

    sys.addaudithook(die)
    replace_by(place, SECOND, owned=OWNED)


class FullDiskTest:
    def test_full_disk_is_named_for_a_directory(self, tmp_path):
        path = str(tmp_path / "model")
        with pytest.raises(OSError, match="model: No space left.*Make room"):
            with replace_content(path, "last") as aside:
                os.symlink("/dev/full", os.path.join(aside, "weights"))
                with open(os.path.join(aside, "weights"), "wb") as file:
                    file.write(b"x")
        assert os.listdir(tmp_path) == []
