import json
import os
import signal
import subprocess
import sys

import pytest
from processes import environment

from keras_transformer.files.partial import open_resumable

SETTINGS = {"beam_size": 4, "alpha": 0.6, "prefix_file": None}
TEXT = ["one", "two", "three", "four", "five"]


class StopError(Exception):
    """An error of any kind."""


def translate(
    path,
    resume=False,
    text=TEXT,
    settings=SETTINGS,
    stop_after=None,
    error=None,
    added=(),
):
    """Writes the upper case of a text, two lines at a time."""
    with open_resumable(str(path), settings, resume, added) as output:
        lines = output.skip("text", text)
        while pair := [line for _, line in zip(range(2), lines)]:
            if output.num_lines == stop_after:
                raise error or StopError
            upper = [line.upper() + "\n" for line in pair]
            output.writelines(upper, text=pair)


def stop(path, after=2, error=None, **changes):
    """Does the same until an error; returns the notes of the error."""
    with pytest.raises(type(error or StopError())) as caught:
        translate(path, stop_after=after, error=error, **changes)
    return " ".join(getattr(caught.value, "__notes__", []))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out.txt"


WHOLE = "ONE\nTWO\nTHREE\nFOUR\nFIVE\n"
FILES_OF_A_STOP = ["out.txt.partial", "out.txt.partial.json"]


class ResumableTest:
    def test_alarms_are_counted_over_all_processes(self, path):
        for number, line in enumerate(("ONE\n", "TWO\n")):
            with (
                pytest.raises(StopError),
                open_resumable(str(path), SETTINGS, resume=True) as output,
            ):
                assert output.num_alarms == number
                output.num_alarms += 1
                output.writelines([line])
                output.num_alarms += 1  # of a line that is not written
                raise StopError

    def test_a_link_stays_and_its_file_is_replaced(self, path, tmp_path):
        path.write_text("earlier")
        link = tmp_path / "link"
        link.symlink_to(path)
        stop(link)
        translate(link, resume=True)
        assert link.is_symlink()
        assert path.read_text() == WHOLE

    def test_a_complete_output_leaves_nothing_else(self, path):
        path.write_text("earlier")
        translate(path)
        assert path.read_text() == WHOLE
        assert os.listdir(path.parent) == ["out.txt"]

    def test_no_lines_give_an_empty_file(self, path):
        translate(path, text=[])
        assert path.read_text() == ""
        assert os.listdir(path.parent) == ["out.txt"]

    @pytest.mark.parametrize("after", [2, 4])
    def test_a_stop_keeps_lines_and_resuming_completes_them(self, path, after):
        path.write_text("earlier")
        notes = stop(path, after)
        assert f"first {after} lines are kept in {path}.partial;" in notes
        assert path.read_text() == "earlier"
        kept = (path.parent / "out.txt.partial").read_text()
        assert kept == "".join(WHOLE.splitlines(True)[:after])
        translate(path, resume=True)
        assert path.read_text() == WHOLE
        assert os.listdir(path.parent) == ["out.txt"]

    def test_it_can_stop_and_resume_again(self, path):
        stop(path, 2)
        assert "first 4 lines" in stop(path, 4, resume=True)
        translate(path, resume=True)
        assert path.read_text() == WHOLE

    def test_a_stop_before_the_first_lines_leaves_nothing(self, path):
        assert stop(path, 0) == ""
        assert "none are kept" in stop(path, 0, KeyboardInterrupt())
        assert os.listdir(path.parent) == []

    def test_resuming_nothing_starts_at_the_beginning(self, path):
        translate(path, resume=True)
        assert path.read_text() == WHOLE

    def test_lines_are_not_lost_without_resume(self, path):
        stop(path)
        with pytest.raises(
            ValueError, match="holds 2 lines of .* Add --resume"
        ):
            translate(path)
        translate(path, resume=True)
        assert path.read_text() == WHOLE

    def test_a_killed_process_leaves_what_can_be_resumed(self, path):
        """The kill comes in the middle of writing further lines."""
        code = (
            "import os, sys\n"
            "from partial_test import SETTINGS\n"
            "from keras_transformer.files.partial import open_resumable\n"
            "with open_resumable(sys.argv[1], SETTINGS) as output:\n"
            "    lines = output.skip('text', ['one', 'two', 'three'])\n"
            "    next(lines), next(lines)\n"
            "    output.writelines(['ONE\\n', 'TWO\\n'], text=['one', 'two'])\n"
            "    output._file.write(b'THR')\n"
            "    os.kill(os.getpid(), 9)\n"
        )
        process = subprocess.run(
            [sys.executable, "-c", code, str(path)], env=environment(__file__)
        )
        assert process.returncode == -signal.SIGKILL
        assert sorted(os.listdir(path.parent)) == FILES_OF_A_STOP
        translate(path, resume=True)
        assert path.read_text() == WHOLE

    def test_a_full_disk_keeps_complete_lines(self, path, limit_files):
        text = [*TEXT[:2], "x" * 2000, "y" * 2000]
        limit_files(3000)
        with pytest.raises(OSError, match="Cannot write ") as caught:
            translate(path, text=text)
        limit_files(10_000)
        assert "first 2 lines are kept" in caught.value.__notes__[0]
        kept = (path.parent / "out.txt.partial").read_text()
        assert kept == "ONE\nTWO\n"
        translate(path, True, text)
        assert path.read_text() == "".join(f"{x.upper()}\n" for x in text)

    def test_a_second_writer_is_refused(self, path):
        with open_resumable(str(path), SETTINGS) as output:
            output.writelines(["ONE\n"])
            for resume in (False, True):
                with pytest.raises(
                    ValueError, match="Another process is writing"
                ):
                    translate(path, resume)
        assert path.read_text() == "ONE\n"


