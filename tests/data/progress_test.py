import io
import re

import pytest

from keras_transformer.files import progress
from keras_transformer.files.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    times = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: times[0])
    return times


class LinesTest:
    def test_a_line_every_ten_seconds_and_one_at_the_end(self, clock, capsys):
        with Progress("pairs", total=400, label="train") as shown:
            for seconds in (4, 8, 12, 16, 20):
                clock[0] = seconds
                shown.add(50)
        assert capsys.readouterr().err.splitlines() == [
            "train: 150 of 400 pairs in 12.0 s, 12.5 pairs/s, 0:00:20 left",
            "train: 250 of 400 pairs in 20.0 s, 12.5 pairs/s, 0:00:12 left",
        ]

    def test_hours_are_shown(self, clock, capsys):
        with Progress("pairs", total=1000) as shown:
            clock[0] = 12
            shown.add(3)
            clock[0] = 13
        line = capsys.readouterr().err.splitlines()[0]
        assert line.endswith("0.2 pairs/s, 1:06:28 left")

    def test_the_end_repeats_no_line(self, clock, capsys):
        with Progress("sentences", total=2) as shown:
            clock[0] = 20
            shown.add(2)
            clock[0] = 21
        line = "2 of 2 sentences in 20.0 s, 0.1 sentences/s\n"
        assert capsys.readouterr().err == line

    @pytest.mark.parametrize("total, counted", [(None, "1"), (1, "1 of 1")])
    def test_one_item_has_no_plural(self, clock, capsys, total, counted):
        with Progress("sentences", total) as shown:
            clock[0] = 2
            shown.add(1)
        line = f"{counted} sentence in 2.0 s, 0.5 sentences/s\n"
        assert capsys.readouterr().err == line

    def test_no_total_means_no_time_left(self, clock, capsys):
        with Progress("sentences") as shown:
            clock[0] = 2
            shown.add(3000)
        line = "3,000 sentences in 2.0 s, 1,500 sentences/s\n"
        assert capsys.readouterr().err == line

    def test_an_error_prints_no_final_figures(self, capsys):
        with pytest.raises(KeyError), Progress("pairs") as shown:
            shown.add(1)
            raise KeyError
        assert capsys.readouterr().err == ""

    def test_results_on_the_same_terminal_get_no_bar(self, monkeypatch):
        monkeypatch.setattr("sys.stderr", Terminal())
        with Progress("sentences", total=2, results=Terminal()) as shown:
            shown.add(2)
        text = progress.sys.stderr.getvalue()
        assert text.startswith("2 of 2 sentences in ")
        assert "\r" not in text


class BarTest:
    def test_a_terminal_shows_counts_rate_and_time_left(self, monkeypatch):
        monkeypatch.setattr("sys.stderr", Terminal())
        with Progress("pairs", total=4, label="train") as shown:
            shown.add(4)
        last = progress.sys.stderr.getvalue().rstrip().split("\r")[-1]
        pattern = r"train: 100%.* 4/4 \[\d\d:\d\d<00:00, .* pairs/s\]"
        assert re.match(pattern, last)
