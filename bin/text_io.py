"""Standard input as lines, and progress on standard error."""

import sys
import time

_SECONDS_ON_TERMINAL = 0.2
_SECONDS_ELSEWHERE = 10


def standard_input():
    r"""Yield the lines of standard input; only `\n` ends a line.

    Raises:
        ValueError: at the first line that is not UTF-8.
    """
    for number, line in enumerate(sys.stdin.buffer, 1):
        try:
            yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                "Text must be UTF-8. Received: standard input, line "
                f"{number}, where byte {error.start + 1} is "
                f"0x{error.object[error.start]:02x}. Convert it, for example "
                "with iconv -t UTF-8."
            ) from error


class Progress:
    """Tell on standard error how many sentences are done, and how fast.

    One line that changes on a terminal, a line every ten seconds elsewhere,
    and one at the end.

    Args:
        total: number of sentences, for the time left. None if not known.
    """

    def __init__(self, total=None):
        self._total = total
        self._done = 0
        self._start = self._last = time.monotonic()
        # Passing lines would get in among results on the same terminal.
        self._passing = sys.stderr.isatty() and not sys.stdout.isatty()
        self._interval = (
            _SECONDS_ON_TERMINAL if self._passing else _SECONDS_ELSEWHERE
        )

    def add(self, count):
        """Count sentences as done."""
        self._done += count
        now = time.monotonic()
        if now - self._last >= self._interval:
            self._last = now
            self._say(
                self._line() + self._left(), "" if self._passing else "\n"
            )

    def finish(self):
        """Say the final figures."""
        self._say(self._line(), "\n")

    def _line(self):
        seconds = max(time.monotonic() - self._start, 1e-3)
        total = f" of {self._total:,}" if self._total else ""
        return (
            f"{self._done:,}{total} sentences in {seconds:.1f} s, "
            f"{self._done / seconds:,.1f} sentences/s"
        )

    def _left(self):
        if not self._total or not self._done:
            return ""
        seconds = time.monotonic() - self._start
        left = seconds * (self._total - self._done) / self._done
        minutes, seconds = divmod(round(left), 60)
        return f", {minutes}:{seconds:02} left"

    def _say(self, line, end):
        start = "\r\033[K" if self._passing else ""
        print(start + line, end=end, file=sys.stderr, flush=True)
