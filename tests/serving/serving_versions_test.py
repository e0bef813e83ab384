import os
import shutil
import threading
import time

import pytest
from waiting import wait_until

from keras_transformer.formats.exported import find_newest_version
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.versions import Versions


def write(directory, name, content="good"):
    """Writes a version that appears at once, as kt-exporter does."""
    incomplete = directory / f"{name}.tmp"
    incomplete.mkdir()
    (incomplete / "content").write_text(content, encoding="utf-8")
    return incomplete.rename(directory / str(name))


def load(path):
    with open(os.path.join(path, "content"), encoding="utf-8") as file:
        content = file.read()
    if content != "good":
        raise ValueError(f"it is {content}")
    return f"model of {os.path.basename(path)}"


def states(versions):
    return {n: status.state for n, status in versions.list_statuses().items()}


@pytest.fixture
def start(tmp_path):
    started = []

    def start(poll_seconds=0.01, load=load):
        versions = Versions(str(tmp_path), load, poll_seconds)
        versions.start()
        versions.watch()
        started.append(versions)
        return versions

    yield start
    for versions in started:
        versions.stop()


class VersionsTest:
    def test_the_newest_is_the_default_and_all_are_available(
        self, tmp_path, start
    ):
        for name in (2, 10, 9):
            write(tmp_path, name)
        versions = start()
        assert versions.get() == (10, "model of 10")
        wait_until(lambda: set(states(versions).values()) == {"AVAILABLE"})
        assert versions.get(2) == (2, "model of 2")
        assert list(versions.list_statuses()) == [10, 9, 2]

    def test_the_newest_is_available_before_the_others(self, tmp_path, start):
        write(tmp_path, 1)
        write(tmp_path, 2)
        go = threading.Event()

        def load_slowly(path):
            if path.endswith("1"):
                go.wait(10)
            return load(path)

        versions = start(load=load_slowly)
        assert versions.get() == (2, "model of 2")
        assert states(versions)[1] in ("START", "LOADING")
        assert versions.get(1) is None
        go.set()
        wait_until(lambda: states(versions)[1] == "AVAILABLE")

    def test_only_the_newest_is_loaded_before_watching(self, tmp_path):
        # What a server prints once it answers would be silenced.
        for name in (1, 2):
            write(tmp_path, name)
        versions = Versions(str(tmp_path), load, 0.01)
        versions.start()
        time.sleep(0.1)
        assert states(versions) == {2: "AVAILABLE", 1: "START"}
        versions.watch()
        wait_until(lambda: states(versions)[1] == "AVAILABLE")
        versions.stop()

    def test_new_versions_take_over_and_removed_ones_end(self, tmp_path, start):
        first = write(tmp_path, 1)
        versions = start()
        write(tmp_path, "2.incomplete")
        (tmp_path / "notes.txt").write_text("3", encoding="utf-8")
        time.sleep(0.1)
        assert states(versions) == {1: "AVAILABLE"}
        os.rename(tmp_path / "2.incomplete", tmp_path / "2")
        wait_until(lambda: versions.get()[0] == 2)
        shutil.rmtree(first)
        wait_until(lambda: states(versions)[1] == "END")
        assert versions.get(1) is None
        write(tmp_path, 1)
        wait_until(lambda: states(versions)[1] == "AVAILABLE")
        assert versions.get()[0] == 2

    def test_a_newer_version_that_fails_at_the_start_is_named(
        self, tmp_path, start, caplog
    ):
        write(tmp_path, 1)
        write(tmp_path, 2, "half a copy")
        assert start().get() == (1, "model of 1")
        words = "Version 2 cannot be loaded: it is half a copy"
        assert caplog.messages.count(words) == 1

    def test_a_number_beyond_64_bits_is_no_version(self, tmp_path, start):
        # Requests and answers hold the number as a signed integer.
        write(tmp_path, 2**63)
        with pytest.raises(ValueError, match="which has none"):
            Versions(str(tmp_path), load)
        write(tmp_path, "99999999999999999999")
        write(tmp_path, 2**63 - 1)
        assert start().list_statuses().keys() == {2**63 - 1}

    def test_links_that_lead_nowhere_hide_no_version(self, tmp_path, start):
        write(tmp_path, 1)
        versions = start()
        (tmp_path / "7").symlink_to("7")
        (tmp_path / "8").symlink_to("gone")
        write(tmp_path, "2.incomplete")
        os.rename(tmp_path / "2.incomplete", tmp_path / "2")
        wait_until(lambda: versions.get() == (2, "model of 2"))
        assert find_newest_version(str(tmp_path)) == str(tmp_path / "2")

    def test_a_bad_version_is_reported_and_the_old_one_stays(
        self, tmp_path, start
    ):
        write(tmp_path, 1)
        versions = start()
        bad = write(tmp_path, 2, "bad")
        wait_until(lambda: states(versions).get(2) == "END")
        status = versions.list_statuses()[2]
        assert (status.code, status.message) == ("UNKNOWN", "it is bad")
        assert versions.get() == (1, "model of 1")
        (bad / "content").write_text("good", encoding="utf-8")
        wait_until(lambda: versions.get() == (2, "model of 2"))

    def test_a_version_that_is_still_being_copied_is_loaded_again(
        self, tmp_path, start
    ):
        write(tmp_path, 1)

        def load_names(path):
            names = sorted(os.listdir(path))
            # Another program is copying this version meanwhile.
            if path.endswith("2") and "rest" not in names:
                shutil.copy(f"{path}/content", f"{path}/rest")
            return names

        versions = start(load=load_names)
        write(tmp_path, 2)
        wait_until(lambda: versions.get() == (2, ["content", "rest"]))

    def test_a_bad_version_is_tried_once(self, tmp_path, start):
        write(tmp_path, 1)
        write(tmp_path, 2, "bad")
        attempts = []

        def record_load(path):
            attempts.append(path)
            return load(path)

        versions = start(load=record_load)
        assert versions.get()[0] == 1
        time.sleep(0.2)
        assert len(attempts) == 2

    def test_loaded_versions_stay_while_the_directory_is_away(
        self, tmp_path, start
    ):
        directory = tmp_path / "export"
        directory.mkdir()
        write(directory, 1)
        versions = Versions(str(directory), load, 0.01)
        versions.start()
        versions.watch()
        os.rename(directory, tmp_path / "away")
        time.sleep(0.1)
        assert versions.get() == (1, "model of 1")
        os.rename(tmp_path / "away", directory)
        write(directory, 2)
        wait_until(lambda: versions.get()[0] == 2)
        versions.stop()

    def test_a_directory_without_versions_is_an_error(self, tmp_path):
        with pytest.raises(ValueError, match="must be a directory"):
            Versions(str(tmp_path / "missing"), load)
        with pytest.raises(ValueError, match="which has none. Write one"):
            Versions(str(tmp_path), load)
        (tmp_path / "saved_model.pb").write_bytes(b"")
        with pytest.raises(ValueError, match="Use its parent directory"):
            Versions(str(tmp_path), load)

    def test_no_version_is_available_before_the_first(self, tmp_path):
        write(tmp_path, 1)
        seen = []

        def load_asking(path):
            with pytest.raises(RequestError, match="being loaded") as raised:
                versions.get()
            seen.append((states(versions), raised.value.code))
            return load(path)

        versions = Versions(str(tmp_path), load_asking, 60)
        assert states(versions) == {1: "START"}
        versions.start()
        assert seen == [({1: "LOADING"}, "UNAVAILABLE")]
        assert versions.get(2) is None
        versions.stop()

    def test_only_broken_versions_are_an_error(self, tmp_path):
        write(tmp_path, 1, "bad")
        write(tmp_path, 2, "worse")
        with pytest.raises(ValueError, match="2 cannot be loaded .it is worse"):
            Versions(str(tmp_path), load).start()
