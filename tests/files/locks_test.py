import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processes import environment

from keras_transformer.files import locks
from keras_transformer.files.writing import atomic_write


class LockedDirectoryTest:
    def test_a_second_process_is_refused_or_waits(self, tmp_path):
        path = str(tmp_path / "shared")
        code = (
            "import sys\n"
            "from keras_transformer.files import locks\n"
            "with locks.lock_directory(sys.argv[1]):\n"
            "    print('locked', flush=True)\n"
        )
        with locks.lock_directory(path):
            process = subprocess.Popen(
                [sys.executable, "-c", code, path],
                env=environment(__file__),
                stdout=subprocess.PIPE,
            )
            with pytest.raises(ValueError, match="Another process is writing"):
                with locks.lock_directory(path, wait=False):
                    pass
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
        assert process.communicate(timeout=60)[0] == b"locked\n"

    @pytest.mark.parametrize("name", ["new", "new/inner/innermost"])
    def test_new_directories_go_if_they_stay_empty(self, tmp_path, name):
        with locks.lock_directory(str(tmp_path / name)):
            assert (tmp_path / name).is_dir()
        assert os.listdir(tmp_path) == []

    def test_a_new_directory_stays_if_it_holds_something(self, tmp_path):
        with locks.lock_directory(str(tmp_path / "outer" / "new")):
            (tmp_path / "outer" / "file").touch()
        assert os.listdir(tmp_path) == ["outer"]
        assert os.listdir(tmp_path / "outer") == ["file"]

    def test_a_directory_that_was_there_stays(self, tmp_path):
        with locks.lock_directory(str(tmp_path)):
            pass
        assert tmp_path.is_dir()

    def test_the_error_names_the_directory_to_show(self, tmp_path):
        with locks.lock_directory(str(tmp_path)):
            with pytest.raises(ValueError, match="is writing to the run. Wait"):
                with locks.lock_directory(str(tmp_path), False, "the run"):
                    pass

    def test_a_lock_on_a_directory_that_was_renamed_does_not_count(
        self, tmp_path
    ):
        """Whoever waited for it then locks the directory of the right name."""
        path = tmp_path / "shared"
        path.mkdir()

        def lock_and_list():
            with locks.lock_directory(str(path)):
                return os.listdir(path)

        with ThreadPoolExecutor(1) as pool:
            with locks.lock_directory(str(path)):
                waiting = pool.submit(lock_and_list)
                time.sleep(0.1)  # usually until it waits
                path.rename(tmp_path / "old")
                path.mkdir()
                (path / "new").touch()
            assert waiting.result() == ["new"]


class LockedFileTest:
    def test_a_second_writer_is_refused_and_the_first_goes_on(self, tmp_path):
        path = str(tmp_path / "a.txt")
        with atomic_write(path) as file:
            file.write("first")
            with pytest.raises(
                ValueError, match="Another process is writing to"
            ):
                with atomic_write(path):
                    pass
        assert os.listdir(tmp_path) == ["a.txt"]
        assert (tmp_path / "a.txt").read_text() == "first"

    def test_remains_of_a_killed_process_are_emptied(self, tmp_path):
        path = tmp_path / "a"
        path.write_text("a long text of an earlier process")
        with locks.open_locked(str(path)) as file:
            file.write("new")
        assert path.read_text() == "new"

    def test_writers_at_the_same_time_leave_one_whole_file(self, tmp_path):
        """Of many writers some are refused, and no file is a mixture."""
        path = str(tmp_path / "a")
        Path(path).write_text("d")
        written = []

        def write(letter):
            for _ in range(50):
                try:
                    with atomic_write(path) as file:
                        file.write(letter * 1000)
                    written.append(letter)
                except ValueError:
                    pass
                assert len(set(Path(path).read_text())) == 1

        with ThreadPoolExecutor(4) as pool:
            for call in [pool.submit(write, letter) for letter in "abcd"]:
                call.result()
        assert os.listdir(tmp_path) == ["a"]
        assert written
