"""Lines on their way through kt-decoder, and those that are too long for it."""

import collections
import itertools
import sys

from keras_transformer.bin.kt_decoder.decoder_flags import FLAGS
from keras_transformer.bin.kt_decoder.decoder_model import check_translates


class LongLines:
    """Takes lines that are too long out of a translator's input.

    Their translations are empty, or those of their parts. The others come out
    as if the long ones were blank. `counter` is a `Translator` that counts
    tokens and needs no model, and `text_of` returns the text of a line and its
    number.
    """

    def __init__(self, counter, text_of):
        from keras_transformer.decoding.steps import long_texts

        self._counter = counter
        self._max_tokens = counter.max_tokens
        if FLAGS.split_long:
            check_translates(counter, "split_long")
            self._max_tokens = long_texts.limit_part_tokens(
                counter, FLAGS.max_sentence_tokens
            )
        self._text_of = text_of
        self._counts = {}  # by the number of the line, of those too long
        self._undecoded = collections.deque()

    @property
    def num_long(self):
        return len(self._counts)

    def watched(self, lines):
        """Yields all lines of the input, and notes which are too long."""
        from keras_transformer.decoding.texts import WINDOW

        numbered = enumerate(lines, 1)
        # A translator reads a window at once, too.
        while window := list(itertools.islice(numbered, WINDOW)):
            texts = [self._text_of(line, number) for number, line in window]
            counts = self._counter.count_tokens(texts)
            for (number, line), count in zip(window, counts):
                if count > self._max_tokens:
                    self._counts[number] = count
                yield line

    def texts(self, lines, start):
        """Yields the text of each line, which is blank for a long one.

        The lines are those from `watched` that are left after the first
        `start`.
        """
        for number, line in enumerate(lines, start + 1):
            self._undecoded.append((number, line))
            is_long = number in self._counts
            yield "" if is_long else self._text_of(line, number)

    def results(self, hypotheses_of_lines, translator, changes, glossary=None):
        """Yields each line, its number and its `Translation`.

        The hypotheses are those that the translator found for `texts`.
        """
        from keras_transformer.decoding.steps import long_texts

        for hypotheses in hypotheses_of_lines:
            number, line = self._undecoded.popleft()
            warnings = []
            if number in self._counts:
                warnings = [long_texts.TOO_LONG]
                count = self._counts[number]
                report_long(number, count, self._max_tokens, FLAGS.split_long)
            translation = long_texts.Translation(hypotheses, warnings)
            if warnings and FLAGS.split_long:
                text = self._text_of(line, number)
                parts = long_texts.split_texts(
                    translator, [text], self._max_tokens
                )
                (translation,) = long_texts.translate_in_parts(
                    translator,
                    parts,
                    seed=FLAGS.random_seed,
                    glossary=glossary,
                    **changes,
                )
            yield line, number, translation


def report_long(number, count, max_tokens, is_split=False):
    """Prints that a line is too long, and what became of it."""
    fate = (
        "It is translated in parts."
        if is_split
        else "Its translation is empty; --split_long translates it in parts."
    )
    print(
        f"kt-decoder: warning: line {number} has {count:,} tokens, more than "
        f"{max_tokens:,}. {fate}",
        file=sys.stderr,
    )
