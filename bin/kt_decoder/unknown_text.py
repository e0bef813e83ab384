"""The warning about text that the vocabulary of the sources lacks."""

import sys

from keras_transformer.bin.kt_decoder.decoder_model import FLAGS


class UnknownText:
    """Counts the lines with text that the vocabulary of the sources lacks.

    A vocabulary of characters or words lacks letters that were not in its
    training text, or that are written in another way, such as a letter and its
    accent as two characters. The model translates such a line all the same.

    Args:
        checker: The `Preparation` of the model; None for a SavedModel, which
            has its vocabulary inside and is not checked.
    """

    def __init__(self, checker):
        self.num_lines = 0
        self._first = None  # the first unknown part and the number of its line
        # These flags say themselves what becomes of unknown text.
        if FLAGS.unknown or FLAGS.protect or FLAGS.protected_patterns:
            checker = None
        if checker:
            vocabulary = checker.codec.source_vocabulary
            if vocabulary.has_bytes or vocabulary.is_imported:
                checker = None
        self._checker = checker

    def read(self, window):
        """Looks for unknown text in a `Window`."""
        if not self._checker:
            return
        texts = self._checker.prepare(window.texts)
        find_unknown = self._checker.codec.find_unknown
        for number, text in enumerate(texts, window.start + 1):
            spans = find_unknown(text)
            parts = " ".join(text[start:end] for start, end in spans).split()
            if parts:
                self.num_lines += 1
                self._first = self._first or (parts[0], number)

    def report(self):
        """Prints how many lines have unknown text, if any has."""
        if not self.num_lines:
            return
        part, number = self._first
        codes = ", ".join(f"U+{ord(character):04X}" for character in part[:3])
        has = "line has" if self.num_lines == 1 else "lines have"
        # A tag leaves no room for --unknown.
        way_out = "" if FLAGS.target_language else ", or use --unknown"
        print(
            f"kt-decoder: warning: {self.num_lines:,} {has} text without an id "
            f"in the vocabulary, first {part[:20]!r} ({codes}) in line "
            f"{number:,}, which the model cannot read. Write it as the "
            f"training text does{way_out}.",
            file=sys.stderr,
        )
