"""Tests measure.py --mode=layers: its fits, its report and its command."""

import csv
import json

import measure
import pytest
from commands import assert_fails
from commands import call
from measurements import layer_report
from measurements import layer_table
from measurements.layer_table import Cell


def made_up(length, width, name="lstm"):
    """Returns a cell of which every figure grows as n^1.5 d^0.5."""
    value = 1e-3 * length**1.5 * width**0.5
    figures = dict.fromkeys(layer_report.FIGURES, value)
    return Cell(name, length, width, figures)


CELLS = [
    made_up(length, width, name)
    for length in (16, 1024, 2048, 4096)
    for width in (128, 512)
    for name in layer_table.LAYERS
]
MISSING = Cell("gru", 4096, 1024, {}, "no time left")


class FitTest:
    def test_the_exponents_are_those_that_made_the_figures(self):
        fit = layer_report.fit_exponents(
            [made_up(n, d) for n in (1024, 4096) for d in (128, 512)],
            "forward_seconds",
        )
        assert fit == pytest.approx((1.5, 0.5))

    def test_short_sequences_and_missing_cells_do_not_count(self):
        slow = Cell("lstm", 16, 128, {"forward_bytes": 1e9})
        cells = [
            *(made_up(n, d) for n in (1024, 4096) for d in (128, 512)),
            slow,
            MISSING,
            Cell("lstm", 2048, 128, {"forward_bytes": 0}),
        ]
        fit = layer_report.fit_exponents(cells, "forward_bytes")
        assert fit == pytest.approx((1.5, 0.5))

    @pytest.mark.parametrize(
        "sizes", [[], [(1024, 128)], [(1024, 128), (4096, 128)]]
    )
    def test_there_is_no_fit_without_two_lengths_and_widths(self, sizes):
        cells = [made_up(*size) for size in sizes]
        assert layer_report.fit_exponents(cells, "forward_bytes") is None


