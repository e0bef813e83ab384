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
        self._write_alignments = flags.write_alignments
        self._write_word_scores = flags.write_word_scores
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
                of_words = self._of_words(line, translation, translator)
                yield self.columns(translation.hypotheses, of_words)

    def columns(self, hypotheses, of_words=()):
        """Returns the translations of a line, separated by tabs.

        Args:
            hypotheses: List of `Hypothesis`.
            of_words: Columns about the words of the best one. Defaults to
                none.
        """
        columns = []
        for text, score, _ in hypotheses[: self._num_hypotheses]:
            columns.append(text)
            if self._write_scores:
                columns.append(f"{score:.6f}")
        columns += of_words
        if len(columns) > 1:
            # A tab within a translation would look like another column.
            columns = [column.replace("\t", " ") for column in columns]
        return "\t".join(columns)

    def _of_words(self, text, translation, translator):
        """Returns the columns about the words of a translation."""
        if not (self._write_alignments or self._write_word_scores):
            return []
        from keras_transformer.decoding import alignment

        # A line that is too long has no translation.
        text = "" if translation.warnings else text
        (attention,) = translator.attention([text], [translation.hypotheses])
        columns = []
        if self._write_alignments:
            columns.append(alignment.pharaoh(alignment.word_links(attention)))
        if self._write_word_scores:
            scores = alignment.word_scores(attention)
            columns.append(" ".join(f"{score:.4f}" for score in scores))
        return columns

    def _with_warnings(self, text, translation, translator):
        # Imported here because it needs NumPy, and bad input fails faster.
        from keras_transformer.decoding.long_texts import limit_warnings

        if translation.warnings:  # it is not the translation of a whole line
            return translation
        hypotheses = translation.hypotheses
        warnings = limit_warnings(translator, text, hypotheses, self._changes)
        return translation._replace(warnings=warnings)
