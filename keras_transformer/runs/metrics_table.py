"""The table of the metrics of a run, `metrics.csv`."""

import contextlib
import csv
import datetime
import io
import os

from keras_transformer import errors
from keras_transformer.files import reading
from keras_transformer.files import writing
from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import find_fault

METRICS_FILE = "metrics.csv"
# Scores such as dev_bleu depend on the problem; the rows add their columns.
COLUMNS = ["step", "epoch", "seconds", "learning_rate", "train_loss"]
COLUMNS += ["gradient_norm", "source_tokens", "target_tokens"]
COLUMNS += ["tokens_per_second", "padding_share", "input_wait_share"]
COLUMNS += ["memory_bytes"]
COSTS = ["device_flops", "token_flops", "position_flops"]  # since the start
COLUMNS += COSTS
COLUMNS += ["dev_loss", "dev_perplexity", "dev_accuracy"]

# A row without its empty values; see `read_record`.
_ROW = {"step": WHOLE, "epoch?": WHOLE, "seconds?": float, str: float}
_REMEDY = "Correct the line or restore the file from a copy."


class MetricsTable:
    """Writes rows of metrics to a CSV file, one at a time.

    The first row of a process rewrites the whole file, and so does a row with a
    new column. All other rows are appended. Earlier rows are kept, but not
    those after `last_step`, since their updates are repeated.

    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "metrics.csv")
    >>> MetricsTable(path, last_step=0).add({"step": 100, "train_loss": 4.5})
    >>> MetricsTable(path, last_step=100).rows[0]["train_loss"]
    '4.5'
    """

    def __init__(self, path, last_step):
        self.path = path
        rows = read_rows(path)
        self.rows = [row for row in rows if int(row["step"]) <= last_step]
        self._columns = _add_columns(COLUMNS, *rows[:1])
        self._is_written = False

    def add(self, row):
        """Writes a row, a dictionary of metrics by name, with `step`."""
        # As strings, which is how `read_rows` returns the earlier rows.
        self.rows.append({name: str(value) for name, value in row.items()})
        # The first row rewrites the file, because a resumed training drops rows
        # and a killed one can leave an incomplete line. Later rows are
        # appended, which costs the same however long the file is.
        columns = _add_columns(self._columns, row)
        # The user may have moved the file away, which needs its header again.
        is_written = self._is_written and os.path.exists(self.path)
        if is_written and columns == self._columns:
            with (
                writing.explain_disk_errors(self.path),
                open(self.path, "a", encoding="utf-8", newline="") as file,
            ):
                self._make_writer(file).writerow(self.rows[-1])
            return
        self._columns = columns
        with writing.atomic_write(self.path) as file:
            writer = self._make_writer(file)
            writer.writeheader()
            writer.writerows(self.rows)
        self._is_written = True

    def _make_writer(self, file):
        return csv.DictWriter(file, self._columns, lineterminator="\n")


def read_rows(path):
    """Reads the rows of `metrics.csv`, even while a trainer writes it.

    Each is a dictionary of name to string, "" for a metric that a row does not
    have. There are none without the file. A last line without a line end is
    ignored, because it is incomplete.
    """
    if not os.path.lexists(path):
        return []
    text = reading.read_text(path, remedy=_REMEDY)
    complete = text[: text.rfind("\n") + 1]
    reader = csv.DictReader(io.StringIO(complete, newline=""))
    try:
        rows = list(reader)
    except csv.Error as error:
        fault = f"where line {reader.line_num} is not CSV ({error})"
        raise reading.file_error(path, fault, remedy=_REMEDY) from error
    names = reader.fieldnames or ()
    if complete and ("step" not in names or len(set(names)) < len(names)):
        fault = "whose first line does not name each column once, with step"
        raise reading.file_error(path, fault, remedy=_REMEDY)
    for number, row in enumerate(rows, 1):
        fault = _find_fault(row, number)
        if fault:
            raise reading.file_error(path, fault, remedy=_REMEDY)
    return rows


def _find_fault(row, number):
    # `DictReader` gives superfluous values this name, and missing ones None.
    if None in row or None in row.values():
        return f"where row {number} does not have as many values as columns"
    metrics = {name: _parse(name, text) for name, text in row.items() if text}
    return find_fault(metrics, _ROW, f"row {number}")


def _parse(name, text):
    """Returns a value as a number, or as text if it is not a valid one."""
    if name in ("step", "epoch", "seconds"):
        if text.startswith("-"):
            return text
    elif text in ("nan", "inf", "-inf"):  # of a diverging run
        return 0
    for parse in (errors.parse_integer, errors.parse_number):
        with contextlib.suppress(ValueError):
            return parse(text)
    return text


def _add_columns(columns, *rows):
    return columns + [n for row in rows for n in row if n not in columns]


UNKNOWN_DEVICE = (
    "unknown by the paper's formula, because the device is not in its table; "
    "`--device` of kt-trainer names it"
)


def describe_cost(training):
    """Describes the cost of a run as a list of (title, text).

    It is empty for a run of an earlier version.

    >>> hours = 12 * 3600
    >>> costs = {"device_flops": hours * 7.6e13, "token_flops": 9.4e17}
    >>> for row in describe_cost({"seconds": hours, **costs}):
    ...     print(*row, sep=": ")
    Training cost: 3.3e18 FLOP, 12:00:00 at 76 TFLOP/s sustained by the devices
    Arithmetic: 9.4e17 FLOP for the tokens
    """
    arithmetic = [
        f"{_shorten(training[name])} FLOP {words}"
        for name, words in (
            ("token_flops", "for the tokens"),
            ("position_flops", "with the padding"),
        )
        if name in training
    ]
    if not arithmetic:
        return []
    cost = UNKNOWN_DEVICE
    if "device_flops" in training:
        rate = training["device_flops"] / training["seconds"] / 1e12
        time = datetime.timedelta(seconds=round(training["seconds"]))
        cost = (
            f"{_shorten(training['device_flops'])} FLOP, {time} at {rate:.3g} "
            "TFLOP/s sustained by the devices"
        )
    return [("Training cost", cost), ("Arithmetic", ", ".join(arithmetic))]


def _shorten(number):
    digits, exponent = f"{number:.1e}".split("e")
    return f"{digits}e{int(exponent)}"