class ReportTest:
    @pytest.mark.slow
    def test_each_file_holds_all_cells(self, tmp_path):
        fits = layer_report.write_report(
            [*CELLS, MISSING], str(tmp_path / "new"), {"cores": 2}
        )
        assert fits["gru"]["training_bytes"] == pytest.approx((1.5, 0.5))
        with open(tmp_path / "new" / "table1.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(CELLS) + 1
        assert float(rows[0]["training_bytes"]) == pytest.approx(
            CELLS[0].figures["training_bytes"]
        )
        assert rows[-1]["note"] == "no time left"
        text = (tmp_path / "new" / "table1.md").read_text(encoding="utf-8")
        assert "cores 2" in text
        assert "- recurrent (GRU), n = 4,096, d = 1,024: no time left" in text
        for layer in layer_table.LAYERS.values():
            row = " | ".join(layer) + " | " + " | ".join(["n^1.50 d^0.50"] * 4)
            assert f"| {row} |" in text
        png = (tmp_path / "new" / "table1.png").read_bytes()
        assert png.startswith(b"\x89PNG")

    def test_all_rows_of_a_table_have_as_many_columns_as_its_head(self):
        fits = dict.fromkeys(
            layer_table.LAYERS, dict.fromkeys(layer_report.FIGURES)
        )
        text = layer_report.as_markdown([*CELLS, MISSING], fits, {})
        tables = [part for part in text.split("\n\n") if part.startswith("|")]
        assert len(tables) == 5  # growth, comparison, and one for each width
        for table in tables:
            assert len({row.count("|") for row in table.splitlines()}) == 1

    def test_restricted_attention_is_compared_at_the_greatest_length(self):
        figures = dict.fromkeys(layer_report.FIGURES)
        full, restricted = (
            Cell(name, 4096, 128, dict.fromkeys(figures, value))
            for name, value in zip(layer_report.PAIRS[0], (8.0, 2.0))
        )
        fits = dict.fromkeys(layer_table.LAYERS, figures)
        text = layer_report.as_markdown([full, restricted], fits, {})
        assert "| 4,096 | 128 | 4.0 | 4.0 | 0.25 | 0.25 |" in text

    def test_attention_is_compared_at_the_greatest_length_of_both(self):
        pair = [
            made_up(length, 128, name)
            for length in (2048, 4096)
            for name in layer_report.PAIRS[0]
        ]
        pair[-1] = pair[-1]._replace(figures={}, note="no time left")
        fits = dict.fromkeys(
            layer_table.LAYERS, dict.fromkeys(layer_report.FIGURES)
        )
        text = layer_report.as_markdown(pair, fits, {})
        assert "| 2,048 | 128 | 1.0 | 1.0 | 1.00 | 1.00 |" in text


class TimeTest:
    def test_cells_without_time_are_left_out_with_the_reason(self):
        shown = []
        cells = layer_table.measure_layers(
            [32, 16], [128], 64, "jax", seconds=0, show=shown.append
        )
        assert cells == shown
        assert len(cells) == 2 * len(layer_table.LAYERS)
        count = len(layer_table.LAYERS)
        assert [cell.length for cell in cells] == [16] * count + [32] * count
        assert {cell.note for cell in cells} == {"no time left"}

    @pytest.fixture
    def measured(self, tmp_path, monkeypatch):
        """Function from the code of a cell's process to the cell."""

        def measure(code):
            script = tmp_path / "cell_of_test.py"
            script.write_text(f"import json, os\n{code}")
            monkeypatch.setattr(layer_table, "CELL_SCRIPT", script)
            return layer_table.measure_layers(
                [16], [128], 64, "jax", seconds=60
            )[0]

        return measure

    def test_a_process_that_fails_gives_its_last_line(self, measured):
        cell = measured("raise ValueError('no such layer')")
        assert cell.note == "ValueError: no such layer"

    def test_a_process_that_a_signal_ends_gives_the_signal(self, measured):
        code = "os.write(2, b'TensorFlow starts.\\n'); os.kill(os.getpid(), 9)"
        assert measured(code).note == "ended by signal 9"

    def test_a_process_has_the_backend_that_the_report_names(
        self, measured, monkeypatch
    ):
        monkeypatch.delenv("KERAS_BACKEND", raising=False)
        cell = measured("print(json.dumps(os.environ['KERAS_BACKEND']))")
        assert cell.figures == "jax"


class CommandTest:
    @pytest.mark.slow
    def test_every_layer_is_measured(self, tmp_path, capsys):
        flags = [f"--report_dir={tmp_path}", "--max_length=16"]
        flags += ["--max_width=128"]
        assert call(measure, "--mode=layers", *flags) == 0
        figures = json.loads(capsys.readouterr().out)
        assert figures["num_measured"] == len(layer_table.LAYERS)
        with open(tmp_path / "table1.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                assert 0 < float(row["forward_seconds"])
                assert 0 < float(row["training_seconds"])
                assert float(row["forward_bytes"]) <= float(
                    row["training_bytes"]
                )

    def test_too_little_time_for_any_layer_is_an_error(self, tmp_path, capsys):
        flags = [f"--report_dir={tmp_path}/new", "--max_length=16"]
        assert call(measure, "--mode=layers", "--seconds=1", *flags) == 2
        assert "Raise --seconds." in capsys.readouterr().err
        assert not (tmp_path / "new").exists()

    def test_another_failure_of_every_layer_is_named_alone(
        self, tmp_path, monkeypatch, capsys
    ):
        monkeypatch.setattr(layer_table, "CELL_SCRIPT", "no_such_script.py")
        monkeypatch.setattr(layer_table, "WIDTHS", (128,))
        flags = [f"--report_dir={tmp_path}/new", "--max_length=16"]
        assert call(measure, "--mode=layers", *flags) == 2
        error = capsys.readouterr().err
        assert "No layer could be measured: " in error
        assert "No such file or directory" in error

    def test_flags_of_other_modes_are_refused(self, capsys):
        flags = ["--mode=layers", "--report_dir=a", "--num_passes=3"]
        assert_fails(capsys, ["--num_passes=3"], measure, *flags)