class MisfitTest:
    @pytest.mark.parametrize(
        "changes, words",
        [
            ({"settings": {**SETTINGS, "alpha": 1.0}}, "alpha=1.0 instead of"),
            (
                {"settings": {"beam_size": 4}},
                "alpha=None instead of alpha=0.6",
            ),
            ({"text": ["one", "2", "three"]}, "other text in text"),
            ({"text": ["one"]}, "other text in text"),
        ],
    )
    def test_other_text_or_settings_are_refused(self, path, changes, words):
        stop(path)
        with pytest.raises(ValueError, match=words):
            translate(path, resume=True, **changes)
        translate(path, resume=True)
        assert path.read_text() == WHOLE

    def test_what_an_earlier_version_did_not_record_is_not_compared(self, path):
        added = ["second", "third"]
        stop(path, settings={**SETTINGS, "second": True}, added=added[:1])
        later = {**SETTINGS, "second": True, "third": False}
        with pytest.raises(ValueError, match="second=False instead of"):
            changed = {**later, "second": False}
            translate(path, resume=True, settings=changed, added=added)
        translate(path, resume=True, settings=later, added=added)
        assert path.read_text() == WHOLE

    def test_text_behind_the_lines_may_change(self, path):
        stop(path)
        translate(path, resume=True, text=["one", "two", "iii"])
        assert path.read_text() == "ONE\nTWO\nIII\n"

    @pytest.mark.parametrize("lines", ["one\nTWO\n", "ONE\n", "ONE\nTW"])
    def test_changed_lines_are_refused(self, path, lines):
        stop(path)
        partial = path.parent / "out.txt.partial"
        partial.write_text(lines)
        with pytest.raises(ValueError, match="changed afterwards"):
            translate(path, resume=True)
        assert partial.read_text() == lines

    @pytest.mark.parametrize(
        "name, value",
        [("lines", "2"), ("bytes", 2**60), ("bytes", -1), ("inputs", {})],
    )
    def test_an_edited_record_is_refused(self, path, name, value):
        stop(path)
        record_path = path.parent / "out.txt.partial.json"
        record = json.loads(record_path.read_text())
        record_path.write_text(json.dumps({**record, name: value}))
        with pytest.raises(ValueError, match="start again"):
            translate(path, resume=True)
        assert (path.parent / "out.txt.partial").read_text() == "ONE\nTWO\n"

    def test_a_foreign_file_is_not_overwritten(self, path):
        partial = path.parent / "out.txt.partial"
        partial.write_text("mine")
        with pytest.raises(ValueError, match="has no record"):
            translate(path)
        assert partial.read_text() == "mine"

    def test_a_foreign_record_is_not_overwritten(self, path):
        record = path.parent / "out.txt.partial.json"
        record.write_text('{"mine": 1}')
        with pytest.raises(ValueError, match="partial.json, .*Move it else"):
            translate(path)
        assert record.read_text() == '{"mine": 1}'
        assert os.listdir(path.parent) == [record.name]

    def test_permissions_of_the_earlier_output_stay(self, path):
        path.write_text("before")
        path.chmod(0o600)
        translate(path)
        assert path.stat().st_mode & 0o777 == 0o600
