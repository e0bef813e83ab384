"""Progress of long tasks on standard error."""

import sys
import time

SECONDS_BETWEEN_LINES = 10


class Progress:
    """Shows how many items are done, how fast, and how much time is left.

    On a terminal it is a `tqdm` bar. Elsewhere, such as in a log file, it is a
    line every ten seconds, and one at the end unless it would repeat the last.
    `unit` is a plural that ends with s. `total` may be unknown. If `results`,
    the open file that takes the results of the task, is a terminal, plain lines
    replace the bar, which would be drawn over the results.

    >>> with Progress("pairs", total=300) as progress:
    ...     for _ in range(3):
    ...         progress.add(100)
    """

    def __init__(self, unit, total=None, label="", results=None):
        self._unit = unit
        self._total = total
        self._label = f"{label}: " if label else ""
        self._done = 0
        self._shown = None  # how many items the last line has named
        self._start = self._last = time.monotonic()
        self._bar = None
        # Outside a terminal, tqdm would fill a log file with one endless line.
        if sys.stderr.isatty() and not (results and results.isatty()):
            # Imported here because many commands run without a terminal.
            import tqdm

            self._bar = tqdm.tqdm(total=total, unit=f" {unit}", desc=label)

    def __enter__(self):
        return self

    def __exit__(self, exception_type, *_):
        if self._bar is not None:
            self._bar.close()
        # After an error, the last line belongs to its message.
        elif exception_type is None and self._shown != self._done:
            self._print_line()

    def add(self, count):
        """Counts further items as done."""
        if self._bar is not None:
            self._bar.update(count)
            return
        self._done += count
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            self._print_line()

    def _print_line(self):
        self._shown = self._done
        # At least a millisecond, so that no rate is infinite.
        seconds = max(time.monotonic() - self._start, 1e-3)
        rate = self._done / seconds
        digits = 1 if rate < 100 else 0  # about three significant digits
        total = f" of {self._total:,}" if self._total else ""
        is_single = (self._total or self._done) == 1
        unit = self._unit.removesuffix("s") if is_single else self._unit
        left = ""
        if self._total and 0 < self._done < self._total:
            left = f", {duration((self._total - self._done) / rate)} left"
        print(
            f"{self._label}{self._done:,}{total} {unit} in "
            f"{seconds:.1f} s, {rate:,.{digits}f} {self._unit}/s{left}",
            file=sys.stderr,
        )


def duration(seconds):
    """Returns a time as hours, minutes and seconds, such as 1:05:09."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
