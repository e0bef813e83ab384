"""Versions of exports are numbered, and complete or absent."""

import os
import signal
import subprocess
import sys

import pytest

from keras_transformer.files.directories import WORK
from keras_transformer.files.directories import list_versions
from keras_transformer.formats import exported
from keras_transformer.formats import versions


class VersionsTest:
    def test_versions_count_up_as_numbers(self, tmp_path):
        path = tmp_path / "export"
        for _ in range(11):
            with versions.make_version(str(path)) as (aside, _):
                open(os.path.join(aside, "file"), "w").close()
        assert list_versions(path) == list(range(1, 12))
        assert exported.find_newest_version(str(path)) == str(path / "11")

    def test_no_number_is_there_before_the_end(self, tmp_path):
        with versions.make_version(str(tmp_path)) as (aside, path):
            assert os.listdir(tmp_path) == [WORK]
        assert os.listdir(tmp_path) == ["1"]
        assert path == str(tmp_path / "1")

    def test_an_error_leaves_nothing(self, tmp_path):
        with pytest.raises(RuntimeError):
            with versions.make_version(str(tmp_path / "export")):
                raise RuntimeError
        assert os.listdir(tmp_path) == []

    def test_leftovers_of_a_kill_are_no_version_and_are_removed(self, tmp_path):
        script = (
            "import sys\n"
            "from keras_transformer.formats import versions\n"
            "with versions.make_version(sys.argv[1]) as (aside, _):\n"
            "    open(aside + '/saved_model.pb', 'w').write('half')\n"
            "    print(flush=True)\n"
            "    sys.stdin.read()\n"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", script, tmp_path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        process.stdout.readline()
        with pytest.raises(ValueError, match="Another process is writing"):
            with versions.make_version(str(tmp_path)):
                pass
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert os.listdir(tmp_path) == [WORK]
        assert list_versions(tmp_path) == []
        with versions.make_version(str(tmp_path)) as (aside, _):
            assert os.listdir(aside) == []
        assert os.listdir(tmp_path) == ["1"]

    def test_a_directory_of_the_user_is_no_leftover(self, tmp_path):
        for name in ("1", "7.incomplete"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "thesis.txt").write_text("years of work")
        with versions.make_version(str(tmp_path)):
            pass
        assert sorted(os.listdir(tmp_path)) == ["1", "2", "7.incomplete"]
        assert (tmp_path / "7.incomplete" / "thesis.txt").exists()

    def test_a_foreign_directory_is_an_error(self, tmp_path):
        (tmp_path / "thesis.txt").write_text("years of work")
        with pytest.raises(ValueError, match="holds other files"):
            with versions.make_version(str(tmp_path)):
                pass
        assert os.listdir(tmp_path) == ["thesis.txt"]
