"""The lines that kt-decoder reads and writes: text, or JSON objects."""

import functools
import itertools

from keras_transformer.bin.kt_decoder import json_lines


class LineFormat:
    """Reads and writes lines as the flags of kt-decoder say.

    `changes` holds decoding options, and `prescribed` is what
    `constraints.read` returned.
    """

    def __init__(self, flags, changes, prescribed):
        self._is_json = flags.format == "jsonl"
        self._name = flags.decode_from_file or "standard input"
        self._write_scores = flags.write_scores
        self._write_alignments = flags.write_alignments
        self._write_word_scores = flags.write_word_scores
        self._num_hypotheses = changes.get("num_hypotheses") or 1
        self._changes = changes
        self._prescribed = prescribed

    def finder(self, translator):
        """Returns the translator's method that finds the hypotheses."""
        if self._is_json or self._write_scores:
            return translator.hypotheses
        return functools.partial(translator.hypotheses, scored=False)

    def text_of(self, line, number):
        """Returns the text of a line, which is perhaps a field of JSON."""
        if not self._is_json:
            return line
        return json_lines.text_of(line, f"{self._name}, line {number}")

    def count(self, text):
        """Returns the number of lines; None if they can be read only once."""
        if not text.is_file:
            return None
        number = 0
        for number, line in enumerate(text, 1):
            self.text_of(line, number)
        return number

    def rows(self, results, translator, prefixes=None):
        """Yields the line to write for each result of `LongLines.results`."""
        # Imported here because it needs NumPy, and bad input fails faster.
        from keras_transformer.decoding.texts import WINDOW

        results = iter(results)
        prefixes = prefixes or itertools.repeat("")
        while batch := list(itertools.islice(results, WINDOW)):
            texts = [self.text_of(line, number) for line, number, _ in batch]
            links = self._links(texts, batch, translator)
            for text, (line, _, translation), own, prefix in zip(
                texts, batch, links, prefixes
            ):
                of_words = self._of_words(own)
                if self._is_json:
                    noted = self._with_warnings(
                        text, translation, translator, prefix
                    )
                    yield json_lines.json_line(
                        line, noted, self._num_hypotheses, of_words
                    )
                else:
                    yield self.columns(translation.hypotheses, of_words)

    def columns(self, hypotheses, of_words=None):
        """Returns the translations of a line, separated by tabs.

        `of_words` holds the `alignments` and `word_scores` of the best
        hypothesis, as far as the flags ask for them.
        """
        columns = []
        for text, score, _ in hypotheses[: self._num_hypotheses]:
            columns.append(text)
            if self._write_scores:
                columns.append(f"{score:.6f}")
        of_words = of_words or {}
        if "alignments" in of_words:
            from keras_transformer.decoding.attention import format_pharaoh

            columns.append(format_pharaoh(of_words["alignments"]))
        if "word_scores" in of_words:
            scores = of_words["word_scores"]
            columns.append(" ".join(f"{score:.4f}" for score in scores))
        if len(columns) > 1:
            # A tab within a translation would look like another column.
            columns = [column.replace("\t", " ") for column in columns]
        return "\t".join(columns)

    def _links(self, texts, results, translator):
        """Returns the `WordLinks` of texts, or None for each."""
        if not (self._write_alignments or self._write_word_scores):
            return [None] * len(texts)
        translations = [translation for _, _, translation in results]
        # A line that is too long has no translation.
        texts = [
            "" if translation.warnings else text
            for text, translation in zip(texts, translations)
        ]
        hypotheses = [translation.hypotheses for translation in translations]
        return translator.word_links(texts, hypotheses)

    def _of_words(self, links):
        """Returns the fields about the words of a translation."""
        fields = {}
        if self._write_alignments:
            fields["alignments"] = links.find_pairs()
        if self._write_word_scores:
            fields["word_scores"] = [round(one, 4) for one in links.scores]
        return fields

    @functools.cached_property
    def _mask(self):
        if "protect" not in self._prescribed:
            return None
        # Imported here because it imports Keras.
        from keras_transformer.decoding.steps.placeholders import make_mask

        placeholders = self._prescribed["protect"]
        return make_mask(placeholders, self._prescribed.get("glossary"))

    def _with_warnings(self, text, translation, translator, prefix):
        from keras_transformer.decoding.steps.long_texts import find_warnings

        if translation.warnings:  # it is not the translation of a whole line
            return translation
        if self._mask:
            text = self._mask(text).text
        warnings = find_warnings(
            translator, text, translation.hypotheses, self._changes, prefix
        )
        return translation._replace(warnings=warnings)
