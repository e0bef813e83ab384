"""The lines that kt-decoder reads and writes: text, or JSON objects."""

from keras_transformer.bin import json_lines


class LineFormat:
    """Reads and writes lines as the flags of kt-decoder say.

    Args:
        flags: Flags of kt-decoder.
        changes: Dictionary of decoding options.
    """

    def __init__(self, flags, changes):
        self._is_json = flags.format == "jsonl"
        self._name = flags.decode_from_file or "standard input"
        self._write_scores = flags.write_scores
        self._num_hypotheses = changes.get("num_hypotheses") or 1
        self._changes = changes

    def text_of(self, line, number):
        """Returns the text of a line.

        Raises:
            ValueError: If it must be JSON and is something else.
        """
        if not self._is_json:
            return line
        return json_lines.text_of(line, f"{self._name}, line {number}")

    def count(self, text):
        """Returns the number of lines; None if they can be read only once.

        Args:
            text: A `TextInput`.

        Raises:
            ValueError: See `text_of`.
        """
        if not text.is_file:
            return None
        number = 0
        for number, line in enumerate(text, 1):
            self.text_of(line, number)
        return number

    def rows(self, results, translator):
        """Yields the line to write for each result of `LongLines`."""
        for line, number, translation in results:
            if self._is_json:
                text = self.text_of(line, number)
                noted = self._with_warnings(text, translation, translator)
                yield json_lines.json_line(line, noted, self._num_hypotheses)
            else:
                yield self.columns(translation.hypotheses)

    def columns(self, hypotheses):
        """Returns the translations of a line, separated by tabs."""
        columns = []
        for text, score, _ in hypotheses[: self._num_hypotheses]:
            columns.append(text)
            if self._write_scores:
                columns.append(f"{score:.6f}")
        if len(columns) > 1:
            # A tab within a translation would look like another column.
            columns = [column.replace("\t", " ") for column in columns]
        return "\t".join(columns)

    def _with_warnings(self, text, translation, translator):
        # Imported here because it needs NumPy, and bad input fails faster.
        from keras_transformer.decoding.long_texts import limit_warnings

        if translation.warnings:  # it is not the translation of a whole line
            return translation
        hypotheses = translation.hypotheses
        warnings = limit_warnings(translator, text, hypotheses, self._changes)
        return translation._replace(warnings=warnings)
