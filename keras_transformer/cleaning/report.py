"""What each rule of a cleaning dropped, as numbers, samples and a table."""

import random

from keras_transformer.fields import shorten

NUM_SAMPLES = 5


class Report:
    """Counts pairs, and keeps some of those that each rule dropped.

    `dropped`, the number of pairs, and `samples`, at most five of them, are
    dictionaries by the name of a rule. The same text gives the same samples.
    """

    def __init__(self, names):
        self.num_read = 0
        self.dropped = dict.fromkeys(names, 0)
        self.samples = {name: [] for name in names}
        self._random = random.Random(0)

    @property
    def num_kept(self):
        return self.num_read - sum(self.dropped.values())

    def add(self, pair, name):
        """Counts a pair that a rule dropped."""
        self.dropped[name] += 1
        samples = self.samples[name]
        if len(samples) < NUM_SAMPLES:
            samples.append(pair)
            return
        # Reservoir sampling: every pair so far stays with equal probability.
        position = self._random.randrange(self.dropped[name])
        if position < NUM_SAMPLES:
            samples[position] = pair

    def lines(self):
        """Yields the lines of the table, with the samples of each rule.

        >>> report = Report(["empty", "duplicate"])
        >>> report.num_read = 4
        >>> report.add(("", "Ja."), "empty")
        >>> print("\\n".join(report.lines()))
        rule                  pairs     share
        empty                     1  25.000 %
            '' | 'Ja.'
        duplicate                 0   0.000 %
        kept                      3  75.000 %
        read                      4
        """
        yield f"{'rule':<14}{'pairs':>13}{'share':>10}"
        for name, number in self.dropped.items():
            yield self._line(name, number)
            for source, target in self.samples[name]:
                # The form of `repr` shows control characters without sending
                # them to the terminal.
                yield f"    {shorten(source)!r} | {shorten(target)!r}"
        yield self._line("kept", self.num_kept)
        yield f"{'read':<14}{self.num_read:>13,}"

    def _line(self, name, number):
        share = 100 * number / max(self.num_read, 1)
        return f"{name:<14}{number:>13,}{share:>8.3f} %"
