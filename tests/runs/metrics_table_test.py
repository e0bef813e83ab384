import os

import pytest

from keras_transformer.runs.metrics_table import COLUMNS
from keras_transformer.runs.metrics_table import MetricsTable
from keras_transformer.runs.metrics_table import read_rows


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "metrics.csv")


def make(path, *rows, last_step=0):
    table = MetricsTable(path, last_step)
    for row in rows:
        table.add(row)
    return table


def losses(rows):
    return {row["step"]: row["train_loss"] for row in rows}


def row(step, **figures):
    return {"step": step, "train_loss": 1 / step, **figures}


class MetricsTableTest:
    def test_rows_read_back_with_all_digits(self, path):
        make(path, row(300), row(700))
        assert losses(read_rows(path)) == {
            "300": repr(1 / 300),
            "700": repr(1 / 700),
        }

    def test_usual_columns_come_first(self, path):
        make(path, row(1, dev_bleu=3.0))
        with open(path) as file:
            names = file.readline().rstrip("\n").split(",")
        assert names == [*COLUMNS, "dev_bleu"]

    def test_new_column_is_empty_in_earlier_rows(self, path):
        make(path, row(1), row(2, dev_bleu=3.0), row(3))
        scores = [row["dev_bleu"] for row in read_rows(path)]
        assert scores == ["", "3.0", ""]

    def test_file_is_replaced_only_if_necessary(self, path):
        table = MetricsTable(path, 0)
        files = []
        for step, figures in enumerate([{}, {}, {"dev_bleu": 3.0}, {}], 1):
            table.add(row(step, **figures))
            files.append(os.stat(path).st_ino)
        assert files[0] == files[1] != files[2] == files[3]

    def test_a_file_that_was_moved_away_is_written_again(self, path):
        table = make(path, row(1))
        os.rename(path, f"{path}.copy")
        table.add(row(2))
        assert losses(read_rows(path)) == {"1": "1.0", "2": "0.5"}

    def test_later_rows_are_dropped_at_a_resume(self, path):
        make(path, row(1), row(2), row(3))
        make(path, {"step": 3, "train_loss": 9.0}, last_step=2)
        assert losses(read_rows(path)) == {"1": "1.0", "2": "0.5", "3": "9.0"}

    def test_resuming_keeps_additional_columns(self, path):
        make(path, row(1, dev_bleu=3.0))
        make(path, row(2), last_step=1)
        assert [row["dev_bleu"] for row in read_rows(path)] == ["3.0", ""]

    def test_older_file_gets_the_new_columns(self, path):
        with open(path, "w") as file:
            file.write("step,train_loss\n1,1.0\n")
        make(path, row(2), last_step=1)
        assert losses(read_rows(path)) == {"1": "1.0", "2": "0.5"}
        assert read_rows(path)[0]["memory_bytes"] == ""

    def test_incomplete_last_row_is_ignored(self, path):
        make(path, row(1), row(2), row(300))
        with open(path, "rb") as file:
            content = file.read()
        for length in range(len(content)):
            with open(path, "wb") as file:
                file.write(content[:length])
            num_complete = max(0, content[:length].count(b"\n") - 1)
            make(path, row(400), last_step=300)
            assert list(losses(read_rows(path))) == [
                *["1", "2", "300"][:num_complete],
                "400",
            ]


class ReadRowsTest:
    def test_absent_file_has_no_rows(self, path):
        assert read_rows(path) == []

    @pytest.mark.parametrize(
        "content, words",
        [
            (b"\xff\xfe\n", "not UTF-8 text at byte 0"),
            (b"\n\n", "first line"),
            (b"epoch,seconds\n1,2\n", "first line"),
            (b"step,step\n1,2\n", "first line"),
            (b"step,a\n1,2,3\n", "row 1 does not have as many values"),
            (b"step,a\n1,2\n1\n", "row 2 does not have as many values"),
            (b"step\nx\n", "`row 1.step` must be an integer of at least 0 but"),
            (
                b"step\n1.5\n",
                "step` must be an integer of at least 0 but is 1.5",
            ),
            (b"step\n-1\n", 'least 0 but is "-1"'),
            ("step\n٣\n".encode(), "`row 1.step` must be an integer"),
            (
                b"step,dev_bleu\n1,1_0\n",
                "dev_bleu` must be a finite number but",
            ),
            (b"step,seconds\n1,inf\n", "`row 1.seconds` must be a finite n"),
            (b"step,seconds\n1,-3\n", "`row 1.seconds` must be a finite n"),
            (b"step\n" + b"9" * 5000 + b"\n", 'but is "9999'),
            (b"step\n" + b"9" * 200_000 + b"\n", "is not CSV"),
            (b"step\n\0\n", "step` must be an integer"),
        ],
    )
    def test_other_content_is_refused_with_its_place(
        self, path, content, words
    ):
        with open(path, "wb") as file:
            file.write(content)
        with pytest.raises(ValueError, match="metrics.csv") as caught:
            read_rows(path)
        assert words in str(caught.value)

    @pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e-05", ""])
    def test_figures_need_not_be_finite(self, path, value):
        with open(path, "w") as file:
            file.write(f"step,epoch,seconds,loss\n7,,,{value}\n")
        assert read_rows(path)[0]["loss"] == value

    def test_what_is_no_file_is_refused(self, tmp_path):
        os.mkfifo(tmp_path / "metrics.csv")
        with pytest.raises(ValueError, match="which is not a file"):
            read_rows(str(tmp_path / "metrics.csv"))
