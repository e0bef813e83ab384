"""The promise on bad input, as a table: see `rows` and `table`."""

import pytest
import table
from machine import judge
from machine import run_apart
from machine import run_here
from rows import CPU_SECONDS

ROWS = [
    (section, row) for section, rows in table.COMMANDS.items() for row in rows
]
HERE = [(section, row) for section, row in ROWS if not row.needs_process]
# No argument of a process can hold a zero byte.
APART = [(section, row) for section, row in ROWS if "\0" not in row.command]
MIN_ROWS = 400


def sample():
    """Returns a quick row of each section, preferably one for processes."""
    for section, rows in table.COMMANDS.items():
        quick = [row for row in rows if row.cpu_seconds == CPU_SECONDS]
        yield section, max(quick, key=lambda row: row.needs_process)


def params(rows):
    return [
        pytest.param(row, id=f"{section}: {row}"[:150]) for section, row in rows
    ]


def prepare(row, box):
    box.fill(row.command)
    for damage in row.damages:
        damage.apply(box)


class TableTest:
    def test_every_section_has_rows(self):
        assert len(table.SECTIONS) == 19
        assert all(table.SECTIONS.values())
        assert sum(map(len, table.SECTIONS.values())) >= MIN_ROWS

    def test_no_row_occurs_twice(self):
        rows = [row for rows in table.SECTIONS.values() for row in rows]
        assert len(rows) == len(set(map(repr, rows)))


class RobustnessTest:
    @pytest.mark.parametrize("row", params(HERE))
    def test_bad_input_is_one_line(self, row, box, monkeypatch):
        prepare(row, box)
        with monkeypatch.context() as patch:
            outcome = run_here(row, box, patch)
        judge(row, outcome)

    @pytest.mark.parametrize("row", params(sample()))
    def test_a_sample_holds_for_processes(self, row, box):
        self.check_apart(row, box)

    @pytest.mark.slow
    @pytest.mark.parametrize("row", params(APART))
    def test_bad_input_of_a_process_is_one_line(self, row, box):
        self.check_apart(row, box)

    def check_apart(self, row, box):
        prepare(row, box)
        outcome = run_apart(row, box)
        judge(row, outcome)
        # Processor time, because a busy machine changes the time that passes.
        assert outcome.cpu_seconds < row.cpu_seconds
